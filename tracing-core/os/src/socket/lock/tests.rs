use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use super::super::open_folder::{NOBODY, OpenFolder, as_nobody};
use super::*;

/// A folder for a socket and its lock.
struct Dir(OpenFolder);

impl Dir {
    fn new(name: &str) -> Self {
        Self(OpenFolder::new(&format!("lock-{name}")))
    }

    fn socket(&self) -> PathBuf {
        self.0.path("sock")
    }

    fn file(&self) -> PathBuf {
        self.0.path("sock.lock")
    }
}

#[test]
fn one_holds_it_and_its_file_goes_with_it() {
    let dir = Dir::new("one");
    let first = Lock::take(&dir.socket()).unwrap();
    let meta = std::fs::metadata(dir.file()).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o600, "no other user can open it");
    assert_eq!(Lock::take(&dir.socket()).unwrap_err(), LockError::Held);
    drop(first);
    assert!(!dir.file().exists());
    drop(Lock::take(&dir.socket()).unwrap());
}

#[test]
fn the_file_of_a_killed_daemon_is_taken() {
    let dir = Dir::new("stale");
    std::fs::write(dir.file(), "").unwrap();
    let lock = Lock::take(&dir.socket()).unwrap();
    assert!(lock.is_held());
    assert_eq!(Lock::take(&dir.socket()).unwrap_err(), LockError::Held);
}

/// A file of this user that the system does not open: the error says why.
#[test]
fn a_file_that_cannot_be_opened_is_an_error_of_the_system() {
    // The kernel lets nobody write to a program that runs.
    let program = std::env::current_exe().unwrap();
    let dir = Dir(OpenFolder::beside(program.parent().unwrap(), "lock-busy"));
    std::fs::hard_link(&program, dir.file()).unwrap();
    let refused = Lock::take(&dir.socket()).unwrap_err();
    let LockError::Os(error) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("sock.lock"), "{error}");
    assert!(dir.file().exists());
}

#[test]
fn a_lock_without_its_name_is_none() {
    let dir = Dir::new("name");
    let lost = Lock::take(&dir.socket()).unwrap();
    std::fs::remove_file(dir.file()).unwrap();
    assert!(!lost.is_held());
    let second = Lock::take(&dir.socket()).unwrap();
    drop(lost);
    assert!(second.is_held(), "only its own file is removed");
}

#[test]
fn a_file_that_was_removed_after_it_was_opened_is_not_taken() {
    let dir = Dir::new("removed");
    let first = Lock::take(&dir.socket()).unwrap();
    let Ok(Opened::Lock(opened)) = open(&dir.file()) else { panic!("none") };
    drop(first);
    let again = opened.try_clone().unwrap();
    assert!(Lock::take_opened(dir.file(), opened).unwrap().is_none());
    let second = Lock::take(&dir.socket()).unwrap();
    assert!(Lock::take_opened(dir.file(), again).unwrap().is_none());
    assert!(second.is_held());
}

#[test]
fn what_is_no_file_of_this_user_is_not_taken() {
    let dir = Dir::new("kinds");
    let makers: [fn(&Path); 4] = [
        |path| std::os::unix::fs::symlink("elsewhere", path).unwrap(),
        |path| std::fs::create_dir(path).unwrap(),
        |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        |path| {
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        },
    ];
    for make in makers {
        make(&dir.file());
        let error = Lock::take(&dir.socket()).unwrap_err();
        assert_eq!(error, LockError::Foreign { file: dir.file(), uid: process::effective_uid() });
        let kind = std::fs::symlink_metadata(dir.file()).unwrap().file_type();
        assert!(kind.is_symlink() || kind.is_dir() || kind.is_socket() || kind.is_fifo());
        let _ = std::fs::remove_file(dir.file()).or_else(|_| std::fs::remove_dir(dir.file()));
    }
    assert!(!dir.0.path("elsewhere").exists(), "a link is not followed");
}

/// Another user was there first: root takes the name, and a daemon of a third user says who has to.
#[test]
fn another_user_keeps_root_from_nothing() {
    if skip::without_root("another_user_keeps_root_from_nothing") {
        return;
    }
    let dir = Dir::new("root");
    type Make = fn(&Path);
    let makers: [(&str, Make); 4] = [
        ("a file", |path| std::fs::write(path, "").unwrap()),
        ("a symbolic link", |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap()),
        ("a directory", |path| std::fs::create_dir(path).unwrap()),
        ("a directory", |path| std::fs::create_dir_all(path.join("in it")).unwrap()),
    ];
    for (kind, make) in makers {
        as_nobody(|| make(&dir.file()));
        let lock = Lock::take(&dir.socket()).unwrap();
        let displaced = lock.displaced.as_ref().unwrap();
        assert_eq!((displaced.kind, displaced.uid), (kind, NOBODY));
        let meta = std::fs::symlink_metadata(dir.file()).unwrap();
        assert_eq!((meta.uid(), meta.is_file(), meta.mode() & 0o777), (0, true, 0o600));
        let refused = as_nobody(|| Lock::take(&dir.socket()).unwrap_err());
        assert_eq!(refused, LockError::Foreign { file: dir.file(), uid: 0 });
        drop(lock);
    }
}

/// Root may open any file.
#[test]
fn a_file_that_its_user_may_not_open_is_told() {
    let dir = Dir::new("closed");
    let error = as_nobody(|| {
        std::fs::write(dir.file(), "").unwrap();
        std::fs::set_permissions(dir.file(), PermissionsExt::from_mode(0o0)).unwrap();
        Lock::take(&dir.socket()).unwrap_err()
    });
    assert!(matches!(error, LockError::Os(_)), "{error:?}");
}

/// A lock that the other user holds is no lock.
#[test]
fn another_user_cannot_hold_the_lock_of_root() {
    if skip::without_root("another_user_cannot_hold_the_lock_of_root") {
        return;
    }
    let dir = Dir::new("held");
    let theirs = as_nobody(|| Lock::take(&dir.socket()).unwrap());
    let ours = Lock::take(&dir.socket()).unwrap();
    assert!(ours.is_held() && !theirs.is_held());
    drop(theirs);
    assert!(ours.is_held());
}
