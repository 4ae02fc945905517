//! Miri: the unsafe code of the writer and of shared memory, interpreted. It sees pointers that outlive what they
//! were derived from, bytes that were never written and data races of the interleaving that runs.
//!
//! It needs a nightly compiler, which this repository does not need otherwise. `ci` installs one where it can, and
//! says in its summary where it cannot.
//!
//! A test that would take an interpreter minutes has a smaller size under `cfg(miri)`. The few that cannot have one are
//! in [`Suite::skip`], with the reason.

use crate::asan::TARGET;
use crate::ctx::{Ctx, Outcome};
use crate::{pool, toolchain};

/// Tests of one package.
struct Suite {
    package: &'static str,
    /// `--lib`, or a test of its own.
    tests: &'static [&'static str],
    /// Parts of test names.
    only: &'static [&'static str],
    skip: &'static [&'static str],
}

/// Random messages and histories: to draw one takes an interpreter many times longer than to write it.
const RANDOM: &str = "props::";

/// What uses unsafe code; and what hands out text unchecked.
const WRITER: Suite = Suite {
    package: "pbzero",
    tests: &["--lib"],
    only: &["encode::", "owned::", "sink::", "rewrite::", "splice::", "utf8::one_bad_byte"],
    skip: &[
        RANDOM,
        // Writes 256 MiB: less cannot exceed a length.
        "a_length_that_no_slot",
        // Counts bytes over thousands of messages: fewer show no average.
        "memory_is_zeroed_once",
        // Needs as many levels as there may be, and moves their bytes at the end of each.
        "rewrite::tests::depth_is_bounded",
    ],
};

/// The pages and their states.
const PAGES: Suite =
    Suite { package: "tracebox-abi", tests: &["--lib"], only: &["shm::"], skip: &[RANDOM] };

/// Arbiter and trace writer, over pages; and the queue between the threads of a producer.
const PRODUCER: Suite = Suite {
    package: "tracebox-client",
    tests: &["--lib"],
    only: &["write::", "queue::"],
    skip: &[
        RANDOM,
        // Fills frames of 128 KiB.
        "commit_data_splitting",
        // Passes 3,000 chunks through 1 MiB: less shows no pattern of use.
        "memory_that_is_not_needed",
        // Make at least as many writers as there are ids.
        "writer_ids_allocation",
        "ids_of_writers_with_held_chunks",
    ],
};

/// A service, a producer with a thread that writes, and a consumer, all in one process.
const IN_PROCESS: Suite = Suite {
    package: "tracing-core-testing",
    tests: &["--test", "in_process"],
    only: &[],
    skip: &[],
};

/// The data source of the SDK in such a service: two threads that record events of each kind.
const SDK: Suite = Suite {
    package: "tracebox-sdk",
    tests: &["--lib"],
    only: &["tests::threads_record_while_sessions_come_and_go"],
    skip: &[],
};

const TREE_BORROWS: &str = "-Zmiri-tree-borrows";
const SMALL: &str = "i686-unknown-linux-gnu";
/// A machine with the other order of bytes.
const BIG_ENDIAN: &str = "s390x-unknown-linux-gnu";

/// A suite, its target, features besides the default ones, and flags of Miri. `--short`, which `ci` uses, runs the
/// first [`SHORT`]: every suite but that of the SDK, and the writer on both orders of bytes.
const RUNS: [(&Suite, &str, &str, &str); 12] = [
    (&IN_PROCESS, TARGET, "", TREE_BORROWS),
    // The stricter rules only, as the same code runs in one process above. Some of these tests forget values.
    (&PRODUCER, TARGET, "", "-Zmiri-ignore-leaks"),
    (&PAGES, TARGET, "", ""),
    (&WRITER, TARGET, "bytes", ""),
    (&WRITER, BIG_ENDIAN, "bytes", ""),
    (&IN_PROCESS, TARGET, "", ""),
    (&SDK, TARGET, "in-process", TREE_BORROWS),
    (&SDK, TARGET, "in-process", ""),
    (&PAGES, TARGET, "", TREE_BORROWS),
    (&WRITER, TARGET, "bytes", TREE_BORROWS),
    (&WRITER, TARGET, "bytes,small", ""),
    (&WRITER, SMALL, "bytes", ""),
];
const SHORT: usize = 5;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    toolchain::nightly(ctx)?;
    let (runs, arguments) = match arguments {
        [flag, names @ ..] if flag == "--short" => (&RUNS[..SHORT], names),
        names => (&RUNS[..], names),
    };
    // Miri interprets on one processor, and the folder is locked only while something is compiled.
    pool::all(runs.iter(), |_, (suite, target, features, flags)| {
        let mut command = toolchain::cargo(ctx, toolchain::NIGHTLY);
        command.args(["miri", "test", "--package", suite.package]).args(suite.tests);
        command.args(["--target", target, "--features", features, "--"]);
        match arguments {
            [] => command.args(suite.only),
            names => command.args(names),
        };
        for name in suite.skip {
            command.args(["--skip", name]);
        }
        // So that a test that has become slow is found in the log.
        command.args(["-Zunstable-options", "--report-time"]);
        command
            .env("CARGO_TARGET_DIR", ctx.target("miri")?)
            // The service reads the machine's clock, and wakes through an eventfd.
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation {flags}"));
        ctx.run(&mut command)
    })
}
