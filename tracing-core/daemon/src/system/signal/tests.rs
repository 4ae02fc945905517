use super::*;

#[test]
fn ignored_signals() {
    let status = "SigQ:\t0/7\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000001\n";
    assert!(ignores(status, SIGHUP));
    assert!(!ignores(status, SIGINT));
    assert!(!ignores("", SIGHUP));
}

/// This test again, in a process that ignores SIGHUP, as below `nohup`, and in one that does not.
#[test]
fn a_signal_that_is_ignored_is_not_caught() {
    const AGAIN: &str = "SIGNAL_TEST_AGAIN";
    if let Some(expected) = std::env::var_os(AGAIN) {
        let mut signals = StopSignals::catch().unwrap();
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::HUP).unwrap();
        let mut count = signals.take();
        while expected == "1" && count == 0 {
            std::thread::yield_now();
            count = signals.take();
        }
        assert_eq!(count.to_string().as_str(), expected);
        return;
    }
    let name = "system::signal::tests::a_signal_that_is_ignored_is_not_caught";
    for (script, expected) in
        [("trap '' HUP; exec \"$0\" \"$@\"", "0"), ("exec \"$0\" \"$@\"", "1")]
    {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).arg(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name]).env(AGAIN, expected).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
