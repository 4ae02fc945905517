use super::*;

#[test]
fn no_variable_counts_in_a_program_with_more_rights() {
    assert_eq!(allowed("/tmp/chosen".into(), false), Some("/tmp/chosen".into()));
    assert_eq!(allowed("/tmp/chosen".into(), true), None);
    assert_eq!(allowed("".into(), false), None);
}
