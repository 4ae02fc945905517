use tracing_core::os::socket::Address;

use super::*;

/// Both kinds of clients say what to do.
#[test]
fn failures_to_connect_say_what_to_do() {
    let failures = |error: OsError| {
        let address = Address::parse("/s").unwrap();
        let producer = ProducerError::Connect { address: "/s".into(), error: error.clone() };
        let consumer = ConsumerError::Connect { address, error };
        [connect_failure(consumer).text, trigger_failure(producer).text]
    };
    let not_found = OsError::new("connect", 2);
    let denied = || OsError::new("connect", 13);
    for text in failures(not_found) {
        assert!(text.contains("; start it with `tracebox traced --background"), "{text}");
    }
    for error in [denied(), denied().on("/s")] {
        for text in failures(error) {
            assert!(text.contains("; `tracebox doctor` says who may connect"), "{text}");
        }
    }
    // It is this program that refuses, and rights would not help.
    for text in failures(denied().on("/s of user 7 (to trust that user, set NAME=/s)")) {
        assert!(text.contains("set NAME=/s") && !text.contains("doctor"), "{text}");
    }
}
