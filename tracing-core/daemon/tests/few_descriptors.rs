//! A daemon with few descriptors, and users that take as many as they can: it waits for no `close`, and root can connect.
//!
//! The limit is that of the process, so this is a program of its own. The users are in a second one, which it starts.
//! Only root can be other users: without it, all users are that of the daemon.

extern crate tracing_core_daemon as daemon;

mod slow;

use std::io::{IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit};

use client::consumer::Consumer;
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;
use slow::slow_to_close;

/// Says that this is the second program, and where the sockets are.
const ATTACK: &str = "FEW_DESCRIPTORS_ATTACK";
const LIMIT: u64 = 370;
/// Connections that only take descriptors.
const IDLE: usize = 70;
/// The most of one message.
const MESSAGE: usize = 253;
/// What the slowest machine needs for one answer. Only a loop that is blocked takes longer.
const ANSWER: Duration = Duration::from_secs(60);
const BIND_PRODUCER: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort";
const BIND_CONSUMER: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cConsumerPort";
/// Half of a frame: a descriptor that comes with it waits for the rest.
const HALF: &[u8] = b"\x12\0\0\0";

fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> bool {
    let mut space = [MaybeUninit::uninit(); 2048];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).is_ok()
}

/// A connection whose bind was answered. None if it is refused.
fn bound(socket: &Path, bind: &[u8]) -> Option<UnixStream> {
    let stream = UnixStream::connect(socket).ok()?;
    // None that waits for ever: the daemon may stand still.
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    (&stream).write_all(bind).ok()?;
    (&stream).read_exact(&mut [0; 4]).ok()?;
    Some(stream)
}

/// Sends descriptors of which `slow` take long to close, and those that the daemon cannot open if it can open few.
fn strike(stream: &UnixStream, count: usize, slow: usize) -> Vec<TcpStream> {
    let null = std::fs::File::open("/dev/null").unwrap();
    let (own, receivers): (Vec<_>, Vec<_>) = (0..slow).map(|_| slow_to_close()).unzip();
    let fast = std::iter::repeat_n(null.as_fd(), count - slow);
    let fds: Vec<_> = fast.chain(own.iter().map(AsFd::as_fd)).collect();
    send(stream, &[0; 4], &fds);
    std::thread::spawn(move || drop(own));
    receivers
}

/// What a user does; the result keeps it.
fn attack(directory: &Path, uid: u32) -> Vec<OwnedFd> {
    if geteuid().is_root() {
        // Of this thread alone.
        rustix::thread::set_thread_res_uid(None, Uid::from_raw(uid), None).unwrap();
    }
    let (producer, consumer) = (directory.join("producer"), directory.join("consumer"));
    let mut kept: Vec<OwnedFd> = Vec::new();
    let strikers = [(); 2].map(|()| bound(&producer, BIND_PRODUCER));
    // They send nothing, so the daemon only accepts them. The last one tells that it has.
    for _ in 0..IDLE {
        kept.extend(UnixStream::connect(&consumer).map(OwnedFd::from));
    }
    kept.extend(bound(&consumer, BIND_CONSUMER).map(OwnedFd::from));
    let mut receivers = Vec::new();
    for (striker, (count, slow)) in strikers.iter().flatten().zip([(43, 43), (MESSAGE, 20)]) {
        receivers.extend(strike(striker, count, slow));
        // Until the daemon has received it and closed the connection, or waits.
        striker.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        while (&*striker).read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    }
    // As many as the user may have, each with a descriptor that waits.
    kept.truncate(0);
    let null = std::fs::File::open("/dev/null").unwrap();
    for _ in 0..100 {
        let Some(stream) = bound(&consumer, BIND_CONSUMER) else { break };
        send(&stream, HALF, &[null.as_fd()]);
        kept.push(stream.into());
    }
    kept.extend(receivers.into_iter().map(OwnedFd::from));
    kept
}

/// The second program: ends with its input.
fn attackers(directory: &Path) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let users = [65532, 65533, 65534];
    let attack = |uid| std::thread::scope(|s| s.spawn(|| attack(directory, uid)).join().unwrap());
    let _kept: Vec<_> = users.map(attack).into_iter().collect();
    std::fs::write(directory.join("done"), "").unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

struct Attack(Child);

impl Attack {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--nocapture", "--test-threads=1"]).env(ATTACK, directory);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn assert_alive(directory: &Path) {
    let (tell, told) = mpsc::channel();
    let address = Address::Path(directory.join("consumer"));
    std::thread::spawn(move || {
        let mut consumer = Consumer::connect(&address).unwrap();
        consumer.query_service_state(false).unwrap();
        let _ = tell.send(());
    });
    told.recv_timeout(ANSWER).expect("the daemon waits for a close, or has no descriptor left");
}

#[test]
fn users_that_take_what_there_is() {
    if let Some(directory) = std::env::var_os(ATTACK) {
        return attackers(&PathBuf::from(directory));
    }
    skip::without_root("users_that_take_what_there_is, of other users");
    let directory = std::env::temp_dir().join(format!("few-descriptors-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let limit = Rlimit { current: Some(LIMIT), maximum: getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![Address::Path(directory.join("producer"))];
    options.consumer_sockets = vec![Address::Path(directory.join("consumer"))];
    let server = Server::bind(options).unwrap();
    for name in ["producer", "consumer"] {
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(directory.join(name), all).unwrap();
    }
    let service = InProcessService::run(server).unwrap();
    let mut attack = Attack::start(&directory);
    while !directory.join("done").exists() {
        assert!(attack.0.try_wait().unwrap().is_none(), "the other program has ended");
        std::thread::yield_now();
    }
    assert_alive(&directory);
    drop(attack);
    service.stop().unwrap();
    let _ = std::fs::remove_dir_all(&directory);
}
