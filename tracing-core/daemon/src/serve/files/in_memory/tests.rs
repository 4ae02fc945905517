use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{fcntl_setpipe_size, pipe};

use super::*;

const MIB: u64 = 1 << 20;
const OWN_UID: u32 = 500;

/// Accounts of a daemon with so much memory, where the kernel does not count.
fn uncounted(memory: u64) -> InMemory {
    InMemory::with(memory, OwnUser::new(OWN_UID), Box::new(|| None))
}

/// Accounts of a daemon with 320 MiB of memory, of which a user may have 10 MiB. The kernel counts what `counted` has;
/// if that is 0, it does not count.
fn accounts() -> (InMemory, Arc<AtomicU64>) {
    let counted = Arc::new(AtomicU64::new(0));
    let asked = Arc::clone(&counted);
    let measure = move || Some(asked.load(Ordering::Relaxed)).filter(|counted| *counted > 0);
    (InMemory::with(320 * MIB, OwnUser::new(OWN_UID), Box::new(measure)), counted)
}

impl InMemory {
    fn held(&self, uid: u32) -> u64 {
        lock(&self.0.state).users.get(&uid).copied().unwrap_or(0)
    }

    fn put(&self, uid: u32, bytes: u64) -> Result<(), Excess> {
        self.add(uid, bytes).map(drop)
    }
}

impl Charge {
    fn write(&self, file: BorrowedFd<'_>, bytes: u64) -> Result<(), Excess> {
        self.begin_write(file, bytes).map(drop)
    }
}

fn memfd() -> OwnedFd {
    memfd_create("trace", MemfdFlags::CLOEXEC).unwrap()
}

#[test]
fn a_user_has_a_part_of_the_memory_of_the_service() {
    let max = |memory| uncounted(memory).0.per_user;
    assert_eq!(max(16 << 30), 1 << 29);
    assert_eq!(max(0), 64 * MIB);
}

#[test]
fn pages_stay_on_the_account_of_their_user() {
    let (accounts, _) = accounts();
    let file = memfd();
    let charge = accounts.charge_of(7, file.as_fd()).unwrap();
    charge.write(file.as_fd(), 4 * MIB).unwrap();
    assert_eq!(accounts.held(7), 4 * MIB + PAGE_BYTES, "a page more: it may begin within one");
    charge.write(file.as_fd(), 1).unwrap();
    assert_eq!(accounts.held(7), 4 * MIB + 3 * PAGE_BYTES, "it may end in the next one");
    charge.before_close(file.as_fd());
    assert_eq!(accounts.held(7), 4 * MIB + 3 * PAGE_BYTES, "somebody may have the file");
    let another = memfd();
    let charge = accounts.charge_of(7, another.as_fd()).unwrap();
    let error = charge.write(another.as_fd(), 6 * MIB).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("of user 7 take") && text.contains(": write to a file on a disk"),
        "{text}"
    );
    assert_eq!(accounts.held(7), 4 * MIB + 3 * PAGE_BYTES);
    charge.write(another.as_fd(), 5 * MIB).unwrap();
}

#[test]
fn root_and_the_user_of_the_daemon_are_not_charged() {
    let (accounts, _) = accounts();
    for uid in [0, OWN_UID] {
        assert!(accounts.charge_of(uid, memfd().as_fd()).is_none(), "{uid}");
    }
}

#[test]
fn what_is_not_memory_is_not_charged() {
    let (accounts, _) = accounts();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
    for file in [tcp.as_fd(), null.as_fd()] {
        assert!(accounts.charge_of(7, file).is_none());
    }
}

/// Its user may enlarge it while it is written.
#[test]
fn a_pipe_is_charged_for_what_it_can_hold() {
    let (accounts, _) = accounts();
    let (reader, writer) = pipe().unwrap();
    let charge = accounts.charge_of(7, writer.as_fd()).unwrap();
    for (size, bytes) in [(64 * 1024, 1), (MIB, 1), (4096, 100)] {
        fcntl_setpipe_size(&reader, usize::try_from(size).unwrap()).unwrap();
        charge.write(writer.as_fd(), bytes).unwrap();
        assert_eq!(accounts.held(7), size.max(if size == 4096 { MIB } else { 0 }));
    }
    rustix::io::write(&writer, b"unread").unwrap();
    charge.before_close(writer.as_fd());
    assert_eq!(accounts.held(7), MIB, "its reader may never read");
}

#[test]
fn a_pipe_that_was_read_keeps_two_pages() {
    let (accounts, _) = accounts();
    let (reader, writer) = pipe().unwrap();
    let charge = accounts.charge_of(7, writer.as_fd()).unwrap();
    charge.write(writer.as_fd(), 3).unwrap();
    rustix::io::write(&writer, b"all").unwrap();
    rustix::io::read(&reader, &mut [0; 3]).unwrap();
    charge.before_close(writer.as_fd());
    assert_eq!(accounts.held(7), EMPTY_PIPE_BYTES);
}

#[test]
fn a_socket_of_this_machine_is_charged_for_what_it_can_hold() {
    let (accounts, _) = accounts();
    let (socket, _end) = std::os::unix::net::UnixStream::pair().unwrap();
    let charge = accounts.charge_of(7, socket.as_fd()).unwrap();
    charge.write(socket.as_fd(), 1).unwrap();
    let holds = socket_send_buffer_size(&socket).unwrap() as u64;
    assert!(holds > 0);
    charge.before_close(socket.as_fd());
    assert_eq!(accounts.held(7), holds, "nobody tells how much of it was read");
}

/// Two users have all that there is. Others have a little nevertheless.
#[test]
fn a_few_users_leave_something_for_others() {
    let (accounts, _) = accounts();
    let (total, first) = (20 * MIB, 640 * 1024);
    for uid in 1..=2 {
        accounts.put(uid, 10 * MIB).unwrap();
    }
    let error = accounts.put(3, first + 1).unwrap_err();
    let of = ExcessOf::Files;
    assert_eq!(error, Excess { of, uid: None, held: total, more: first + 1, max: total });
    assert!(error.to_string().contains("of all users take"), "{error}");
    let users = 100..100 + u32::try_from(total / 8 / first).unwrap();
    for uid in users {
        accounts.put(uid, first).unwrap();
        accounts.put(uid, 1).unwrap_err();
    }
    accounts.put(3, first).unwrap_err();
}

/// A user has removed files: the kernel counts less.
#[test]
fn accounts_are_no_more_than_the_kernel_counts() {
    let (accounts, counted) = accounts();
    accounts.put(7, 8 * MIB).unwrap();
    accounts.put(8, 4 * MIB).unwrap();
    accounts.put(7, 3 * MIB).unwrap_err();
    counted.store(20 * MIB, Ordering::Relaxed);
    accounts.put(7, 3 * MIB).unwrap_err();
    assert_eq!([7, 8].map(|uid| accounts.held(uid)), [8 * MIB, 4 * MIB]);
    counted.store(6 * MIB, Ordering::Relaxed);
    accounts.put(7, 3 * MIB).unwrap();
    assert_eq!([7, 8].map(|uid| accounts.held(uid)), [7 * MIB, 2 * MIB]);
    // It does not tell any more.
    counted.store(0, Ordering::Relaxed);
    accounts.put(7, 4 * MIB).unwrap_err();
}

#[test]
fn the_account_of_a_user_tells_what_was_refused() {
    let (accounts, counted) = accounts();
    accounts.put(7, 8 * MIB).unwrap();
    accounts.put(7, 3 * MIB).unwrap_err();
    accounts.put(8, 11 * MIB).unwrap_err();
    counted.store(20 * MIB, Ordering::Relaxed);
    accounts.put(7, 4 * MIB).unwrap_err();
    let of = |held, refused| Some(Usage { held, max: 10 * MIB, refused: Some(refused) });
    let users = [7, 8, 9].map(|uid| accounts.of_user(uid));
    assert_eq!(users, [of(8 * MIB, 2), of(0, 1), of(0, 0)]);
    assert_eq!([0, OWN_UID].map(|uid| accounts.of_user(uid)), [None; 2], "they are not charged");
    assert_eq!(accounts.users(), [7, 7, 8]);
    assert_eq!(accounts.of_users(), Usage::new(8 * MIB, 20 * MIB));
}

/// What is charged and not yet written is not in the count of the kernel.
#[test]
fn what_is_being_written_stays_on_the_account() {
    let (accounts, counted) = accounts();
    counted.store(1, Ordering::Relaxed);
    let writing = accounts.add(7, 9 * MIB).ok().unwrap();
    accounts.put(7, 2 * MIB).unwrap_err();
    assert_eq!(accounts.held(7), 9 * MIB);
    drop(writing);
    accounts.put(7, 2 * MIB).unwrap();
    assert_eq!(accounts.held(7), 2 * MIB + 1);
}

/// Pieces of one user that its files do not take leave a place for the longest piece of another one.
#[test]
fn what_waits_of_one_user_leaves_a_place_for_others() {
    const KIB: u64 = 1024;
    let memory = 1024 * MIB;
    let accounts = uncounted(memory);
    // The smallest piece that counts, until no more of them may wait.
    let fill = |uid| std::iter::from_fn(|| accounts.hold(uid, 513 * KIB).ok()).collect::<Vec<_>>();
    let of_first = fill(7);
    let error = accounts.hold(7, 513 * KIB).err().unwrap().to_string();
    assert!(error.contains("bytes wait to be written into files of user 7, and with"), "{error}");
    let longest = service::limits::FILE_PASS_BYTES as u64 + memory / service::limits::PACKET_PART;
    assert!(accounts.hold(8, longest).is_ok());
    // Two users can have all of that, but for what is free of each user.
    let of_second = fill(8);
    let error = accounts.hold(9, longest).err().unwrap().to_string();
    assert!(error.contains("files of all users, and with 3145728 more"), "{error}");
    assert!(accounts.hold(9, WAITING_FREE_BYTES).is_ok(), "a piece without long packets");
    drop((of_first, of_second));
    assert_eq!((accounts.waiting(), accounts.of_user(8).unwrap().refused), (0, Some(1)));
}

/// Where the memory of the service is not known, 64 MiB of all users may wait, and half of that of one.
#[test]
fn what_waits_has_a_limit_where_the_memory_is_not_known() {
    let accounts = uncounted(0);
    let one = 32 * MIB + WAITING_FREE_BYTES;
    assert!(accounts.hold(7, one + 1).is_err());
    let held = [7, 8].map(|uid| accounts.hold(uid, one).unwrap());
    assert!(accounts.hold(9, WAITING_FREE_BYTES + 1).is_err());
    drop(held);
    assert!(accounts.hold(9, one).is_ok());
}
