use std::fs::{File, OpenOptions, Permissions, create_dir_all};
use std::io::ErrorKind::{self, PermissionDenied};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Confinement, Enforced, Folders, confine, gain_nothing, writable};

/// Names the folder of a process that confines itself.
const VARIABLE: &str = "TRACED_CONFINED_BELOW";

#[test]
fn traces_may_be_anywhere_but_among_the_system() {
    let root = tempfile::tempdir().unwrap();
    for folder in [
        "data",
        "efi",
        "esp",
        "etc",
        "gnu/store",
        "home/user",
        "lib64",
        "opt",
        "ostree/repo",
        "persist",
        "proc",
        "root",
        "srv",
        "sysroot",
        "tmp",
        "usr/lib",
        "var/tmp",
    ] {
        create_dir_all(root.path().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("usr", root.path().join("link")).unwrap();
    File::create(root.path().join("file")).unwrap();
    let expected = ["data", "dev/shm", "home", "srv", "tmp", "var/tmp"];
    assert_eq!(writable(root.path()), expected.map(|name| root.path().join(name)));
}

/// A kernel that has less than all is not told as one that has all.
#[test]
fn the_log_tells_what_is_not_enforced() {
    let line = |files| {
        let (traces, calls) = ("/tmp /srv".to_owned(), Ok(150));
        Confinement { privileges: Ok(()), files, traces, calls }.to_string()
    };
    let rest = ", consumers' only below /tmp /srv; 150 system calls by seccomp";
    assert_eq!(line(Ok(Enforced::All)), format!("Confined: landlock for files{rest}"));
    let part = line(Ok(Enforced::Part));
    assert!(part.starts_with("Confined in part: ") && part.ends_with(rest), "{part}");
    let none = line(Err("this kernel does not have it".to_owned()));
    assert!(none.starts_with("Not confined by landlock (this kernel"), "{none}");
    let (traces, calls) = ("/tmp".to_owned(), Ok(150));
    let privileges = Err("denied".to_owned());
    let all = Confinement { privileges, files: Ok(Enforced::All), traces, calls }.to_string();
    assert!(all.ends_with(" by seccomp; programs may give it privileges (denied)"), "{all}");
}

/// A property of a thread, so that other tests do not notice.
#[test]
fn privileges_are_given_up_without_landlock_and_seccomp() {
    let has_given_up = std::thread::spawn(|| {
        gain_nothing().unwrap();
        // As a thread of the service.
        std::thread::spawn(rustix::thread::no_new_privs).join().unwrap()
    });
    assert_eq!(has_given_up.join().unwrap(), Ok(true));
}

/// A confined process stays confined: this test starts itself again, and the second process tries everything.
#[test]
fn what_a_confined_process_cannot_do() {
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return confined(&PathBuf::from(folder));
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["traces", "sockets", "others"] {
        create_dir_all(folder.path().join(name)).unwrap();
        File::create(folder.path().join(name).join("file")).unwrap();
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    let name = "traced::confinement::tests::what_a_confined_process_cannot_do";
    again.args([name, "--exact", "--nocapture"]).env(VARIABLE, folder.path());
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("tried everything"), "{text}");
}

fn confined(folder: &Path) {
    let [traces, sockets, others] = ["traces", "sockets", "others"].map(|name| folder.join(name));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = UnixListener::bind(folder.join("socket")).unwrap();
    let pair = UnixDatagram::pair().unwrap();
    let receiver = UnixDatagram::bind(folder.join("datagrams")).unwrap();
    let folders = Folders { traces: vec![traces.clone()], sockets: vec![sockets.clone()] };
    let confinement = confine(&folders, gain_nothing()).to_string();
    assert!(confinement.starts_with("Confined: landlock for files, "), "{confinement}");
    assert!(confinement.ends_with(" system calls by seccomp"), "{confinement}");

    let create = |path: PathBuf| kind(&OpenOptions::new().create_new(true).write(true).open(path));
    let write = |path: PathBuf| kind(&OpenOptions::new().write(true).open(path));
    let remove = |path: PathBuf| kind(&std::fs::remove_file(path));
    assert_eq!(create(traces.join("new")), None);
    assert_eq!(create(sockets.join("new")), Some(PermissionDenied));
    assert_eq!(create(others.join("new")), Some(PermissionDenied));
    assert_eq!(write(traces.join("file")), None);
    assert_eq!(write(sockets.join("file")), Some(PermissionDenied));
    assert_eq!(write(others.join("file")), Some(PermissionDenied));
    assert_eq!(remove(traces.join("file")), Some(PermissionDenied));
    assert_eq!(remove(others.join("file")), Some(PermissionDenied));
    assert_eq!(remove(sockets.join("file")), None);
    assert_eq!(
        kind(&std::fs::read(others.join("file"))),
        None,
        "reading is left to the user's rights"
    );

    assert_eq!(kind(&Command::new("/bin/true").status()), Some(PermissionDenied), "a program");
    assert_eq!(kind(&TcpStream::connect(address)), Some(PermissionDenied), "a connection");
    // As to the socket of a service manager, which starts commands of root.
    let name = socket.local_addr().unwrap();
    let unix = UnixStream::connect(name.as_pathname().unwrap());
    assert_eq!(kind(&unix), Some(PermissionDenied), "a connection on this machine");
    let (datagram, _end) = pair;
    let connected = datagram.connect(name.as_pathname().unwrap());
    assert_eq!(kind(&connected), Some(PermissionDenied), "of a socket that it has");
    let sent = datagram.send_to(b"do it", folder.join("datagrams"));
    assert_eq!(kind(&sent), Some(PermissionDenied), "a datagram to an address");
    drop(receiver);
    let datagrams = UnixDatagram::pair();
    assert_eq!(kind(&datagrams), Some(PermissionDenied), "a socket that could send one");
    assert_eq!(kind(&UnixStream::pair()), None);

    let program = File::open(traces.join("new")).unwrap();
    let set_mode = |mode| kind(&program.set_permissions(Permissions::from_mode(mode)));
    assert_eq!(set_mode(0o644), None);
    let create = |name: &str, mode| {
        let path = traces.join(name);
        kind(&OpenOptions::new().create_new(true).write(true).mode(mode).open(path))
    };
    assert_eq!(create("a trace", 0o600), None);
    for special in [0o4755, 0o2755, 0o1755] {
        assert_eq!(set_mode(special), Some(PermissionDenied), "of a file that is there");
        assert_eq!(create("a program", special), Some(PermissionDenied));
    }
    let owner = rustix::process::Pid::INIT;
    let limit = rustix::process::Rlimit { current: Some(1), maximum: Some(1) };
    let of_other = rustix::process::prlimit(Some(owner), rustix::process::Resource::Core, limit);
    assert_eq!(of_other.err(), Some(rustix::io::Errno::PERM), "a limit of another process");
    let chroot = rustix::process::chroot(&traces);
    assert_eq!(chroot, Err(rustix::io::Errno::PERM), "a call that is not in the list");
    // The service starts threads.
    std::thread::spawn(|| ()).join().unwrap();
    println!("tried everything");
}

fn kind<T>(result: &std::io::Result<T>) -> Option<ErrorKind> {
    result.as_ref().err().map(std::io::Error::kind)
}
