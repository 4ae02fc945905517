use std::os::unix::process::ExitStatusExt;

use super::*;

fn child() -> Child {
    let launcher = Launcher::start(InterruptQueue::without_signals().sender()).unwrap();
    Child::new(vec!["command".into()], launcher, false)
}

#[test]
fn a_signal_before_the_command_ends_the_recording() {
    let action = child().handle_signal(Signal::INT, Instant::now());
    assert!(matches!(action, Action::Abort(failure) if failure.code == EXIT_INTERRUPTED));
}

#[test]
fn a_second_signal_after_the_command_ends_the_writing_of_the_trace() {
    let mut child = child();
    let start = Instant::now();
    let at = |second| start + Duration::from_secs(second);
    // The command got this one.
    child.signals.count_each(Signal::INT, at(0));
    let exit = Interrupt::CommandExited(ExitStatus::from_raw(0));
    assert!(matches!(child.handle_interrupt(exit), Action::Stop));
    // They count from when they came, however late they are handled.
    let mut interrupt = |at| child.handle_interrupt(Interrupt::Signal(Signal::INT, at));
    assert!(matches!(interrupt(at(2)), Action::Continue));
    let again = interrupt(at(4));
    assert!(matches!(again, Action::Abort(failure) if failure.text == INTERRUPTED_AGAIN));
}

#[test]
fn the_kernel_keeps_fifteen_bytes_of_a_name() {
    assert_eq!(comm_of("/usr/bin/ls"), "ls");
    assert_eq!(comm_of("sixteen-letters-"), "sixteen-letters");
    // The kernel cuts within a letter. A text cannot.
    assert_eq!(comm_of("fourteen-bytes\u{e4}\u{e4}"), "fourteen-bytes");
}
