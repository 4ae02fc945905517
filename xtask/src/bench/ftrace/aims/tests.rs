use super::*;

#[test]
fn each_aim_can_be_missed() {
    let check = |ours: f64, must: Must, end: &str| {
        let line = row("x", ours, 2.0, must);
        assert!(line.ends_with(&format!("| {end} |\n")), "{line}");
    };
    check(9.0, Must::Anything, "");
    check(1.0, Must::TimesTheirs(0.5), "0.50x | yes");
    check(1.1, Must::TimesTheirs(0.5), "0.50x | **no**");
    check(100.0, Must::AtMost(100.0), "at most 100 | yes");
    check(100.1, Must::AtMost(100.0), "at most 100 | **no**");
    check(0.99, Must::AtLeast(0.99), "at least 0.99 | yes");
    check(0.98, Must::AtLeast(0.99), "at least 0.99 | **no**");
}

#[test]
fn without_a_loss_of_theirs_there_is_no_ratio() {
    let none = Must::TimesTheirs(1.0);
    assert_eq!(row("x", 0.0, 0.0, none), "| x | 0.000 | 0.000 |  | 1.00x | yes |\n");
    assert_eq!(row("x", 1.0, 0.0, none), "| x | 1.000 | 0.000 |  | 1.00x | **no** |\n");
}
