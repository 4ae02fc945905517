//! Addresses, listening beside others, credentials, descriptors.

use std::ffi::OsString;
use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;

use super::address::defaults_from;
use super::stream::connect_tcp;
use super::*;

/// A directory of its own, gone afterwards.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("socket-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn address(&self, name: &str) -> Address {
        Address::Path(self.0.join(name))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn addresses() {
    let tcp = |host: &str, port| Ok(Address::Tcp { host: host.into(), port });
    let path = |path: &str| Ok(Address::Path(path.into()));
    let bad = |text: &str, reason| Err(AddressError { text: text.into(), reason });
    let long = |len| "x".repeat(len);
    const FORMS: &str = "an address is a path, @name, HOST:PORT or vsock://CID:PORT";
    const HOST: &str = "the host is neither a name nor a number: brackets surround one with `:`";
    const VSOCK: &str = "vsock://CID:PORT has two numbers of 32 bits";
    let cases = [
        ("@traced", Ok(Address::Abstract(b"traced".to_vec()))),
        ("/tmp/perfetto-producer", path("/tmp/perfetto-producer")),
        ("relative", path("relative")),
        ("127.0.0.1:32278", tcp("127.0.0.1", 32278)),
        ("localhost:0", tcp("localhost", 0)),
        ("[::1]:80", tcp("::1", 80)),
        ("/tmp/file:12", path("/tmp/file:12")),
        ("file:", path("file:")),
        ("file:12a", path("file:12a")),
        ("host:65536", bad("host:65536", "a port is a number up to 65535")),
        (":80", bad(":80", "the host is empty")),
        ("", bad("", "it is empty")),
        ("a\0b", bad("a\0b", "it contains a NUL byte")),
        ("@", bad("@", "an abstract name needs at least one byte after '@'")),
        ("[fe80::1%eth0]:80", tcp("fe80::1%eth0", 80)),
        ("tcp://127.0.0.1:80", bad("tcp://127.0.0.1:80", FORMS)),
        ("unix:///run/x", bad("unix:///run/x", FORMS)),
        ("vsock:2:80", bad("vsock:2:80", HOST)),
        ("unix:x:80", bad("unix:x:80", HOST)),
        ("vsock://2:80", Ok(Address::Vsock { cid: 2, port: 80 })),
        ("vsock://4294967295:0", Ok(Address::Vsock { cid: u32::MAX, port: 0 })),
        ("vsock://2", bad("vsock://2", VSOCK)),
        ("vsock://:80", bad("vsock://:80", VSOCK)),
        ("vsock://2:4294967296", bad("vsock://2:4294967296", VSOCK)),
        ("vsock://+2:80", bad("vsock://+2:80", VSOCK)),
    ];
    for (text, expected) in cases {
        assert_eq!(Address::parse(text), expected, "{text}");
        if let Ok(address) = expected {
            assert_eq!(address.to_string(), text);
            assert_eq!(OsString::from(&address), text);
        }
    }
    assert!(Address::parse(long(107)).is_ok());
    assert_eq!(
        Address::parse(long(108)).unwrap_err().reason,
        "a socket path has at most 107 bytes"
    );
    assert!(Address::parse(format!("@{}", long(107))).is_ok());
    assert!(Address::parse(format!("@{}", long(108))).is_err());
    let list = Address::parse_list("/a,@b,127.0.0.1:1").unwrap();
    assert_eq!(
        list.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["/a", "@b", "127.0.0.1:1"]
    );
    assert!(Address::parse_list("/a,,b").is_err());
}

#[test]
fn where_to_look_for_the_daemon() {
    let pick = |producer: Option<&str>, consumer: Option<&str>, run: Result<(), Errno>| {
        let found = defaults_from(
            producer.map(Into::into),
            consumer.map(Into::into),
            run.map_err(Into::into),
        );
        let text = |name: OsString| name.into_string().unwrap();
        (text(found.producer), text(found.consumer), found.warning.is_some())
    };
    let run = ("/run/perfetto/traced-producer.sock", "/run/perfetto/traced-consumer.sock");
    let tmp = ("/tmp/perfetto-producer", "/tmp/perfetto-consumer");
    let names = |(p, c): (&str, &str), warning| (p.to_owned(), c.to_owned(), warning);
    assert_eq!(pick(None, None, Ok(())), names(run, false));
    assert_eq!(pick(None, None, Err(Errno::NOENT)), names(tmp, false));
    assert_eq!(pick(None, None, Err(Errno::ACCESS)), names(tmp, true));
    assert_eq!(pick(None, None, Err(Errno::NOTDIR)), names(tmp, true));
    assert_eq!(pick(Some("a,b"), None, Ok(())), names(("a,b", run.1), false));
    assert_eq!(pick(Some(""), Some("c"), Err(Errno::NOENT)), names((tmp.0, "c"), false));
    assert_eq!(pick(Some("p"), Some("c"), Err(Errno::ACCESS)), names(("p", "c"), false));
}

#[test]
fn a_second_listener_is_refused_and_the_first_lives_on() {
    let dir = Dir::new("second");
    for address in [dir.address("sock"), Address::Abstract(format!("{}", dir.0.display()).into())] {
        let first = Listener::bind(&address).unwrap();
        assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::InUse(address.clone()));
        let _client = Stream::connect(&address).unwrap();
        // The probe of the second is the first connection, on a file.
        assert!(first.accept().unwrap().is_some());
        drop(first);
        Listener::bind(&address).unwrap();
    }
}

#[test]
fn a_stale_socket_file_is_replaced_and_no_other_file_is() {
    let dir = Dir::new("stale");
    let address = dir.address("sock");
    let Address::Path(path) = &address else { unreachable!() };
    // Closed without being removed, as by `kill -9`.
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    assert!(path.exists());
    let listener = Listener::bind(&address).unwrap();
    Stream::connect(&address).unwrap();
    drop(listener);
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 0, "removed at the end, with its lock");

    std::fs::write(path, "precious").unwrap();
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::NotASocket(address.clone()));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
    std::fs::remove_file(path).unwrap();

    // A file that another process has bound after the removal of ours stays.
    let listener = Listener::bind(&address).unwrap();
    std::fs::remove_file(path).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(path).unwrap();
    drop(listener);
    assert!(path.exists());

    let nowhere = Address::Path(dir.0.join("no/such/dir/sock"));
    assert!(matches!(Listener::bind(&nowhere), Err(ListenError::Os { .. })));
}

/// The name of the lock is no secret, and every user can bind every abstract name.
#[test]
fn an_abstract_socket_keeps_nobody_from_starting() {
    use std::os::unix::fs::MetadataExt;
    let dir = Dir::new("abstract");
    let folder = std::fs::metadata(&dir.0).unwrap();
    let hash = b"sock".iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let name = format!("perfetto-listen-{:x}-{:x}-{hash:016x}", folder.dev(), folder.ino());
    let _squatter = Listener::bind(&Address::Abstract(name.into())).unwrap();
    Listener::bind(&dir.address("sock")).unwrap();
}

#[test]
fn a_socket_of_a_daemon_without_the_lock_is_not_replaced() {
    let dir = Dir::new("other");
    let address = dir.address("sock");
    let Address::Path(path) = &address else { unreachable!() };
    let other = std::os::unix::net::UnixListener::bind(path).unwrap();
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::InUse(address.clone()));
    assert!(other.accept().is_ok());
    assert!(!dir.0.join("sock.lock").exists());
    // Until its queue is full: then a connection attempt fails, although it listens.
    rustix::net::listen(&other, 0).unwrap();
    let mut waiting = Vec::new();
    while let Ok(client) = try_connect(path) {
        waiting.push(client);
    }
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::InUse(address.clone()));
    assert!(path.exists());
}

/// Connects without waiting for a place in the queue.
fn try_connect(path: &std::path::Path) -> Result<OwnedFd, Errno> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let fd = rustix::net::socket_with(family, kind, SocketFlags::NONBLOCK, None)?;
    rustix::net::connect(&fd, &SocketAddrUnix::new(path)?)?;
    Ok(fd)
}

/// A service that holds the lock listens at the address, or is about to.
#[test]
fn a_held_lock_is_refused() {
    let dir = Dir::new("held");
    let address = dir.address("sock");
    let Address::Path(path) = &address else { unreachable!() };
    let lock = super::lock::Lock::take(path).unwrap();
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::Starting(address.clone()));
    drop(lock);
    std::os::unix::fs::symlink("nowhere", dir.0.join("sock.lock")).unwrap();
    let error = Listener::bind(&address).unwrap_err().to_string();
    assert!(error.contains("sock.lock belongs to user"), "{error}");
    assert!(error.contains("has to remove it"), "{error}");
}

#[test]
fn of_many_that_start_at_once_one_wins() {
    let dir = Dir::new("race");
    let address = dir.address("sock");
    for round in 0..20 {
        if round % 2 == 1 {
            let Address::Path(path) = &address else { unreachable!() };
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        }
        let barrier = std::sync::Barrier::new(8);
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        Listener::bind(&address)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<_> = results.iter().flatten().collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let client = Stream::connect(&address).unwrap();
        client.send(&[IoSlice::new(b"to the winner")], None).unwrap();
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(matches!(error, ListenError::InUse(_) | ListenError::Starting(_)), "{error}");
        }
    }
}

#[test]
fn the_kernel_tells_who_connected() {
    let dir = Dir::new("cred");
    let listener = Listener::bind(&dir.address("sock")).unwrap();
    assert!(listener.accept().unwrap().is_none());
    let client = Stream::connect(listener.address()).unwrap();
    let accepted = listener.accept().unwrap().unwrap();
    drop(client);
    let uid = crate::process::effective_uid();
    let gid = rustix::process::getegid().as_raw();
    let us = Credentials { uid, gid, pid: Some(crate::process::pid()) };
    assert_eq!(accepted.credentials().unwrap(), us, "also after it left");
    assert!(matches!(accepted.receive(&mut [0; 8]).unwrap(), Received::End));
}

#[test]
fn tcp_carries_bytes_and_drops_descriptors() {
    let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    let listener = Listener::bind(&address).unwrap();
    let client = Stream::connect(&address).unwrap();
    let fd = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(client.send(&[IoSlice::new(b"hi")], Some(fd.as_fd())).unwrap(), 2);
    let accepted = std::iter::repeat_with(|| listener.accept().unwrap()).flatten().next().unwrap();
    assert_eq!(accepted.credentials().unwrap(), Credentials { uid: 0, gid: 0, pid: None });
    assert!(!accepted.is_unix());
    let mut buf = [0; 8];
    loop {
        match accepted.receive(&mut buf).unwrap() {
            Received::Nothing => {}
            Received::Bytes(count, fd) => {
                assert_eq!((&buf[..count], fd.is_none()), (&b"hi"[..], true));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    let refused = Listener::bind(&address).unwrap_err();
    assert_eq!(refused, ListenError::InUse(address));
}

/// A port of this machine that nobody else can take, and where nobody listens.
fn silent_port() -> (OwnedFd, u16) {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, socket};
    let fd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&fd, &SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = SocketAddrV4::try_from(getsockname(&fd).unwrap()).unwrap().port();
    (fd, port)
}

#[test]
fn a_machine_that_refuses_did_not_take_too_long() {
    let (_taken, port) = silent_port();
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    let error = Stream::connect(&address).unwrap_err();
    assert_eq!(error.errno, libc::ECONNREFUSED, "{error}");
}

/// The system takes no timeout of zero.
#[test]
fn without_time_left_no_machine_is_asked() {
    let (_taken, port) = silent_port();
    let error = connect_tcp("127.0.0.1", port, std::time::Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::HostUnreachable, "{error}");
}

/// How many descriptors of this process are of `path`.
fn open_descriptors(path: &std::path::Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    all.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|of| of == path)).count()
}

#[test]
fn descriptors_pass_once_and_do_not_leak() {
    let (a, b) = Stream::pair().unwrap();
    let dir = Dir::new("leak");
    let path = dir.0.canonicalize().unwrap().join("file");
    let file = std::fs::File::create_new(&path).unwrap();
    let mut buf = [0; 64];
    for _ in 0..100 {
        assert_eq!(
            a.send(&[IoSlice::new(b"x"), IoSlice::new(b"yz")], Some(file.as_fd())).unwrap(),
            3
        );
        let Received::Bytes(3, Some(fd)) = b.receive(&mut buf).unwrap() else { panic!("no fd") };
        assert!(rustix::io::fcntl_getfd(&fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        let same = rustix::fs::fstat(&fd).unwrap();
        assert_eq!(same.st_ino, rustix::fs::fstat(&file).unwrap().st_ino);
        // Not received at all: the kernel closes it with the bytes.
        assert_eq!(b.send(&[IoSlice::new(b"back")], Some(fd.as_fd())).unwrap(), 4);
        assert!(matches!(a.receive(&mut buf[..2]).unwrap(), Received::Bytes(2, Some(_))));
        assert!(matches!(a.receive(&mut buf[..2]).unwrap(), Received::Bytes(2, None)));
    }
    assert!(matches!(b.receive(&mut buf).unwrap(), Received::Nothing));
    assert_eq!(open_descriptors(&path), 1);
}

/// Sends a byte with up to three descriptors.
fn send(stream: &Stream, fds: &[std::os::fd::BorrowedFd<'_>]) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
    sendmsg(stream, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
}

#[test]
fn of_two_descriptors_the_first_is_kept_and_three_cut_the_connection() {
    let (a, b) = Stream::pair().unwrap();
    let files: Vec<OwnedFd> = ["/proc/self/exe", "/dev/null", "/dev/zero"]
        .iter()
        .map(|path| std::fs::File::open(path).unwrap().into())
        .collect();
    let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut buf = [0; 8];
    send(&a, &fds[..2]);
    let Received::Bytes(1, Some(fd)) = b.receive(&mut buf).unwrap() else { panic!("no fd") };
    let inode = |fd: &OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
    assert_eq!(inode(&fd), inode(&files[0]));
    send(&a, &fds);
    assert!(matches!(b.receive(&mut buf).unwrap(), Received::LostDescriptors));
}

#[test]
fn a_full_socket_takes_what_fits_and_a_dead_one_says_so() {
    let (a, b) = Stream::pair().unwrap();
    let big = vec![1; 1 << 20];
    let mut sent = 0;
    loop {
        match a.send(&[IoSlice::new(&big)], None).unwrap() {
            0 => break,
            some => sent += some,
        }
    }
    assert!(sent > 0);
    let (mut buf, mut got) = (vec![0; 1 << 16], 0);
    while got < sent {
        let Received::Bytes(count, None) = b.receive(&mut buf).unwrap() else { panic!("lost") };
        got += count;
    }
    b.shutdown();
    assert!(a.send(&[IoSlice::new(b"x")], None).is_err(), "and no SIGPIPE");
}

/// A machine without virtual sockets says so; one that has them carries bytes.
#[test]
fn virtual_sockets() {
    let address = Address::Vsock { cid: 1, port: 0x5f00_0000 | std::process::id() };
    let listener = match Listener::bind(&address) {
        Ok(listener) => listener,
        Err(error) => {
            assert!(matches!(error, ListenError::Os { .. }), "{error}");
            return;
        }
    };
    assert_eq!(Listener::bind(&address).unwrap_err(), ListenError::InUse(address.clone()));
    // Without a transport for this machine itself, no connection can be made.
    let Ok(client) = Stream::connect(&address) else { return };
    let server = loop {
        if let Some(server) = listener.accept().unwrap() {
            break server;
        }
    };
    assert!(!server.is_unix());
    assert_eq!(client.send(&[IoSlice::new(b"hello")], None).unwrap(), 5);
    let mut buf = [0; 16];
    loop {
        match server.receive(&mut buf).unwrap() {
            Received::Bytes(5, None) => break,
            Received::Nothing => std::thread::yield_now(),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(&buf[..5], b"hello");
    assert_eq!(server.peer_machine(), "vsock:1");
}

#[test]
fn inherited_sockets_are_listened_on_and_left_behind() {
    let directory = Dir::new("inherited");
    let address = directory.address("socket");
    let Address::Path(path) = &address else { unreachable!() };
    let made = std::os::unix::net::UnixListener::bind(path).unwrap();
    let listener = Listener::inherit(made.into()).unwrap();
    assert_eq!(*listener.address(), address);
    let client = Stream::connect(&address).unwrap();
    let server = listener.accept().unwrap().expect("it listens");
    assert_eq!(client.send(&[IoSlice::new(b"x")], None).unwrap(), 1);
    assert!(server.is_unix());
    // Not ours to change or to remove.
    listener.set_permissions(0, 0).unwrap();
    drop(listener);
    assert!(path.exists());
    let datagrams = std::os::unix::net::UnixDatagram::unbound().unwrap();
    assert!(Listener::inherit(datagrams.into()).is_err());
    // These can be listened on, too.
    let (family, kind) = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET);
    let packets = rustix::net::socket(family, kind, None).unwrap();
    let name = rustix::net::SocketAddrUnix::new(directory.0.join("packets")).unwrap();
    rustix::net::bind(&packets, &name).unwrap();
    assert!(Listener::inherit(packets).is_err());
}

/// What connected before this process listened may have descriptors in its queue, and what connects later has none.
#[test]
fn an_inherited_socket_takes_no_descriptors_before_the_connection_is_accepted() {
    let directory = Dir::new("descriptors");
    let address = directory.address("socket");
    let Address::Path(path) = &address else { unreachable!() };
    let made = std::os::unix::net::UnixListener::bind(path).unwrap();
    let other_owner = made.try_clone().unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let connect = |passes: bool| {
        let client = Stream::connect(&address).unwrap();
        let sent = client.send(&[IoSlice::new(b"x")], Some(file.as_fd()));
        assert_eq!(sent.is_ok(), passes, "{sent:?}");
        client
    };
    let early = connect(true);
    let listener = Listener::inherit(made.into()).unwrap();
    if crate::sys::option(listener.as_fd(), 83).is_err() {
        return; // A kernel before 6.16.
    }
    let late = connect(false);
    let servers = [(); 2].map(|()| listener.accept().unwrap().expect("it listens"));
    assert_eq!(servers.each_ref().map(Stream::has_no_descriptors), [false, true]);
    servers[1].take_descriptors(true);
    assert_eq!(late.send(&[IoSlice::new(b"x")], Some(file.as_fd())).unwrap(), 1);
    drop((listener, servers, early));
    // The other owner gets the socket back as it was.
    let _client = connect(true);
    drop(other_owner);
}

/// systemd sets these options on sockets with `PassCredentials=yes` and the like.
#[test]
fn options_that_add_control_messages_are_switched_off() {
    for option in [libc::SO_PASSCRED, crate::sys::SO_PASSPIDFD] {
        let directory = Dir::new("options");
        let address = directory.address("socket");
        let Address::Path(path) = &address else { unreachable!() };
        let made = std::os::unix::net::UnixListener::bind(path).unwrap();
        if crate::sys::set_option(made.as_fd(), option, 1).is_err() {
            continue; // This kernel does not have it.
        }
        let listener = Listener::inherit(made.into()).unwrap();
        let client = Stream::connect(&address).unwrap();
        let server = listener.accept().unwrap().expect("it listens");
        server.take_descriptors(true);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(client.send(&[IoSlice::new(b"x")], Some(file.as_fd())).unwrap(), 1);
        let message = crate::sys::receive(server.as_fd(), &mut [0; 8]).unwrap();
        assert!(message.fd.is_some() && !message.lost_descriptors, "option {option}");
    }
}

/// Nobody accepts, and a connection that waits fills the queue: a client must not wait with it for ever.
#[test]
fn a_full_queue_stops_no_client() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let dir = Dir::new("full");
    let address = dir.address("socket");
    let Address::Path(path) = &address else { unreachable!() };
    let listener = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        match Stream::connect(&address) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
    };
    assert!(!waiting.is_empty());
    assert_eq!(full.errno, libc::EAGAIN, "{full}");
    let short = std::time::Duration::from_millis(1);
    let after = Stream::connect_within(&address, short).unwrap_err();
    assert_eq!(after.errno, libc::EAGAIN, "{after}");
    // Somebody accepts, so there is room.
    let long = std::time::Duration::from_secs(600);
    let connected = std::thread::scope(|scope| {
        let connected = scope.spawn(|| Stream::connect_within(&address, long));
        let _accepted = rustix::net::accept(&listener).unwrap();
        connected.join().unwrap()
    });
    connected.unwrap();
}

/// Names that do not fit into the structure of the kernel, or end in the middle of a path.
#[test]
fn names_of_sockets_that_cannot_be() {
    for address in [
        Address::Path(PathBuf::from("x".repeat(108))),
        Address::Path(PathBuf::from("a\0b")),
        Address::Abstract(vec![b'x'; 108]),
    ] {
        let error = Stream::connect(&address).unwrap_err();
        assert_eq!(error.errno, libc::ENAMETOOLONG, "{error}");
    }
    let mut name = format!("longest-{}-", std::process::id()).into_bytes();
    name.resize(107, b'x');
    let longest = Address::Abstract(name);
    let listener = Listener::bind(&longest).unwrap();
    Stream::connect(&longest).unwrap();
    drop(listener);
    assert_eq!(Stream::connect(&longest).unwrap_err().errno, libc::ECONNREFUSED);
}

/// Only root can be another user. For others their own service is the one at hand.
#[test]
fn a_squatter_at_the_default_socket_is_refused() {
    let path = super::address::TMP_CONSUMER;
    let _ = std::fs::remove_file(path);
    let is_root = !skip::without_root("a_squatter_at_the_default_socket_is_refused");
    let listener = std::thread::spawn(move || {
        if is_root {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(None, nobody, None).unwrap();
        }
        // The kernel takes the user that listens for the service.
        std::os::unix::net::UnixListener::bind(path).unwrap()
    });
    let listener = listener.join().unwrap();
    let connected = Stream::connect(&Address::parse(path).unwrap()).map(drop);
    std::fs::remove_file(path).unwrap();
    drop(listener);
    match connected {
        Err(error) => assert!(is_root && error.to_string().contains("of user 65534"), "{error}"),
        Ok(()) => assert!(!is_root),
    }
}

/// What a daemon does not take of a message stays in the socket: the kernel must close it in no call of this thread.
#[test]
fn descriptors_that_are_not_taken_stay_open() {
    let (ends, files): (Vec<_>, Vec<OwnedFd>) =
        (0..3).map(|_| std::io::pipe().unwrap()).map(|(end, file)| (end, file.into())).unzip();
    let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    for (openable, count, taken, spare_count) in [
        (Openable::Any, 0, Some(false), 0),
        (Openable::Any, 1, Some(true), 0),
        (Openable::Any, 2, Some(true), 1),
        (Openable::Any, 3, None, 3),
        (Openable::Two, 0, Some(false), 0),
        // Those that were looked at, and the second one.
        (Openable::Two, 1, Some(true), 1),
        (Openable::Two, 2, Some(true), 2 + 1),
        (Openable::Two, 3, None, 2),
        (Openable::Nothing, 0, Some(false), 0),
        (Openable::Nothing, 1, None, 0),
    ] {
        let (a, b) = Stream::pair().unwrap();
        assert_eq!(a.send(&[IoSlice::new(b"before")], None).unwrap(), 6);
        send(&a, &fds[..count]);
        let mut spare = Vec::new();
        let mut buf = [0; 8];
        let mut next = || b.receive_all(&mut buf, openable, &mut spare).unwrap();
        match (next(), taken) {
            (Received::Bytes(7, fd), Some(some)) => assert_eq!(fd.is_some(), some, "{openable:?}"),
            (Received::LostDescriptors, None) => {}
            other => panic!("{openable:?} {count}: {other:?}"),
        }
        assert!(taken.is_none() || matches!(next(), Received::Nothing));
        // The kernel looks at one more where the memory for two has a gap for alignment.
        let most = spare_count + usize::from(openable == Openable::Two && count == 3);
        assert!((spare_count..=most).contains(&spare.len()), "{openable:?} {count}");
    }
    drop(ends);
}
