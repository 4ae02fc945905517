use super::*;

#[test]
fn files_of_others_are_found() {
    let folders = Folders::make().unwrap();
    let own = os::process::effective_uid();
    assert_eq!(folders.check(&[own]), Ok(0));
    fs::write(folders.root.join(OPEN).join("1"), "").unwrap();
    assert_eq!(folders.check(&[own]), Ok(1));
    assert!(folders.check(&[own + 1]).is_err(), "of another user");
    fs::write(folders.root.join(CLOSED).join("1"), "").unwrap();
    assert!(folders.check(&[own]).is_err(), "in the closed folder");
}
