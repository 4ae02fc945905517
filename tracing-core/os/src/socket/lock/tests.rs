use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;

use super::*;

const NOBODY: u32 = 65534;

/// A directory that all users write to, as `/tmp`; gone afterwards.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        Self::in_folder(&std::env::temp_dir(), name)
    }

    fn in_folder(folder: &Path, name: &str) -> Self {
        let path = folder.join(format!("lock-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o1777)).unwrap();
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("sock")
    }

    fn file(&self) -> PathBuf {
        self.0.join("sock.lock")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs as another user, if this is root.
fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let run = || {
        if geteuid().is_root() {
            // Of this thread alone.
            set_thread_res_uid(None, Uid::from_raw(NOBODY), None).unwrap();
        }
        run()
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
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
    let dir = Dir::in_folder(program.parent().unwrap(), "busy");
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
    let opened = open(&dir.file()).unwrap().unwrap();
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
    assert!(!dir.0.join("elsewhere").exists(), "a link is not followed");
}

/// Another user was there first: root removes what it left, and a daemon of a third user says who has to.
#[test]
fn another_user_keeps_root_from_nothing() {
    if !geteuid().is_root() {
        return;
    }
    let dir = Dir::new("root");
    let makers: [fn(&Path); 3] = [
        |path| std::fs::write(path, "").unwrap(),
        |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
        |path| std::fs::create_dir(path).unwrap(),
    ];
    for make in makers {
        as_nobody(|| make(&dir.file()));
        let lock = Lock::take(&dir.socket()).unwrap();
        let meta = std::fs::symlink_metadata(dir.file()).unwrap();
        assert_eq!((meta.uid(), meta.is_file()), (0, true));
        let refused = as_nobody(|| Lock::take(&dir.socket()).unwrap_err());
        assert_eq!(refused, LockError::Foreign { file: dir.file(), uid: 0 });
        drop(lock);
    }
}

/// Nor does what root cannot remove at once look like a lock.
#[test]
fn what_cannot_be_removed_is_told() {
    if !geteuid().is_root() {
        return;
    }
    let dir = Dir::new("full");
    as_nobody(|| std::fs::create_dir_all(dir.file().join("in it")).unwrap());
    let expected = LockError::Foreign { file: dir.file(), uid: NOBODY };
    assert_eq!(Lock::take(&dir.socket()).unwrap_err(), expected);
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
    if !geteuid().is_root() {
        return;
    }
    let dir = Dir::new("held");
    let theirs = as_nobody(|| Lock::take(&dir.socket()).unwrap());
    let ours = Lock::take(&dir.socket()).unwrap();
    assert!(ours.is_held() && !theirs.is_held());
    drop(theirs);
    assert!(ours.is_held());
}
