use super::{advice, meant_program};

#[test]
fn misspelt_programs() {
    for (word, program) in [
        ("recrod", Some("record")),
        ("stauts", Some("stats")),
        ("statz", Some("stats")),
        ("lin", Some("lint")),
        ("instal-units", Some("install-units")),
        ("traced", Some("traced")),
        ("trased", Some("traced")),
        ("sched", None),
        ("idle", None),
        ("input", None),
        ("network", None),
    ] {
        assert_eq!(meant_program(word), program, "{word}");
    }
}

#[test]
fn a_program_behind_options_is_not_called_misspelt() {
    let record = "record is a program of tracebox, and its name comes first: `tracebox record ...`";
    assert_eq!(advice("record").as_deref(), Some(record));
    let recrod = "\"recrod\" is not a program of tracebox: did you mean \"record\"?";
    assert_eq!(advice("recrod").as_deref(), Some(recrod));
    assert_eq!(advice("sched"), None);
}
