//! What a program prints whose `main` returns an error of the library: its `Debug` text.

use std::io::{Error, ErrorKind};

use tracing_sdk::session::{Config, Session, SessionError};
use tracing_sdk::{Address, InitError};

use crate::alone::alone;
use crate::session::TempPath;

/// The text for people, which `main` prints, too.
#[track_caller]
fn text(error: impl std::error::Error) -> String {
    let text = error.to_string();
    assert_eq!(format!("{error:?}"), text);
    assert_eq!(format!("{error:#?}"), text);
    text
}

#[test]
fn a_service_that_does_not_run() {
    let path = TempPath::new("no-service");
    let address = path.0.to_str().expect("a path");
    let at = Address::parse(address).expect("an address");
    let error = Session::system_at(at, &Config::new()).expect_err("no service");
    let expected = format!(
        "cannot connect to {address}: No such file or directory (os error 2); start the service with `tracebox \
         traced`, or record inside the program with `Session::in_process` (feature `in-process`)"
    );
    assert_eq!(text(error), expected);
}

#[test]
fn every_error_is_a_text_for_people() {
    let io = || Error::from(ErrorKind::NotFound);
    for (error, expected) in [
        (SessionError::TimedOut("stop"), "the service did not stop within 10 s"),
        (SessionError::Order("too early"), "too early"),
        (SessionError::Config("no field `x`".into()), "no field `x`"),
        (SessionError::File("a/b".into(), io()), "cannot write the trace to a/b: entity not found"),
        (SessionError::Thread(io()), "cannot start a thread: entity not found"),
        (
            SessionError::Init(InitError::OtherOptions),
            "tracing was set up before with other options: choose them there, or call `shutdown` first",
        ),
        (
            SessionError::Init(InitError::Service("why".into())),
            "the service inside the program cannot start: why",
        ),
    ] {
        assert_eq!(text(error), expected);
    }
    let error = Address::parse("").expect_err("no address");
    assert_eq!(text(error), "bad socket address \"\": it is empty");
    let _alone = alone();
    let session = Session::in_process(&Config::new()).expect("a session");
    let error = session.stop().expect_err("out of order");
    assert_eq!(text(error), "the session was not started: call `start` first");
}
