use super::*;

/// `SAFETY.md` says in which form of `ci` a tool runs.
#[test]
fn the_table_of_proofs_says_when_a_tool_runs() {
    let ctx = Ctx::new().unwrap();
    let text = read(&ctx.root().join("SAFETY.md")).unwrap();
    let table = text.split("| tool | over what | when |").nth(1).unwrap();
    let mut rows = 0;
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let when = row.rsplit('|').nth(1).unwrap().trim();
        let (command, when) = when.split_once(", ").unwrap();
        let command = command.trim_matches('`').trim_start_matches("cargo xtask ");
        let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
        assert!(STEPS.iter().any(|step| step.0 == name), "{row}");
        // What a step leaves out is run by hand.
        let expected = match name {
            "miri" if arguments.is_empty() => "by hand, before a change of unsafe code",
            "no-panic" if arguments.is_empty() => "in `ci --all`",
            _ if LONG.contains(&name) => "in `ci --all`",
            _ => "in ci",
        };
        assert_eq!(when, expected, "{row}");
        rows += 1;
    }
    assert!(rows >= 8, "{rows}");
}

#[test]
fn long_steps_are_steps() {
    assert!(LONG.iter().all(|name| STEPS.iter().any(|step| step.0 == *name)));
}

/// The log of a run with `--no-fail-fast`: reports of two tests, and tests that passed behind them.
#[test]
fn failed_tests_are_found_in_a_log() {
    let log = "running 3 tests\ntest a::b ... FAILED\ntest c ... ok\ntest d ... FAILED\n\nfailures:\n\n\
               ---- a::b stdout ----\n\nthread 'a::b' panicked at src/a.rs:1:1:\nleft: 1\n\n\
               ---- d stdout ----\nError: \"gone\"\n\n\nfailures:\n    a::b\n    d\n\n\
               test result: FAILED. 1 passed; 2 failed\n\nrunning 1 test\ntest e ... ok\n";
    let first = "test a::b:\n    thread 'a::b' panicked at src/a.rs:1:1:\n    left: 1";
    assert_eq!(log::failed(log), [first, "test d:\n    Error: \"gone\""]);
    assert!(log::failed("running 1 test\ntest e ... ok\n").is_empty());
    let ended =
        "process didn't exit successfully: `target/debug/deps/it` (signal: 1, SIGHUP: hangup)";
    let log =
        format!("error: test failed\n\nCaused by:\n  {ended}\n     Running tests/it/main.rs\n");
    assert_eq!(log::failed(&log), [ended]);
}

#[test]
fn of_many_failed_tests_and_long_reports_the_beginning_is_told() {
    let report = |at: usize| format!("---- t{at} stdout ----\n{}", "line\n".repeat(100));
    let failed = log::failed(&(0..30).map(report).collect::<String>());
    assert_eq!(failed.len(), 9);
    assert_eq!(failed[0].lines().count(), 13);
    assert_eq!(failed[8], "and 22 more tests");
}
