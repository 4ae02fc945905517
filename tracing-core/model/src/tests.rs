use stateright::{Checker as _, Expectation, Model};
use std::hash::Hash;

use crate::{loss, session, snapshot};

/// Names of the properties that fail, each printed with a way there; and how many states there are.
fn explore<M>(model: M, without: &str) -> (Vec<&'static str>, usize)
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + std::fmt::Debug + Clone + PartialEq + Send + Sync + 'static,
    M::Action: std::fmt::Debug + Clone + PartialEq,
{
    let properties = model.properties();
    let checker = model.checker().spawn_bfs().join();
    let mut found = checker.discoveries();
    let failed = properties.into_iter().filter_map(|property| {
        let path = found.remove(property.name);
        let is_example = matches!(property.expectation, Expectation::Sometimes);
        if let (Some(path), false) = (&path, is_example) {
            let actions = path.clone().into_actions();
            println!("without {without}, {:?} fails: {actions:?}", property.name);
        }
        (path.is_some() != is_example).then_some(property.name)
    });
    (failed.collect(), checker.unique_state_count())
}

#[test]
fn sessions_keep_their_promises() {
    for has_file in [false, true] {
        let model = session::Session { packets: 3, has_file, without: None };
        let (failed, states) = explore(model, "nothing");
        println!("a session, with a file: {has_file}: {states} states");
        assert!(failed.is_empty(), "{failed:?}");
    }
}

#[test]
fn each_rule_of_sessions_is_needed() {
    for rule in session::Rule::ALL {
        let fails = [false, true].into_iter().any(|has_file| {
            let model = session::Session { packets: 2, has_file, without: Some(rule) };
            let (failed, _) = explore(model, &format!("{rule:?}"));
            // That no example is found would say nothing of the rule.
            failed.iter().any(|name| !name.starts_with("example: "))
        });
        assert!(fails, "nothing fails without {rule:?}");
    }
}

#[test]
fn every_loss_is_told() {
    let (failed, states) = explore(loss::Loss { packets: 5, without: None }, "nothing");
    println!("a writer that drops packets: {states} states");
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn each_rule_of_losses_is_needed() {
    for rule in loss::Rule::ALL {
        let model = loss::Loss { packets: 5, without: Some(rule) };
        let (failed, _) = explore(model, &format!("{rule:?}"));
        let fails = failed.iter().any(|name| !name.starts_with("example: "));
        assert!(fails, "nothing fails without {rule:?}");
    }
}

#[test]
fn every_snapshot_is_taken_or_told() {
    let model = snapshot::Snapshots { triggers: 3, without: None };
    let (failed, states) = explore(model, "nothing");
    println!("triggers that ask for snapshots: {states} states");
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn each_rule_of_snapshots_is_needed() {
    for rule in snapshot::Rule::ALL {
        let model = snapshot::Snapshots { triggers: 3, without: Some(rule) };
        let (failed, _) = explore(model, &format!("{rule:?}"));
        let fails = failed.iter().any(|name| !name.starts_with("example: "));
        assert!(fails, "nothing fails without {rule:?}");
    }
}
