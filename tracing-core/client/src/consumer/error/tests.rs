use std::error::Error;
use std::io;

use abi::error::OsError;
use os::shm::MapError;
use os::socket::Address;

use super::ConsumerError;
use crate::connection::ConnectionError;
use crate::consumer::read::ReadError;
use crate::producer::ProducerError;

/// A program whose `main` returns an error prints its `Debug` text, which must be the one for people.
#[test]
fn errors_print_their_text_for_people() {
    let os = || OsError::new("connect", 2);
    let address = Address::parse("/tmp/x").unwrap();
    let bad_address = || Address::parse("").unwrap_err();
    let full = || OsError::new("connect", 11);
    const FULL: &str = "cannot connect to /tmp/x: the service takes no connection, and others wait for it, too: \
                        see whether it is stopped, or start it again";
    let errors: [(Box<dyn Error>, &str); 11] = [
        (Box::new(ProducerError::Connect { address: "/tmp/x".into(), error: full() }), FULL),
        (Box::new(ConsumerError::Connect { address: address.clone(), error: full() }), FULL),
        (Box::new(os()), "connect: No such file or directory (os error 2)"),
        (Box::new(bad_address()), "bad socket address \"\": it is empty"),
        (Box::new(MapError::NotMemory), "the descriptor is not shared memory"),
        (Box::new(ConnectionError::Disconnected), "the connection to the service is closed"),
        (Box::new(ReadError::Taking(io::Error::other("full"))), "full"),
        (
            Box::new(ProducerError::Connect { address: "/tmp/x".into(), error: os() }),
            "cannot connect to /tmp/x: No such file or directory (os error 2) (is traced running?)",
        ),
        (Box::new(ProducerError::Address(bad_address())), "bad socket address \"\": it is empty"),
        (
            Box::new(ConsumerError::Connect { address, error: os() }),
            "cannot connect to /tmp/x: No such file or directory (os error 2) (is traced running?)",
        ),
        (Box::new(ConsumerError::Os(os())), "connect: No such file or directory (os error 2)"),
    ];
    for (error, text) in errors {
        assert_eq!(error.to_string(), text);
        assert_eq!(format!("{error:?}"), text);
    }
}

/// Who is refused learns whose service it is, and how to trust it; who may not write to a socket learns that.
#[test]
fn refused_connections_say_what_to_look_at() {
    let errors = |error: OsError| {
        let address = Address::parse("/tmp/x").unwrap();
        let producer = ProducerError::Connect { address: "/tmp/x".into(), error: error.clone() };
        [producer.to_string(), ConsumerError::Connect { address, error }.to_string()]
    };
    let denied = || OsError::new("connect", 13);
    for text in errors(denied().on("/tmp/x of user 7 (to trust that user, set NAME=/tmp/x)")) {
        let expected = "cannot connect to /tmp/x of user 7 (to trust that user, set NAME=/tmp/x): Permission denied \
                        (os error 13)";
        assert_eq!(text, expected);
    }
    for error in [denied(), denied().on("/tmp/x")] {
        for text in errors(error) {
            assert!(text.ends_with("(os error 13) (may this user write to the socket?)"), "{text}");
        }
    }
}
