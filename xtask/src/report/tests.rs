use super::replaced;

#[test]
fn a_section_is_replaced_where_it_stands_and_appended_where_it_is_missing() {
    let one = replaced("# Numbers\n", "Hot paths", "fast\n");
    assert_eq!(one, "# Numbers\n\n## Hot paths\n\nfast\n");
    let two = replaced(&one, "Peers", "slower\n");
    assert_eq!(two, "# Numbers\n\n## Hot paths\n\nfast\n\n## Peers\n\nslower\n");
    let again = replaced(&two, "Hot paths", "faster\n");
    assert_eq!(again, "# Numbers\n\n## Hot paths\n\nfaster\n\n## Peers\n\nslower\n");
    assert_eq!(replaced(&again, "Hot paths", "faster\n"), again);
    assert_eq!(replaced(&again, "Peers", "slower\n"), again);
}
