/// `cargo xtask ci` looks for this beginning of a line.
#[test]
fn the_line_stands_alone() {
    let written = format!("test a ... {}ok", super::line("b, of another user", "a reason"));
    let found: Vec<_> = written.lines().filter_map(|l| l.strip_prefix("SKIPPED ")).collect();
    assert_eq!(found, ["b, of another user: a reason"]);
}
