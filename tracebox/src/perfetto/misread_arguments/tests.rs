use super::{edit_distance, meant_program};

#[test]
fn edit_distances() {
    for (a, b, distance) in [
        ("", "", 0),
        ("record", "record", 0),
        ("recrod", "record", 2),
        ("recod", "record", 1),
        ("sched", "record", 4),
        ("", "abc", 3),
    ] {
        assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        assert_eq!(edit_distance(b, a), distance, "{b} {a}");
    }
}

#[test]
fn misspelt_programs() {
    for (word, program) in [
        ("recrod", Some("record")),
        ("stauts", Some("stats")),
        ("statz", Some("stats")),
        ("lin", Some("lint")),
        ("instal-units", Some("install-units")),
        ("sched", None),
        ("idle", None),
        ("input", None),
        ("network", None),
    ] {
        assert_eq!(meant_program(word), program, "{word}");
    }
}
