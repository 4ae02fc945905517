use crate::ftrace::config::{EventName, KnownEvents as _};
use crate::ftrace::mux::{EventKind, EventTable as _, KprobeKind};
use crate::ftrace::recorded;
use crate::ftrace::table::plan::Body;
use crate::ftrace::table::{FieldIds, Options, Table, Unfit};

use super::Choice;

const DENSE: EventKind = EventKind::Generic { is_dense: true };
const LEGACY: EventKind = EventKind::Generic { is_dense: false };

fn add(choice: &mut Choice<'_>, group: &str, name: &str, kind: EventKind) -> Option<u16> {
    choice.add(&EventName::new(group, name), kind, &recorded::read(group, name)?)
}

#[test]
fn a_session_has_the_plans_that_its_config_asks_for() {
    let mut table = Table::new(Options::default(), &mut recorded::read);
    let mut ids = FieldIds::default();
    let mut choice = Choice::new(&mut table, &mut ids);
    let waking = add(&mut choice, "sched", "sched_waking", EventKind::Known).unwrap();
    let dense = add(&mut choice, "rcu", "rcu_utilization", DENSE).unwrap();
    let (plans, unfit) = choice.finish(true);
    assert!(matches!(plans.get(dense).unwrap().body, Body::Message(_)));
    assert!(plans.get(dense).unwrap().descriptor.is_some());
    assert!(plans.get(waking).is_some());
    assert!(plans.get(table.find("sched", "sched_switch").unwrap().id).is_none());
    // Wakings alone are written one by one.
    assert_eq!((plans.compact, unfit), (None, None));
    assert_eq!(plans.pid_offset, 4);

    let mut choice = Choice::new(&mut table, &mut ids);
    assert_eq!(add(&mut choice, "rcu", "rcu_utilization", LEGACY), Some(dense));
    let probe = EventName::new("perfetto_kprobes", "do_exit");
    let format = b"name: do_exit\nID: 9000\nfield:int common_pid;offset:4;size:4;signed:1;";
    let kind = EventKind::Kprobe(KprobeKind::End);
    assert_eq!(choice.add(&probe, kind, format), Some(9000));
    assert_eq!(choice.add(&probe, kind, b"?"), None);
    let (plans, _) = choice.finish(true);
    assert!(matches!(plans.get(dense).unwrap().body, Body::Legacy { .. }));
    let Body::Fixed { body, .. } = &plans.get(9000).unwrap().body else { panic!("no kprobe") };
    assert_eq!(**body, *b"\x0a\x07do_exit\x10\x02");
    assert!(plans.get(waking).is_none());
}

#[test]
fn compact_sched_is_for_sessions_with_switches() {
    let mut table = Table::new(Options::default(), &mut recorded::read);
    let mut ids = FieldIds::default();
    let mut finish = |table: &mut Table, wants_compact| {
        let mut choice = Choice::new(table, &mut ids);
        add(&mut choice, "sched", "sched_switch", EventKind::Known).unwrap();
        let (plans, unfit) = choice.finish(wants_compact);
        (plans.compact, unfit)
    };
    assert_eq!(finish(&mut table, false), (None, None));
    let layout = table.compact_sched().unwrap();
    assert_eq!(finish(&mut table, true), (Some(layout), None));
    table.forget("sched", "sched_waking");
    let unfit = Unfit::Missing { event: "sched_waking" };
    assert_eq!(finish(&mut table, true), (None, Some(unfit)));
}

#[test]
fn names_are_those_of_the_schema_and_of_what_was_recorded() {
    let mut table = Table::new(Options::default(), &mut |_, _| None);
    let mut ids = FieldIds::default();
    let mut choice = Choice::new(&mut table, &mut ids);
    assert_eq!(choice.groups_of("gpu_frequency"), ["kgsl", "power"]);
    assert_eq!(choice.groups_of("rcu_utilization"), [""; 0]);
    assert_eq!(choice.names_of("task"), ["task_newtask", "task_rename"]);
    assert!(choice.is_known(&EventName::new("sched", "sched_switch")));
    assert!(!choice.is_known(&EventName::new("rcu", "rcu_utilization")));
    assert!(!choice.is_known(&EventName::new("ftrace", "generic")));
    add(&mut choice, "rcu", "rcu_utilization", DENSE).unwrap();
    assert_eq!(choice.groups_of("rcu_utilization"), ["rcu"]);
    assert_eq!(choice.groups_of("print"), ["ftrace"]);
}
