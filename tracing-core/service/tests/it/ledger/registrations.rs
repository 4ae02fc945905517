//! Data sources that producers could not register, and what sessions that want them are told.

use super::*;
use crate::events::unregister;
use crate::producer;

/// A data source for which there is no room is told to the sessions that want it, and to no other.
#[test]
fn a_data_source_that_is_not_registered() {
    let mut shell = Shell::with(|config| config.limits.data_sources_per_producer_max = 1);
    let producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "first");
    let consumers = [&["other", "ds", "ds"][..], &["other"]].map(|names| {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(names), None);
        consumer
    });
    let mut stopped = MockConsumer::connect(&mut shell, 0);
    stopped.enable(&mut shell, config(&["ds"]), None);
    stopped.disable(&mut shell);
    producer.register_name(&mut shell, "ds");
    assert_eq!(ledger(&mut shell, &stopped), [], "it was over before");
    let [wants, wants_not] = consumers.map(|consumer| ledger(&mut shell, &consumer));
    assert_eq!(wants_not, []);
    let [entry] = &wants[..] else { panic!("{wants:?}") };
    assert_eq!((entry.reason, entry.count), (Some(Reason::REASON_USER_FULL), Some(1)));
    assert_eq!(entry.data_source_name.as_deref(), Some("ds"));
    // Sessions that come later are told, too, of a few of them.
    for name in ["a", "b", "c", "d", "e"] {
        producer.register_name(&mut shell, name);
    }
    let mut later = MockConsumer::connect(&mut shell, 0);
    later.enable(&mut shell, config(&["a", "b", "c", "d", "e", "ds"]), None);
    let told = ledger(&mut shell, &later);
    let [entry] = &told[..] else { panic!("{told:?}") };
    assert_eq!((entry.reason, entry.count), (Some(Reason::REASON_USER_FULL), Some(4)));
    assert_eq!(entry.at_least, Some(true));
    // Of the others, and of long ones, they are told that something is missing.
    producer.register_name(&mut shell, &"long".repeat(50));
    for name in ["e", &"long".repeat(50)] {
        let mut later = MockConsumer::connect(&mut shell, 0);
        later.enable(&mut shell, config(&[name]), None);
        let told = ledger(&mut shell, &later);
        later.disconnect(&mut shell);
        let [entry] = &told[..] else { panic!("{name}: {told:?}") };
        assert_eq!((entry.reason, entry.count), (Some(Reason::REASON_USER_FULL), Some(0)));
        assert_eq!(entry.at_least, Some(true));
    }
    let mut other = MockConsumer::connect(&mut shell, 0);
    other.enable(&mut shell, config(&["other"]), None);
    assert_eq!(ledger(&mut shell, &other), []);
}

/// What its producer could register in the end is missing in no later session.
#[test]
fn a_data_source_that_is_registered_later() {
    let mut shell = Shell::with(|config| config.limits.data_sources_per_producer_max = 1);
    let producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "first");
    let names = ["a", "b", "c", "d", "e", "f"];
    names.iter().for_each(|name| producer.register_name(&mut shell, name));
    let mut taken = "first";
    for name in ["a", "e"] {
        unregister(&mut shell, &producer, taken);
        producer.register_name(&mut shell, name);
        taken = name;
        let mut later = MockConsumer::connect(&mut shell, 0);
        later.enable(&mut shell, config(&[name]), None);
        assert_eq!(ledger(&mut shell, &later), [], "{name}");
        later.disconnect(&mut shell);
    }
    for name in ["b", "f"] {
        let mut later = MockConsumer::connect(&mut shell, 0);
        later.enable(&mut shell, config(&[name]), None);
        assert_eq!(ledger(&mut shell, &later).len(), 1, "{name}");
    }
}

/// The names that are compared for one session are bounded. Beyond it the ledger says that perhaps something is missing.
#[test]
fn data_sources_that_many_producers_could_not_register() {
    const NAMES: usize = 512;
    let names: Vec<String> = (0..NAMES).map(|number| format!("wanted {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let compared = service::limits::UNREGISTERED_LOOKS_MAX;
    let mut shell = Shell::with(|config| config.limits.data_sources_per_producer_max = 0);
    for (producers, is_told) in [(compared / NAMES - 1, false), (2, true)] {
        for _ in 0..producers {
            let producer = producer(&mut shell, "p");
            for name in ["a", "b", "c", "d", "e"] {
                producer.register_name(&mut shell, name);
            }
        }
        let mut later = MockConsumer::connect(&mut shell, 0);
        later.enable(&mut shell, config(&names), None);
        let told = ledger(&mut shell, &later);
        assert_eq!(!told.is_empty(), is_told, "{told:?}");
        assert!(told.iter().all(|entry| entry.count == Some(0)), "{told:?}");
        later.disconnect(&mut shell);
    }
}
