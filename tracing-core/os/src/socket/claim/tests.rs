use super::super::open_folder::{NOBODY, OpenFolder, as_nobody};
use super::super::{Address, ListenError, Listener, Stream};
use super::*;

type Make = fn(&Path);

/// What another user can put at the name of a socket, and whether it has content.
const SQUATTERS: [(&str, bool, Make); 7] = [
    ("a socket", false, |path| {
        // Of a process that ended: nobody listens there.
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    }),
    ("a file", false, |path| std::fs::write(path, "").unwrap()),
    ("a file", true, |path| std::fs::write(path, "a letter").unwrap()),
    ("a directory", false, |path| std::fs::create_dir(path).unwrap()),
    ("a directory", true, |path| std::fs::create_dir_all(path.join("in it")).unwrap()),
    ("a symbolic link", false, |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap()),
    ("a named pipe", false, |path| {
        let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(CWD, path, kind, mode, 0).unwrap();
    }),
];

#[test]
fn root_listens_whatever_another_user_put_there() {
    if skip::without_root("root_listens_whatever_another_user_put_there") {
        return;
    }
    for (kind, has_content, make) in SQUATTERS {
        let folder = OpenFolder::new("squatters");
        let (path, lock) = (folder.path("sock"), folder.path("sock.lock"));
        as_nobody(|| [&path, &lock].map(|path| make(path)));
        let address = Address::Path(path.clone());
        let listener = Listener::bind(&address).unwrap();
        Stream::connect(&address).unwrap();
        let displaced: Vec<_> = listener.displaced().cloned().collect();
        assert_eq!(displaced.iter().map(|it| &it.path).collect::<Vec<_>>(), [&lock, &path]);
        for Displaced { uid, kind: was, kept_at, .. } in &displaced {
            assert_eq!((*uid, *was, kept_at.is_some()), (NOBODY, kind, has_content));
            assert!(kept_at.iter().all(|path| path.exists()), "as it was");
        }
        assert_eq!(folder.names().len(), if has_content { 4 } else { 2 });
        drop(listener);
        assert_eq!(folder.names().len(), if has_content { 2 } else { 0 }, "{kind}");
    }
}

/// Only clients that trust the other user connect to the service of that user, so root takes nothing from anybody else.
#[test]
fn root_takes_the_socket_of_a_service_of_another_user() {
    if skip::without_root("root_takes_the_socket_of_a_service_of_another_user") {
        return;
    }
    let folder = OpenFolder::new("service");
    let address = Address::Path(folder.path("sock"));
    let theirs = as_nobody(|| Listener::bind(&address).unwrap());
    let ours = Listener::bind(&address).unwrap();
    let _client = Stream::connect(&address).unwrap();
    assert!(ours.accept().unwrap().is_some() && theirs.accept().unwrap().is_none());
    let told: Vec<_> = ours.displaced().map(ToString::to_string).collect();
    let path = folder.path("sock");
    let line = format!(
        "user {NOBODY} had a socket at {}: it was removed, as this daemon runs as root",
        path.display()
    );
    assert_eq!(told.last(), Some(&line));
    drop(theirs);
    assert!(path.exists(), "only its own socket is removed");
}

#[test]
fn root_takes_nothing_in_a_directory_that_only_its_owner_writes_to() {
    if skip::without_root("root_takes_nothing_in_a_directory_that_only_its_owner_writes_to") {
        return;
    }
    let folder = OpenFolder::new("private");
    let inner = folder.path("inner");
    let address = Address::Path(inner.join("sock"));
    let _theirs = as_nobody(|| {
        std::fs::create_dir(&inner).unwrap();
        std::fs::set_permissions(&inner, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        Listener::bind(&address).unwrap()
    });
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::InUse(address.clone()));
    let none = Listener::bind(&Address::Path(folder.path("sock"))).unwrap();
    assert_eq!(none.displaced().count(), 0);
}

#[test]
fn root_takes_nothing_of_its_own_and_others_take_nothing() {
    let folder = OpenFolder::new("own");
    let path = folder.path("sock");
    std::fs::write(&path, "").unwrap();
    let address = Address::Path(path.clone());
    let refused = Listener::bind(&address).unwrap_err();
    assert_eq!(refused, ListenError::NotASocket(address.clone()));
    assert!(!as_nobody(|| may_take(&path)));
    std::fs::remove_file(&path).unwrap();
    let _ours = Listener::bind(&address).unwrap();
    assert!(!as_nobody(|| may_take(&path)));
    assert!(!may_take(&path) && !is_of_another_user(Path::new("no such file")));
}

/// The other user removes its file, and makes it again, all the time.
#[test]
fn a_name_that_comes_and_goes_is_taken() {
    if skip::without_root("a_name_that_comes_and_goes_is_taken") {
        return;
    }
    let folder = OpenFolder::new("race");
    let path = folder.path("sock");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (path, done) = (&path, &done);
        scope.spawn(move || {
            as_nobody(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = std::fs::create_dir(path);
                    let _ = std::fs::remove_dir(path);
                }
            });
        });
        let bind = |_| Listener::bind(&Address::Path(path.clone())).map(drop);
        let bound: Result<Vec<()>, _> = (0..200).map(bind).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(bound.map(|all| all.len()), Ok(200));
    });
}

#[test]
fn a_file_that_cannot_take_the_name_is_removed() {
    let folder = OpenFolder::new("across");
    let ours = folder.path("ours");
    std::fs::write(&ours, "").unwrap();
    assert_eq!(take(&ours, Path::new("/proc/version")), Err(Errno::XDEV), "another file system");
    assert!(folder.names().is_empty());
}

#[test]
fn a_free_name_is_taken_and_the_second_name_is_not_guessed() {
    let folder = OpenFolder::new("free");
    let path = folder.path("sock");
    let names = [name_beside(&path).unwrap(), name_beside(&path).unwrap()];
    assert!(names[0] != names[1] && names.iter().all(|name| name.parent() == path.parent()));
    std::fs::write(&names[0], "").unwrap();
    assert_eq!(take(&names[0], &path), Ok(None));
    assert_eq!(folder.names(), ["sock"]);
}

#[test]
fn what_was_there_has_a_name() {
    for (path, name) in
        [("/dev/null", "a device"), ("/proc/self/status", "a file"), ("/", "a directory")]
    {
        let meta = std::fs::symlink_metadata(path).unwrap();
        assert_eq!(kind_of(&meta), name, "{path}");
    }
}
