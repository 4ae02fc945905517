use super::*;

#[test]
fn ignored_signals() {
    let status = "SigQ:\t0/7\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000001\n";
    assert!(ignores(status, SIGHUP));
    assert!(!ignores(status, SIGINT));
    assert!(!ignores("", SIGHUP));
}

/// This test again, in a process that ignores SIGHUP, as below `nohup`, and in one that does not, unless this one does.
#[test]
fn a_signal_that_is_ignored_is_not_caught() {
    const AGAIN: &str = "SIGNAL_TEST_AGAIN";
    if let Some(expected) = std::env::var_os(AGAIN) {
        let _signals = StopSignals::catch().unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        let is_caught = |number: i32| caught >> (number - 1) & 1 == 1;
        assert!(is_caught(SIGINT) && is_caught(SIGTERM));
        assert_eq!(is_caught(SIGHUP), expected == "caught");
        return;
    }
    let name = "system::signal::tests::a_signal_that_is_ignored_is_not_caught";
    let again = |script: &str, expected: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).arg(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name]).env(AGAIN, expected).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    };
    again("trap '' HUP; exec \"$0\" \"$@\"", "ignored");
    if !is_ignored(SIGHUP) {
        again("exec \"$0\" \"$@\"", "caught");
    }
}
