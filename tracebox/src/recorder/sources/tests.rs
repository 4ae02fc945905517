use protos::DataSourceDescriptor;

use super::*;

fn state(offers: &[(&str, i32)]) -> TracingServiceState {
    let source = |&(name, id): &(&str, i32)| TracingServiceStateDataSource {
        ds_descriptor: Some(
            DataSourceDescriptor { name: Some(name.into()), ..DataSourceDescriptor::default() }
                .into(),
        ),
        producer_id: Some(id),
        ..TracingServiceStateDataSource::default()
    };
    TracingServiceState {
        data_sources: offers.iter().map(source).collect(),
        ..TracingServiceState::default()
    }
}

fn change(name: &str, state: InstanceState) -> InstanceChange {
    InstanceChange {
        data_source_name: Some(name.into()),
        state: Some(state),
        ..InstanceChange::default()
    }
}

fn source_watch(wanted: &[&str], offers: &[(&str, i32)], later: bool) -> SourceWatch {
    let wanted = wanted.iter().map(|&name| name.to_owned()).collect();
    SourceWatch::new(wanted, &state(offers), later)
}

const STARTED: InstanceState = InstanceState::DATA_SOURCE_INSTANCE_STATE_STARTED;
const STOPPED: InstanceState = InstanceState::DATA_SOURCE_INSTANCE_STATE_STOPPED;
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_producer_that_goes_away() {
    let mut watched = source_watch(
        &["linux.a", "linux.b"],
        &[("linux.a", 1), ("linux.b", 1), ("linux.a", 2), ("c", 3)],
        true,
    );
    let told = watched.handle_changes(
        &[change("linux.a", STOPPED)],
        &state(&[("linux.a", 1), ("linux.b", 1)]),
        SECOND,
    );
    assert_eq!(told, [StoppedSource { name: "linux.a".into(), after: SECOND }]);
    // The producer comes back under another id, and goes away again.
    let back = state(&[("linux.a", 1), ("linux.b", 1), ("linux.a", 4)]);
    assert!(watched.handle_changes(&[change("linux.a", STARTED)], &back, SECOND).is_empty());
    let told = watched.handle_changes(
        &[change("linux.a", STOPPED)],
        &state(&[("linux.a", 1), ("linux.b", 1)]),
        SECOND,
    );
    assert_eq!(told.len(), 1);
    // The end of the session: all instances stop, and their producers are there.
    let end = [change("linux.a", STOPPED), change("linux.b", STOPPED)];
    assert!(
        watched.handle_changes(&end, &state(&[("linux.a", 1), ("linux.b", 1)]), SECOND).is_empty()
    );
    let report = watched.into_report();
    assert_eq!((report.absent.len(), report.stopped.len()), (0, 2));
}

/// The state of the service is asked for when a change arrives, and may be newer than that.
#[test]
fn a_producer_that_is_gone_before_its_change_arrives() {
    let mut watched = source_watch(&["a", "b"], &[("a", 1), ("b", 2)], true);
    let start = [change("a", STARTED), change("b", STARTED)];
    assert!(watched.handle_changes(&start, &state(&[]), SECOND).is_empty());
    for name in ["a", "b"] {
        let told = watched.handle_changes(&[change(name, STOPPED)], &state(&[]), SECOND);
        assert_eq!(told, [StoppedSource { name: name.into(), after: SECOND }]);
    }
    assert!(watched.handle_changes(&[change("a", STOPPED)], &state(&[]), SECOND).is_empty());
}

/// Producers that take no part must not be remembered for ever.
#[test]
fn no_more_producers_are_waited_for_than_record() {
    let mut watched = source_watch(&["a"], &[("a", 1)], true);
    watched.handle_changes(&[change("a", STARTED)], &state(&[("a", 1)]), SECOND);
    for id in 2..100 {
        for other in [STARTED, STOPPED] {
            let offers = if other == STARTED { &[("a", 1), ("a", id)][..] } else { &[("a", 1)] };
            assert!(
                watched.handle_changes(&[change("b", other)], &state(offers), SECOND).is_empty()
            );
        }
    }
    let told = watched.handle_changes(&[change("a", STOPPED)], &state(&[]), SECOND);
    assert_eq!(told.len(), 2, "one of them is taken for the one that records");
}

/// A program with track events that ends has recorded all it did, also with data sources of its own.
#[test]
fn a_program_with_data_sources_of_its_own_that_ends() {
    for is_early in [true, false] {
        let both = [("a", 1), (TRACK_EVENT, 1), ("a", 2)];
        // A program may register one after the other.
        let first = if is_early { &both[..] } else { &both[..1] };
        let mut watched = source_watch(&["a"], first, true);
        let start = [change("a", STARTED), change("a", STARTED)];
        assert!(watched.handle_changes(&start, &state(&both), SECOND).is_empty());
        let left = state(&both[2..]);
        assert!(watched.handle_changes(&[change("a", STOPPED)], &left, SECOND).is_empty());
        let told = watched.handle_changes(&[change("a", STOPPED)], &state(&[]), SECOND);
        assert_eq!(told.len(), 1, "the other one is no such program");
    }
}

/// A program with track events alone that ends has recorded all it did.
#[test]
fn a_program_that_ends() {
    let mut watched = source_watch(&[TRACK_EVENT], &[(TRACK_EVENT, 1)], true);
    assert!(
        watched.handle_changes(&[change(TRACK_EVENT, STOPPED)], &state(&[]), SECOND).is_empty()
    );
    assert_eq!(watched.into_report(), SourceReport::default());
}

/// The report names a program without track events that ends. What it lost, if anything, is in the ledger of the
/// session.
#[test]
fn a_program_without_track_events_that_ends() {
    let mut watched = source_watch(&["a", "linux.b"], &[("a", 1), ("linux.b", 2)], true);
    let told = watched.handle_changes(&[change("a", STOPPED)], &state(&[("linux.b", 2)]), SECOND);
    assert_eq!(told, [StoppedSource { name: "a".into(), after: SECOND }]);
    let told = watched.handle_changes(&[change("linux.b", STOPPED)], &state(&[]), SECOND);
    assert_eq!(told, [StoppedSource { name: "linux.b".into(), after: SECOND }]);
    assert_eq!(watched.into_report().stopped, told);
}

#[test]
fn a_producer_that_takes_no_part() {
    let mut watched = source_watch(&["a"], &[("a", 1), ("a", 2)], true);
    // The second one has no instance in this session.
    assert!(
        watched.handle_changes(&[change("b", STOPPED)], &state(&[("a", 1)]), SECOND).is_empty()
    );
    assert!(watched.into_report().stopped.is_empty());
}

/// Any program can offer a data source of the machine, and leave, as often as it likes.
#[test]
fn a_producer_that_goes_away_again_and_again() {
    let mut watched = source_watch(&["linux.a"], &[], true);
    for id in 1..200 {
        let began = [change("linux.a", STARTED)];
        assert!(watched.handle_changes(&began, &state(&[("linux.a", id)]), SECOND).is_empty());
        let told = watched.handle_changes(&[change("linux.a", STOPPED)], &state(&[]), SECOND);
        assert_eq!(told.len(), 1);
    }
    let report = watched.into_report();
    assert_eq!((report.stopped.len(), report.stopped_left_out), (STOPPED_MAX, 199 - 64));
}

/// A service gives ids of producers that are gone to others.
#[test]
fn the_id_of_a_program_that_is_given_to_another_producer() {
    let mut watched = source_watch(&["linux.a"], &[], true);
    for id in 1..100 {
        watched.handle_changes(&[], &state(&[(TRACK_EVENT, id)]), SECOND);
        assert_eq!(watched.programs.iter().collect::<Vec<_>>(), [&id], "of those now");
    }
    watched.handle_changes(&[], &state(&[(TRACK_EVENT, 7), ("linux.a", 7)]), SECOND);
    // The program leaves and the probes come, before its end is told.
    let mut probes = state(&[("linux.a", 7)]);
    probes.producers.push(protos::TracingServiceStateProducer {
        id: Some(7),
        name: Some("traced_probes".into()),
        ..Default::default()
    });
    let began = InstanceChange {
        producer_name: Some("traced_probes".into()),
        ..change("linux.a", STARTED)
    };
    watched.handle_changes(std::slice::from_ref(&began), &probes, SECOND);
    assert!(watched.programs.is_empty());
    let ended = InstanceChange { state: Some(STOPPED), ..began };
    let told = watched.handle_changes(&[ended], &state(&[]), SECOND);
    assert_eq!(told, [StoppedSource { name: "linux.a".into(), after: SECOND }]);
}

/// Only names that the config has are of interest.
#[test]
fn names_that_others_register() {
    let mut watched = source_watch(&["a"], &[("a", 1), ("b", 1)], true);
    let names: Vec<_> = (0..100).map(|number| change(&format!("c{number}"), STARTED)).collect();
    watched.see(&names);
    assert_eq!(watched.seen.len(), 1);
}

#[test]
fn later_producers_that_are_not_watched() {
    let mut watched = source_watch(&["a", "b"], &[("a", 1)], false);
    assert_eq!(watched.absent(), ["b"]);
    watched.see(&[change("b", STARTED)]);
    watched.handle_changes(&[change("b", STARTED)], &state(&[("a", 1), ("b", 2)]), SECOND);
    let told = watched.handle_changes(&[change("b", STOPPED)], &state(&[("a", 1)]), SECOND);
    assert!(told.is_empty());
    assert_eq!(watched.into_report(), SourceReport::default());
}

#[test]
fn why_there_are_no_track_events() {
    let mut watched = source_watch(&["a"], &[("a", 1)], true);
    assert_eq!(watched.no_events(), NoEvents::NotConnected);
    watched.see(&[change(TRACK_EVENT, STARTED)]);
    assert_eq!(watched.no_events(), NoEvents::NotRecorded);
    let watched = source_watch(&[], &[(TRACK_EVENT, 1)], true);
    assert_eq!(watched.no_events(), NoEvents::NotRecorded);
}
