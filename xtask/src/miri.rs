//! Miri over the writer: every sink, the slots, the rewriter, on 64 bits and on 32, and on a machine
//! with the other order of bytes; with the rules of stacked borrows and with those of tree borrows.
//! Unit tests, that is, and not the random ones: making up a message takes Miri longer than writing it.
//!
//! It needs a nightly compiler, which this repository does not ask for otherwise. Hence it is no step
//! of `ci`, and no proof rests on it: it is run by hand, and fails where there is none.

use crate::Outcome;
use crate::ctx::Ctx;

/// What uses unsafe code; and what hands out text unchecked.
const TESTS: [&str; 5] = ["encode::", "sink::", "rewrite::", "splice::", "utf8::one_bad_byte"];

/// A target, what of protozero is on besides the default, and flags of Miri.
const RUNS: [(&str, &str, &str); 5] = [
    ("x86_64-unknown-linux-gnu", "bytes", ""),
    ("x86_64-unknown-linux-gnu", "bytes", "-Zmiri-tree-borrows"),
    ("x86_64-unknown-linux-gnu", "bytes,small", ""),
    ("i686-unknown-linux-gnu", "bytes", ""),
    ("s390x-unknown-linux-gnu", "bytes", ""),
];

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    if ctx.output(nightly(ctx).arg("--version")).is_err() {
        return Err(
            "no Miri here: `rustup toolchain install nightly --component miri,rust-src`".to_owned()
        );
    }
    let tests: Vec<&str> = match arguments {
        [] => TESTS.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    for (target, features, flags) in RUNS {
        let mut command = nightly(ctx);
        command
            .args(["test", "--package", "protozero", "--lib", "--target", target])
            .args(["--features", features, "--"])
            .args(&tests)
            .args(["--skip", "props::"])
            .env("CARGO_TARGET_DIR", ctx.target("miri")?)
            .env("MIRIFLAGS", flags);
        ctx.run(&mut command)?;
    }
    Ok(())
}

/// `cargo miri` of another compiler than the one that runs us.
fn nightly(ctx: &Ctx) -> std::process::Command {
    let mut command = ctx.command("cargo");
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(name);
    }
    command.args(["+nightly", "miri"]);
    command
}
