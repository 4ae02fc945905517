use super::text;
use std::path::Path;

#[test]
fn the_text_section_is_found() {
    let sections = "a.out  :\nsection   size   addr\n.rodata     16   100\n.text     4096   200\n";
    assert_eq!(text(sections, Path::new("a.out")), Ok(4096));
    assert!(text("", Path::new("a.out")).is_err());
}
