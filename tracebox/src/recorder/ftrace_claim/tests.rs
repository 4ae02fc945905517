use super::*;

#[test]
fn one_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = || File::open(folder.path()).unwrap();
    let (first, second) = (open(), open());
    assert!(!is_locked(&first));
    assert!(is_locked(&second));
    drop(first);
    assert!(!is_locked(&second));
}
