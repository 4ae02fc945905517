use super::process::{cut, start_ticks, uuid_of};
use super::{Kind, Name, Parent, Track};
use crate::hash::fnv1a;

/// The uuid of the process in the vectors.
const PROCESS: u64 = 0x1122_3344_5566_7788;

/// The values are those of the C++ SDK (`track.cc`).
#[test]
fn uuids_are_those_of_the_cpp_sdk() {
    assert_eq!(uuid_of(123_456, 4242), 0x61a6_0838_098c_0914);
    assert_eq!(fnv1a(b"Memory"), 0x16e1_bead_7b9c_95ce);
    assert_eq!(fnv1a(b"thread_time"), 0xf4ef_cfeb_7f68_b48b);

    let process = Track::from_uuid(PROCESS);
    let thread = Track::new(Parent::Track(&process), Name::None, Kind::Known, 0).id(4243);
    assert_eq!(thread.uuid(), 0x1122_3344_5566_671b);
    assert_eq!(process.child("Memory").id(5).uuid(), 0xca94_932c_c429_9267);
    assert_eq!(Track::counter("Memory").parent(&process).uuid(), 0xb667_2b94_578a_61d8);
    assert_eq!(Track::state("Memory").parent(&process).uuid(), 0x29e0_1505_bc12_737e);
}

#[test]
fn names_of_both_kinds_hash_alike() {
    assert_eq!(Track::named("a").uuid(), Track::dynamic("a").uuid());
    assert_ne!(Track::named("a").uuid(), Track::named("a").id(1).uuid());
    assert_ne!(Track::named("a").uuid(), Track::global("a").uuid());
}

#[test]
fn the_start_time_stands_behind_the_last_parenthesis() {
    let fields = (4..=30).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    let check = |name: &str, expected| {
        let stat = format!("17 ({name}) S {fields}");
        assert_eq!(start_ticks(&stat), expected, "{name}");
    };
    check("cat", Some(22));
    check("a) b (c) ", Some(22));
    assert_eq!(start_ticks(""), None);
    assert_eq!(start_ticks("17 (cat) S 1"), None);
}

#[test]
fn a_command_line_has_a_limit() {
    let cut = |arguments: &[&str]| cut(arguments.iter().map(|&argument| argument.to_owned()));
    let long = "ä".repeat(10_000);
    assert_eq!(cut(&["cat", "", "file"])[..], ["cat", "", "file"]);
    // A NUL each: 4 of 1024 bytes are taken, and 1020 are there.
    assert_eq!(cut(&["cat", &long, "file"])[..], ["cat", &long[..1020]]);
    assert_eq!(cut(&["at", &long, "file"])[..], ["at", &long[..1020]], "no half of a letter");
    assert_eq!(cut(&[&long, "file"])[..], [&long[..1024]]);
    assert_eq!(cut(&[""; 10_000]).len(), 1024);
}
