use std::collections::{BTreeMap, BTreeSet};

use super::event::{Field, field};
use super::{EVENTS, Kind, find};

/// The counts of upstream's table, for the same schema.
#[test]
fn has_all_events_and_fields() {
    assert_eq!(EVENTS.len(), 594);
    let groups: BTreeSet<_> = EVENTS.iter().map(super::Event::group).collect();
    assert_eq!(groups.len(), 80);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for field in EVENTS.iter().flat_map(super::Event::fields) {
        *kinds.entry(format!("{:?}", field.kind)).or_default() += 1;
    }
    let kinds: Vec<_> = kinds.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    let wanted =
        [("Bytes", 8), ("I32", 546), ("I64", 101), ("String", 225), ("U32", 952), ("U64", 830)];
    assert_eq!(kinds, wanted);
    assert_eq!(kinds.iter().map(|(_, count)| count).sum::<usize>(), 2662);
}

#[test]
fn every_event_and_every_field_is_there_once() {
    let names: BTreeSet<_> = EVENTS.iter().map(|e| (e.group(), e.name())).collect();
    assert_eq!(names.len(), EVENTS.len());
    let numbers: BTreeSet<_> = EVENTS.iter().map(super::Event::number).collect();
    assert_eq!(numbers.len(), EVENTS.len());
    assert!(EVENTS.is_sorted_by_key(|e| (e.group(), e.number())));
    for event in &EVENTS {
        let fields: Vec<Field> = event.fields().collect();
        assert_eq!(fields.len(), event.3.matches('=').count(), "{}", event.name());
        assert!(fields.is_sorted_by(|a, b| a.number < b.number), "{}", event.name());
        let names: BTreeSet<_> = fields.iter().map(|f| f.name).collect();
        assert_eq!(names.len(), fields.len(), "{}", event.name());
    }
}

/// An event as text: its number and its fields.
#[track_caller]
fn check(group: &str, name: &str, number: u32, fields: &[(&'static str, u32, Kind)]) {
    let event = find(group, name).unwrap_or_else(|| panic!("no {group}/{name}"));
    assert_eq!(event.number(), number);
    let wanted = fields.iter().map(|&(name, number, kind)| Field { name, number, kind });
    assert_eq!(event.fields().collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
}

#[test]
fn names_are_those_of_the_kernel() {
    let comm = Kind::String;
    check(
        "sched",
        "sched_waking",
        20,
        &[
            ("comm", 1, comm),
            ("pid", 2, Kind::I32),
            ("prio", 3, Kind::I32),
            ("success", 4, Kind::I32),
            ("target_cpu", 5, Kind::I32),
        ],
    );
    check("raw_syscalls", "sys_enter", 329, &[("id", 1, Kind::I64), ("args", 2, Kind::U64)]);
    // The address of the caller is not written.
    check("ftrace", "print", 3, &[("buf", 2, Kind::String)]);
    let nid = |f: Field| f.name == "nid";
    assert!(!find("f2fs", "f2fs_truncate_partial_nodes").unwrap().fields().any(nid));
    assert!(find("f2fs", "f2fs_truncate_node").unwrap().fields().any(nid));
    // An event whose name is no identifier of the schema.
    assert!(find("systrace", "0").is_some());
    assert!(find("systrace", "zero").is_none());
    // The group comes off once.
    assert!(find("mali", "mali_PM_MCU_ON_CORE_ATTR_UPDATE_PEND").is_some());
    assert!(find("hypervisor", "hyp_enter").is_some());
    assert!(find("hyp", "hyp_enter").is_some());
    assert!(find("sde", "tracing_mark_write").is_some());
    // These are no events of the kernel: other events are written as these messages.
    for name in ["generic", "kprobe_event"] {
        assert!(!EVENTS.iter().any(|e| e.name() == name));
    }
}

#[test]
fn an_event_is_found_in_its_group_only() {
    assert!(find("sched", "sched_switch").is_some());
    assert!(find("power", "sched_switch").is_none());
    assert!(find("zzz", "sched_switch").is_none());
    assert!(find("", "").is_none());
}

#[test]
fn reads_nothing_else() {
    let kind = Kind::U32;
    assert_eq!(field("a=12u"), Some(Field { name: "a", number: 12, kind }));
    for text in ["", "a", "a=", "a=u", "a=1", "a=1x", "a=xu", "a=1é", "=é"] {
        assert_eq!(field(text), None, "{text:?}");
    }
}
