use super::edit_distance;

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
