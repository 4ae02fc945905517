use std::fs::File;
use std::io::Seek;

use super::output::{append_packets, take_back_cut};
use super::*;
use crate::system::file::CutShort;
use service::Input;

/// The user of the service.
const OWN_UID: u32 = 500;

fn threaded() -> Files {
    Files::new(Wake::new().unwrap(), OwnUser::new(OWN_UID), true)
}

/// What `append_packets` leaves of a trace when the file takes only so many bytes of it.
fn cut_at(limit: usize) -> Vec<u8> {
    let trace = [b"\x0a\x03abc".as_slice(), b"\x0a\x00", b"\x0a\x05defgh"].concat();
    let path = std::env::temp_dir().join(format!("cut-{}-{limit}", std::process::id()));
    let mut options = File::options();
    let mut open = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::io::Write::write_all(&mut open, b"before").unwrap();
    std::io::Write::write_all(&mut open, &trace[..limit]).unwrap();
    assert_eq!(open.stream_position().unwrap(), 6 + limit as u64);
    let error = abi::error::OsError::new("write", 28);
    let file = OutputFile::from_fd(open.into());
    take_back_cut(&file, &trace, &CutShort { written: limit, error });
    let left = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    left[6..].to_vec()
}

#[test]
fn a_packet_that_was_cut_is_taken_back() {
    for (limit, left) in [(0, 0), (1, 0), (4, 0), (5, 5), (6, 5), (7, 7), (10, 7), (14, 14)] {
        assert_eq!(cut_at(limit).len(), left, "{limit}");
    }
}

#[test]
fn what_no_room_is_left_for_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let error = append_packets(&OutputFile::from_fd(full.into()), b"\x0a\x00").unwrap_err();
    assert!(error.text.contains("No space left"), "{error:?}");
}

/// The next answer. Those that came with it are dropped.
fn answer(files: &mut Files) -> Input {
    loop {
        if let Some(answer) = files.take_finished().answers.into_iter().next() {
            return answer;
        }
        std::thread::yield_now();
    }
}

/// A file that was created counts for its user, as one that was passed.
#[test]
#[cfg(feature = "host")]
fn files_that_are_created_count() {
    let mut files = threaded();
    files.limit(Resources::of_descriptors(0));
    let folder = std::env::temp_dir().join(format!("created-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut create = |uid, name: usize| {
        let path = folder.join(name.to_string()).to_str().unwrap().to_owned();
        files.create(NewFile { token: ShellToken::new(1), path, uid, rights: Rights::Daemon });
        let Input::FileCreated { result, .. } = answer(&mut files) else { panic!("no answer") };
        result.map(drop).map_err(|error| error.text)
    };
    let of_one: Vec<_> = (0..FILES_PER_USER_MIN).map(|name| create(7, name)).collect();
    assert!(of_one.iter().all(Result::is_ok), "{of_one:?}");
    assert_eq!(create(7, 10), Err(format!("{TOO_MANY} (user 7)")));
    assert_eq!(create(8, 11), Ok(()));
    let min = FILES_PER_USER_MIN as u64;
    assert_eq!(files.of_user(7), Usage { held: min, max: min, refused: Some(1) });
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The thread of a file cannot take the rights of its user: the session learns why nothing is written.
#[test]
#[cfg(feature = "host")]
fn rights_that_cannot_be_taken_are_an_error() {
    use crate::system::closer::{Closer, Origin};
    let mut files = threaded();
    // More groups than a process may have.
    let identity = Identity { uid: 7, gid: 7, groups: vec![7; 70_000] };
    let origin = Origin { client: abi::ids::ClientId::new(1), uid: 7 };
    let null = File::options().write(true).open("/dev/null").unwrap();
    let fd = PeerFd::received(null.into(), &Closer::default(), origin);
    let id = files.adopt_from_peer(fd, Rights::Of(identity)).unwrap();
    files.write(id, Bytes::from_static(b"\x0a\x00"), FileSync::No, false);
    let Input::FileWritten { result: Err(error), .. } = answer(&mut files) else {
        panic!("it was written")
    };
    assert!(error.text.contains("cannot take the rights of user 7"), "{error:?}");
}

/// The pages of a memfd are memory of the daemon, also after the session.
#[test]
#[cfg(feature = "host")]
fn what_is_written_into_memory_is_limited() {
    use crate::system::closer::{Closer, Origin};
    use rustix::fs::{MemfdFlags, memfd_create};
    let mut files = threaded();
    // Of which one user may have 1 MiB.
    files.limit(Resources { descriptors: 1 << 20, memory_bytes: 32 << 20 });
    let closer = Closer::default();
    let mut write = |uid, kib: usize| {
        let origin = Origin { client: abi::ids::ClientId::new(1), uid };
        let memfd = memfd_create("trace", MemfdFlags::CLOEXEC).unwrap();
        let fd = PeerFd::received(memfd, &closer, origin);
        let id = files.adopt_from_peer(fd, Rights::Daemon).unwrap();
        files.write(id, vec![0; kib << 10].into(), FileSync::No, true);
        let Input::FileWritten { result, .. } = answer(&mut files) else { panic!("no answer") };
        result.map_err(|error| error.text)
    };
    assert_eq!(write(7, 512), Ok(()));
    let error = write(7, 512).unwrap_err();
    assert!(error.contains("files in memory") && error.contains("of user 7"), "{error}");
    assert!(error.contains("write to a file on a disk, or read the session without"), "{error}");
    assert_eq!([write(8, 512), write(OWN_UID, 4096), write(0, 4096)], [Ok(()), Ok(()), Ok(())]);
    let of_user = files.memory_of_user(7).unwrap();
    assert!(of_user.held > 0);
    assert_eq!(of_user, Usage { max: 1 << 20, refused: Some(1), ..of_user });
    assert_eq!(files.memory_of_user(OWN_UID), None);
    assert!(files.users().any(|uid| uid == 7) && files.memory_of_users().held > 1 << 20);
    // What the service creates, or copies for a clone, is charged, too.
    let folder = std::path::Path::new("/dev/shm");
    if folder.exists() {
        let path = folder.join(format!("in-memory-{}", std::process::id()));
        let name = path.to_str().unwrap().to_owned();
        files.create(NewFile {
            token: ShellToken::new(1),
            path: name,
            uid: 7,
            rights: Rights::Daemon,
        });
        let Input::FileCreated { result, .. } = answer(&mut files) else { panic!("no answer") };
        let id = result.unwrap();
        let source = files.adopt(file_of("source", &[0; 600 << 10]).into());
        files.copy(source, id);
        let Input::FileWritten { result, .. } = answer(&mut files) else { panic!("no answer") };
        assert!(result.unwrap_err().text.contains("files in memory"));
        std::fs::remove_file(&path).unwrap();
    }
}

/// Data that no file takes is memory of the daemon, too.
#[test]
#[cfg(feature = "host")]
fn data_that_waits_to_be_written_is_limited() {
    use crate::system::closer::{Closer, Origin};
    let mut files = threaded();
    // Of which 4 MiB may wait.
    files.limit(Resources { descriptors: 1 << 20, memory_bytes: 512 << 20 });
    let pipes: Vec<_> = (0..4).map(|_| std::io::pipe().unwrap()).collect();
    let closer = Closer::default();
    let mut adopt = |writer: &std::io::PipeWriter| {
        let origin = Origin { client: abi::ids::ClientId::new(1), uid: 7 };
        let fd = PeerFd::received(writer.try_clone().unwrap().into(), &closer, origin);
        files.adopt_from_peer(fd, Rights::Daemon).unwrap()
    };
    let ids: Vec<_> = pipes.iter().map(|(_, writer)| adopt(writer)).collect();
    let piece = |kib: usize| Bytes::from(vec![0; kib << 10]);
    // Nobody reads the pipes.
    files.write(ids[0], piece(1500), FileSync::No, false);
    files.write(ids[1], piece(1500), FileSync::No, false);
    files.write(ids[2], piece(512), FileSync::No, false);
    files.write(ids[3], piece(512), FileSync::No, false);
    files.write(ids[3], piece(1500), FileSync::No, false);
    let Input::FileWritten { file, result } = answer(&mut files) else { panic!("no answer") };
    let error = result.unwrap_err().text;
    assert!(error.contains("wait to be written into files of user 7, and with"), "{error}");
    let refused = |files: &Files| files.memory_of_user(7).and_then(|of| of.refused);
    assert_eq!((file, refused(&files)), (ids[3], Some(1)));
    // Files without a limit.
    let own = files.adopt(pipes[0].1.try_clone().unwrap().into());
    files.write(own, piece(9000), FileSync::No, false);
    let is_of_own =
        |answer: &Input| matches!(answer, Input::FileWritten { file, .. } if *file == own);
    assert!(!files.take_finished().answers.iter().any(is_of_own));
    assert_eq!(refused(&files), Some(1));
    // All that was given up is free, the write before the one that was refused, too.
    ids[..3].iter().for_each(|id| files.abandon(*id));
    files.abandon(own);
    while files.of_user(7).held > 0 || files.in_memory.waiting() > 0 {
        std::thread::yield_now();
    }
}

/// A user whose file system does not answer cannot take more than a few threads, and nothing from others.
#[test]
fn files_being_created_are_limited() {
    let mut files = threaded();
    let new = |uid: u32| {
        let path = "/nowhere/trace".into();
        NewFile { token: ShellToken::new(uid.into()), path, uid, rights: Rights::Daemon }
    };
    for _ in 0..FILES_BEING_CREATED_PER_UID_MAX {
        let id = files.next_id();
        files.creating.insert(id, 7);
    }
    files.create(new(7));
    let answers = files.take_finished().answers;
    let [Input::FileCreated { token, result: Err(error) }] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!(token.get(), 7);
    assert!(error.text.contains("4 files of user 7 are being created"), "{error:?}");
    files.create(new(8));
    assert_eq!(files.creating.len(), FILES_BEING_CREATED_PER_UID_MAX + 1);
    let answer = answer(&mut files);
    // When its last thread ends, this is closed.
    files.alive = None;
    assert_eq!(files.ended.recv(), None);
    let Input::FileCreated { token, result: Err(_) } = answer else { panic!("{answer:?}") };
    assert_eq!(token.get(), 8);
    assert_eq!((files.creating.len(), files.open.len()), (FILES_BEING_CREATED_PER_UID_MAX, 0));
}

/// Each file of a consumer has a thread. A user with as many as there may be takes none from others.
#[test]
#[cfg(feature = "host")]
fn files_of_one_user_are_limited() {
    use crate::system::closer::{Closer, Origin};
    let mut files = threaded();
    let closer = Closer::default();
    let mut adopt = |uid| {
        let null = File::options().write(true).open("/dev/null").unwrap();
        let origin = Origin { client: abi::ids::ClientId::new(1), uid };
        files.adopt_from_peer(PeerFd::received(null.into(), &closer, origin), Rights::Daemon)
    };
    let of_one: Vec<_> = (0..FILES_PER_USER_MAX).filter_map(|_| adopt(7).ok()).collect();
    assert_eq!(of_one.len(), FILES_PER_USER_MAX);
    assert_eq!(adopt(7), Err(TOO_MANY));
    let other = adopt(8).unwrap();
    // A file that is closed makes a place for another one, once its thread has ended.
    for id in of_one.into_iter().chain([other]) {
        files.abandon(id);
    }
    files.alive = None;
    assert_eq!(files.ended.recv(), None);
    let null = File::options().write(true).open("/dev/null").unwrap();
    let origin = Origin { client: abi::ids::ClientId::new(1), uid: 7 };
    assert!(
        files
            .adopt_from_peer(PeerFd::received(null.into(), &closer, origin), Rights::Daemon)
            .is_ok()
    );
}

/// Files that never end: a few users must not use up the threads of the daemon.
#[test]
#[cfg(feature = "host")]
fn files_of_all_users_are_limited() {
    use crate::system::closer::{Closer, Origin};
    let mut files = threaded();
    let closer = Closer::default();
    let mut adopt = |uid, count: usize| {
        let origin = Origin { client: abi::ids::ClientId::new(1), uid };
        let adopted = (0..count).filter(|_| {
            let null = File::options().write(true).open("/dev/null").unwrap();
            let fd = PeerFd::received(null.into(), &closer, origin);
            files.adopt_from_peer(fd, Rights::Daemon).is_ok()
        });
        adopted.count()
    };
    let users = 1..=(FILES_OF_USERS_MAX / FILES_PER_USER_MAX) as u32;
    assert!(users.clone().all(|uid| adopt(uid, FILES_PER_USER_MAX) == FILES_PER_USER_MAX));
    let more = FILES_OF_USERS_AT_FIRST_MAX - FILES_OF_USERS_MAX;
    let each: Vec<_> = (100..).take(more + 1).map(|uid| adopt(uid, 2)).collect();
    assert_eq!(each, [vec![1; more], vec![0]].concat(), "one for each user without a file");
    assert_eq!(adopt(0, 2 * FILES_PER_USER_MAX), FILES_PER_USER_MAX, "root has its own");
}

/// The kernel tells the receiver of some sockets who sends.
#[test]
#[cfg(feature = "host")]
fn sockets_that_tell_their_sender_are_refused() {
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    let own = rustix::process::geteuid().as_raw();
    let other = own + 7;
    let check = |fd: &dyn AsFd, uid| kind::check(fd.as_fd(), uid, OwnUser::new(own));
    let refused = |fd: &dyn AsFd| check(fd, other).err();
    let datagram = UnixDatagram::unbound().unwrap();
    assert!(refused(&datagram).unwrap().contains("no stream"));
    let (stream, _end) = UnixStream::pair().unwrap();
    assert!(refused(&stream).unwrap().contains("of another user"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_, pipe) = rustix::pipe::pipe().unwrap();
    let null = File::options().write(true).open("/dev/null").unwrap();
    assert_eq!([refused(&tcp), refused(&pipe), refused(&null)], [None; 3]);
    // Nobody is deceived.
    for uid in [own, 0] {
        assert_eq!(check(&datagram, uid), Ok(()));
    }
}

/// Where there are few descriptors, they are not all for the files of one user.
#[test]
#[cfg(feature = "host")]
fn files_of_a_user_are_a_share_of_the_descriptors() {
    let mut files = threaded();
    for (descriptors, share) in [(0, 4), (128, 16), (1 << 40, FILES_PER_USER_MAX)] {
        files.limit(Resources::of_descriptors(descriptors));
        assert_eq!(
            [7, OWN_UID, 0].map(|uid| files.of_user(uid).max as usize),
            [share, FILES_PER_USER_MAX, FILES_PER_USER_MAX]
        );
    }
    use crate::system::closer::{Closer, Origin};
    let closer = Closer::default();
    let adopt = |files: &mut Files| {
        let null = File::options().write(true).open("/dev/null").unwrap();
        let origin = Origin { client: abi::ids::ClientId::new(1), uid: 7 };
        files.adopt_from_peer(PeerFd::received(null.into(), &closer, origin), Rights::Daemon)
    };
    files.limit(Resources::of_descriptors(64));
    assert_eq!((0..20).filter_map(|_| adopt(&mut files).ok()).count(), 8);
}

/// A thread that writes to a pipe that is full ends when its file is dropped, also after the last write was asked for.
#[test]
fn a_pipe_that_nobody_reads_is_given_up() {
    for close in [false, true] {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut files = threaded();
        let id = files.adopt(writer);
        files.write(id, vec![0; 1 << 20].into(), FileSync::No, close);
        // As much as the pipe takes is there: the thread waits for room.
        let mut taken = vec![0; 4096];
        rustix::io::read(&reader, &mut taken).unwrap();
        assert_eq!(
            (files.open.len(), files.closing.len()),
            (usize::from(!close), usize::from(close))
        );
        files.abandon(id);
        files.alive = None;
        files.ended.recv_timeout(Duration::from_secs(60));
        assert!(files.ended.is_closed(), "close: {close}");
        files.take_finished();
        assert_eq!((files.open.len(), files.closing.len()), (0, 0));
        drop(reader);
    }
}

/// A file that was closed as usual is forgotten.
#[test]
fn a_file_whose_thread_has_ended_is_forgotten() {
    let mut files = threaded();
    let id = files.adopt(File::options().write(true).open("/dev/null").unwrap().into());
    files.write(id, Bytes::from_static(b"all"), FileSync::No, true);
    assert_eq!(files.closing.len(), 1);
    files.alive = None;
    assert_eq!(files.ended.recv(), None);
    files.take_finished();
    assert_eq!(files.closing.len(), 0);
}

#[test]
fn a_pipe_that_somebody_reads_gets_all() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let mut files = threaded();
    let id = files.adopt(writer);
    let data: Vec<u8> = (0..1_000_003_u32).map(|i| (i % 251) as u8).collect();
    files.write(id, data.clone().into(), FileSync::Wait, true);
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut File::from(reader), &mut all).unwrap();
    assert!(all == data);
}

#[test]
fn a_pipe_has_nothing_to_copy() {
    let (_reader, writer) = rustix::pipe::pipe().unwrap();
    assert!(OutputFile::from_fd(writer).share().is_err());
}

/// A regular file with these bytes, whose name is gone.
fn file_of(name: &str, bytes: &[u8]) -> File {
    let path = std::env::temp_dir().join(format!("file-{}-{name}", std::process::id()));
    let mut options = File::options();
    let mut file = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    file
}

#[test]
fn bytes_behind_the_last_write_stay() {
    let mut file = file_of("behind", b"0123456789");
    file.seek(std::io::SeekFrom::Start(5)).unwrap();
    let copy = file.try_clone().unwrap();
    assert!(OutputFile::from_fd(file.into()).take_back(2).is_err());
    assert_eq!(copy.metadata().unwrap().len(), 10);
}

#[test]
fn a_write_that_was_cancelled_writes_nothing() {
    let file = OutputFile::from_fd(file_of("cancelled", b"").into());
    file.append(b"before").unwrap();
    file.cancel().set();
    let cut = file.append(b"behind").unwrap_err();
    assert_eq!((cut.written, cut.error.errno), (0, libc::ECANCELED));
    assert_eq!(file.share().unwrap().1, 6);
}

/// Appends on a thread. Returns when the first write has found no room, or when the thread has ended.
fn append_to_full(output: OutputFile) -> std::thread::JoinHandle<Result<(), CutShort>> {
    let (tell, told) = std::sync::mpsc::channel();
    let written = std::thread::spawn(move || {
        tell.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
        output.append(&2_u64.to_ne_bytes())
    });
    let stat = std::path::Path::new("/proc").join(told.recv().unwrap()).join("stat");
    // `S`: it sleeps, until it tries again. An error: it has ended.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") S ")) {
        std::thread::yield_now();
    }
    written
}

/// The poller says that an eventfd takes a write, and the write finds no room. A pipe does the same if another process
/// fills it first.
#[test]
fn a_file_that_others_filled_is_written_to_when_it_has_room() {
    use rustix::event::{EventfdFlags, eventfd};
    let counter = || {
        let mut file = File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        std::io::Write::write_all(&mut file, &(u64::MAX - 2).to_ne_bytes()).unwrap();
        (file.try_clone().unwrap(), OutputFile::from_fd(file.into()))
    };
    let (mut full, output) = counter();
    let written = append_to_full(output);
    std::io::Read::read_exact(&mut full, &mut [0; 8]).unwrap();
    assert_eq!(written.join().unwrap(), Ok(()));
    let (_full, output) = counter();
    let cancel = output.cancel();
    let written = append_to_full(output);
    cancel.set();
    assert_eq!(written.join().unwrap().unwrap_err().error.errno, libc::ECANCELED);
}

/// A consumer may cut its file while it is copied.
#[test]
fn a_file_that_is_shorter_than_it_was_is_an_error() {
    let source = OutputFile::from_fd(file_of("short", b"abc").into());
    let copy = OutputFile::from_fd(file_of("copy", b"").into());
    assert_eq!(copy.append_from(&source, 10).unwrap_err().errno, libc::EIO);
    assert_eq!(copy.append_from(&source, 3), Ok(()));
    assert_eq!(copy.share().unwrap().1, 6);
}

/// Without threads the caller does the work, and has the answer at once.
#[test]
fn a_file_without_a_thread_is_created_by_its_caller() {
    let path = std::env::temp_dir().join(format!("created-alone-{}", std::process::id()));
    let mut files = Files::new(Wake::new().unwrap(), OwnUser::new(OWN_UID), false);
    let text = path.to_str().unwrap().to_owned();
    files.create(NewFile { token: ShellToken::new(1), path: text, uid: 7, rights: Rights::Daemon });
    assert_eq!(files.unthreaded.as_ref().map(Vec::len), Some(1));
    let answers = files.take_finished().answers;
    let [Input::FileCreated { token, result: Ok(_) }] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(token.get(), 1);
    std::fs::remove_file(&path).unwrap();
}

/// A thread may be set so that it keeps what it may when its user changes. Only root can set that.
#[test]
#[cfg(feature = "host")]
fn a_thread_that_stays_privileged_is_not_used() {
    use rustix::thread::{CapabilitiesSecureBits, set_capabilities_secure_bits};
    let identity = Identity { uid: 65534, gid: 65534, groups: Vec::new() };
    let assume = |bits: CapabilitiesSecureBits| {
        std::thread::scope(|scope| {
            let on_thread = || {
                set_capabilities_secure_bits(bits).ok()?;
                Some(identity.assume().map_err(|error| error.errno))
            };
            scope.spawn(on_thread).join().unwrap()
        })
    };
    let test = "a_thread_that_stays_privileged_is_not_used";
    if !skip::without_root(test) {
        let Some(kept) = assume(CapabilitiesSecureBits::NO_SETUID_FIXUP) else {
            return skip::test(test, "this user may not set the bits");
        };
        assert_eq!(kept, Err(libc::EPERM));
        assert_eq!(assume(CapabilitiesSecureBits::empty()), Some(Ok(())));
    }
}
