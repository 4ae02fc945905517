use std::io::{self, Write};

use super::*;
use crate::tests::{A, alone};

/// A pipe that nobody reads for a while. Meanwhile somebody wants the session to end.
struct Slow<'s> {
    session: &'s Session,
    bytes: Vec<u8>,
}

impl Write for Slow<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Another thread would wait in `stop`, as this one would.
        assert!(self.session.shared.is_free(), "nobody can stop the session while this waits");
        self.session.stop().expect("an end");
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_session_can_be_stopped_while_its_trace_is_written() {
    let _alone = alone();
    let config = Config::new().track_events(&["source.a"]);
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    // More than one reply of the service has.
    let text = "x".repeat(1 << 18);
    (0..4).for_each(|number| crate::instant!(A, "large", number = number, text = text));
    session.flush().expect("a flush");
    let mut slow = Slow { session: &session, bytes: Vec::new() };
    session.read_into(&mut slow).expect("a trace");
    let mut trace = slow.bytes;
    session.read_into(&mut trace).expect("the rest");
    assert_eq!(crate::tests::trace::events(&trace).len(), 4);
}

/// Another copy of the SDK in this process counts, too, and has the same uuid of the process.
#[test]
fn names_are_those_of_this_copy_alone() {
    let of_process = format!("{:016x}", crate::track::process::uuid());
    for name in [new_name(), file::partial_name(Path::new("a")).display().to_string()] {
        assert!(!name.contains(&of_process), "{name}");
    }
}
