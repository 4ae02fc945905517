use super::Row;

#[test]
fn a_bar_is_missed_by_wall_time() {
    let row = |wall_s, bar| Row { what: "", wall_s, cpu_s: 100.0, bar };
    assert!(row(3.0, Some(3)).misses());
    assert!(!row(2.9, Some(3)).misses());
    assert!(!row(30.0, None).misses());
}
