use super::{edit_distance, near};

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
fn near_names() {
    let names = ["sched", "freq", "idle", "irq", "irqoff", "memory", "memreclaim"];
    for (word, expected) in [
        ("shced", &["sched"][..]),
        ("scheduler", &["sched"]),
        ("mem", &["memory", "memreclaim"]),
        ("frq", &["freq", "irq"]),
        ("xyzzy", &[]),
        ("", &[]),
    ] {
        assert_eq!(near(word, names), expected, "{word}");
    }
}
