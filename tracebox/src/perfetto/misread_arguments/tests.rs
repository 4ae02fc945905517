use super::meant_program;

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
