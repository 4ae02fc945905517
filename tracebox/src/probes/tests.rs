use std::sync::mpsc;

use tracing_core::abi::error::OsError;
use tracing_core::client::producer::{ConnectionEvent, ProducerError};

use super::connection_log::{ConnectionLog, connection_line};

/// Whatever keeps the data sources from the service is in the log, with what to do.
#[test]
fn lines_about_the_connection() {
    let failed = |error: OsError| {
        let error = ProducerError::Connect { address: "/s".to_owned(), error };
        connection_line(&ConnectionEvent::Failed(error)).unwrap()
    };
    for errno in [2, 111] {
        let line = failed(OsError::new("connect", errno));
        assert_eq!(line, "No tracing service at /s yet: waiting for one");
    }
    let line = failed(OsError::new("connect", 11));
    assert_eq!(line, "The tracing service at /s takes no connection: trying again");
    let line = failed(OsError::new("connect", 13));
    assert!(line.contains("/s: Permission denied") && line.ends_with(": trying again"), "{line}");
    let line =
        failed(OsError::new("connect", 13).on("/s of user 7 (to trust that user, set N=/s)"));
    assert!(line.contains("set N=/s"), "{line}");
    for event in [ConnectionEvent::Accepted, ConnectionEvent::Refused, ConnectionEvent::Closed] {
        assert!(connection_line(&event).is_some(), "{event:?}");
    }
}

/// A reader of stderr that does not read holds up the log, and nobody else.
#[test]
fn the_connection_does_not_wait_for_the_reader_of_the_log() {
    let (reads, reader) = mpsc::sync_channel::<()>(0);
    let (written, lines) = mpsc::channel();
    let log = ConnectionLog::start(move |line| {
        let _ = reader.recv();
        let _ = written.send(line.to_owned());
    })
    .unwrap();
    let hook = log.hook();
    for _ in 0..100 {
        hook(&ConnectionEvent::Accepted);
        hook(&ConnectionEvent::Closed);
    }
    drop((reads, hook));
    log.finish();
    let lines: Vec<String> = lines.iter().collect();
    assert!((2..=20).contains(&lines.len()), "{lines:?}");
    assert!(lines[0].contains("Connected"), "{lines:?}");
}
