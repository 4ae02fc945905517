use super::cited;

fn found(line: &str) -> Vec<&str> {
    cited(line).collect()
}

#[test]
fn documents_of_which_a_section_is_cited() {
    // Put together here, so that this file cites none.
    let cite = |name: &str| format!("//! The opening ({name}{} 5.2).", ", section");
    assert_eq!(found(&cite("track-event.md")), ["track-event.md"]);
    assert_eq!(found(&cite("docs/sdk.md")), ["docs/sdk.md"]);
    assert!(found("//! The opening (`docs/sdk.md`), and a section.").is_empty());
    assert!(found("//! See section 5.2.").is_empty());
}
