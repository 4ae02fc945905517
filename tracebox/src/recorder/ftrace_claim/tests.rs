use super::*;

#[test]
fn one_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = || std::iter::once(File::open(folder.path()).unwrap());
    let first = lock(open());
    assert!(first.is_some());
    assert!(lock(open()).is_none());
    drop(first);
    // A process that another test starts has a copy until its `exec`.
    while lock(open()).is_none() {
        std::thread::yield_now();
    }
}

/// A machine with debugfs has tracefs at both places.
#[test]
fn a_folder_that_is_there_twice_is_locked_once() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |place: &tempfile::TempDir| File::open(place.path()).unwrap();
    let folders = lock([open(&folder), open(&other), open(&folder)].into_iter()).unwrap();
    assert_eq!(folders.len(), 2);
    assert!(lock([open(&other)].into_iter()).is_none(), "another process locks both");
}
