use super::*;

#[test]
fn kinds_are_told_apart() {
    let code = "#![allow(unsafe_code)] unsafe impl A {} unsafe fn b() { unsafe { c } unsafe\n{} }";
    assert_eq!(count(code), [2, 1, 1]);
    assert_eq!(count("#[unsafe(no_mangle)] unsafe trait T {}"), [0, 0, 2]);
}

#[test]
fn the_ledger_is_a_table() {
    let rows =
        parse("| file | blocks | impls | d |\n|---|--:|--:|--:|\n| `a/b.rs` | 1 | 2 | 3 |\n");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows["a/b.rs"], [1, 2, 3]);
}
