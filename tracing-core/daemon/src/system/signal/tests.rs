use super::*;

#[test]
fn ignored_signals() {
    let status = "SigQ:\t0/7\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000001\n";
    assert!(ignores(status, SIGHUP));
    assert!(!ignores(status, SIGINT));
    assert!(!ignores("", SIGHUP));
}
