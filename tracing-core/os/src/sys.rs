//! The system calls of a client that the standard library lacks, through `libc`.
//!
//! One function makes one call. Each takes and returns values that cannot be wrong: borrowed and owned descriptors,
//! slices, numbers. A failed call is an [`io::Error`] with its `errno`. Memory is mapped in [`shm`](crate::shm), the
//! only caller that must keep more than this promise.
#![allow(unsafe_code)]
#![allow(clippy::unnecessary_cast, reason = "the types of some fields differ between C libraries")]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use libc::{c_int, c_uint, clockid_t, socklen_t};

/// Room for the descriptors of one message: two, as upstream has (`unix_socket.cc`).
const DESCRIPTORS_MAX: usize = 2;

/// Bytes of a control message with [`DESCRIPTORS_MAX`] descriptors.
const CONTROL_BYTES: usize = {
    // SAFETY: it computes a size from a number.
    let bytes = unsafe { libc::CMSG_SPACE((DESCRIPTORS_MAX * size_of::<RawFd>()) as c_uint) };
    bytes as usize
};

/// Memory for control messages, aligned as their header.
#[repr(C)]
struct Control {
    header: [libc::cmsghdr; 0],
    bytes: [u8; CONTROL_BYTES],
}

impl Control {
    const fn new() -> Self {
        Self { header: [], bytes: [0; CONTROL_BYTES] }
    }
}

/// What one [`receive`] got.
pub(crate) struct Message {
    /// How many bytes; 0 at the end of the stream.
    pub(crate) bytes: usize,
    /// The first descriptor. A second one is closed.
    pub(crate) fd: Option<OwnedFd>,
    /// The message had more descriptors, or this process could not open them. The kernel closed them.
    pub(crate) lost_descriptors: bool,
}

/// The result of a call that returns -1 for an error.
pub(crate) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Nanoseconds of a clock. Zero for a time before the clock's start, and for a clock that the kernel does not know.
pub(crate) fn clock_ns(clock: clockid_t) -> u64 {
    let mut at = timespec(Duration::ZERO);
    // SAFETY: `at` is ours alone and lives until the call returns.
    // A call that fails leaves it at zero.
    let _ = unsafe { libc::clock_gettime(clock, &raw mut at) };
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(at.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// `time`, at most a year: the kernel refuses very long timeouts, so a year stands for ever.
fn timespec(time: Duration) -> libc::timespec {
    let time = time.min(Duration::from_secs(365 * 24 * 3600));
    // Some platforms have padding in it that has no name, so it cannot be written as a literal.
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut at: libc::timespec = unsafe { mem::zeroed() };
    at.tv_sec = time.as_secs() as _;
    at.tv_nsec = time.subsec_nanos() as _;
    at
}

/// `eventfd`: a counter that is readable while it is not zero. Calls on it do not block.
pub(crate) fn eventfd() -> io::Result<File> {
    // SAFETY: it takes and returns numbers.
    let fd = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the call opened `fd` for this caller, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// A descriptor to wait for, and the events (`POLLIN`, `POLLOUT`) that are waited for.
pub(crate) type Wanted<'a> = (BorrowedFd<'a>, i16);

/// `ppoll`: waits until one of the descriptors is ready, or `timeout` has passed (`None`: for ever). Returns the
/// events of each.
pub(crate) fn poll<const N: usize>(
    wanted: [Wanted<'_>; N],
    timeout: Option<Duration>,
) -> io::Result<[i16; N]> {
    let mut fds =
        wanted.map(|(fd, events)| libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 });
    let timeout = timeout.map(timespec);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY:
    // - `fds` has `N` entries, is ours alone and lives until the call returns;
    // - `timeout` is null or a local value that lives until then; a null signal mask is allowed.
    let result = unsafe { libc::ppoll(fds.as_mut_ptr(), N as _, timeout, std::ptr::null()) };
    checked(result).map(|_| fds.map(|entry| entry.revents))
}

/// `pwritev2`: appends what the descriptor takes without waiting, whether or not it is set to wait.
#[cfg(feature = "service")]
pub(crate) fn write_now(fd: BorrowedFd<'_>, data: &[u8]) -> io::Result<usize> {
    let piece = IoSlice::new(data);
    // The call takes the position in two halves; -1 in both is the position of the descriptor. Not every C library has
    // the function.
    let (here, flags) = (-1 as libc::c_long, libc::RWF_NOWAIT as libc::c_long);
    let call = libc::SYS_pwritev2;
    let fd = fd.as_raw_fd() as libc::c_long;
    // SAFETY: `piece` is one slice of bytes that lives until the call returns, and has the layout of an `iovec`.
    let count =
        unsafe { libc::syscall(call, fd, &raw const piece, 1 as libc::c_long, here, here, flags) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// `timerfd_create`: a timer of the boot clock, which is readable after it has fired. Calls on it do not block.
#[cfg(feature = "service")]
pub(crate) fn timer() -> io::Result<File> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: it takes and returns numbers.
    let fd = checked(unsafe { libc::timerfd_create(libc::CLOCK_BOOTTIME, flags) })?;
    // SAFETY: the call opened `fd` for this caller, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// `timerfd_settime`: makes a timer fire once, at a time of its clock. Zero: never.
#[cfg(feature = "service")]
pub(crate) fn set_timer(timer: BorrowedFd<'_>, at: Duration) -> io::Result<()> {
    let mut it_value = timespec(Duration::ZERO);
    it_value.tv_sec = at.as_secs() as _;
    it_value.tv_nsec = at.subsec_nanos() as _;
    let spec = libc::itimerspec { it_interval: timespec(Duration::ZERO), it_value };
    let (fd, flags) = (timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
    // SAFETY: `spec` lives until the call returns; null asks for no earlier setting.
    checked(unsafe { libc::timerfd_settime(fd, flags, &raw const spec, std::ptr::null_mut()) })
        .map(drop)
}

/// `memfd_create`: a file in memory, which may be sealed.
pub(crate) fn memfd(name: &CStr) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the kernel copies the name, which ends with a NUL.
    let fd = checked(unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: the call opened `fd` for this caller, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Adds seals (`F_SEAL_*`) to a file in memory.
pub(crate) fn add_seals(fd: BorrowedFd<'_>, seals: c_int) -> io::Result<()> {
    // SAFETY: this command takes a number.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) }).map(drop)
}

/// The seals of a file in memory; an error for any other file.
pub(crate) fn seals(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    // SAFETY: this command takes no argument.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) })
}

/// Whether a file is in tmpfs, which has the files of `memfd_create` without huge pages.
pub(crate) fn is_in_tmpfs(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut system: libc::statfs = unsafe { mem::zeroed() };
    // SAFETY: `system` is ours alone and lives until the call returns.
    checked(unsafe { libc::fstatfs(fd.as_raw_fd(), &raw mut system) })?;
    Ok(system.f_type as u64 == libc::TMPFS_MAGIC as u64)
}

/// Bytes of a page of memory.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: it takes and returns numbers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Every system has this value.
    usize::try_from(bytes).unwrap_or(4096)
}

/// Kernel ticks per second: the unit of times in `/proc/PID/stat`.
#[cfg(feature = "service")]
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: it takes and returns numbers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // Every system has this value.
    u64::try_from(ticks).unwrap_or(100)
}

/// Processors of the machine that are online.
#[cfg(feature = "service")]
pub(crate) fn cpus_online() -> u32 {
    // SAFETY: it takes and returns numbers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    // One at least runs this.
    u32::try_from(count).unwrap_or(1)
}

/// Memory of the machine, bytes.
#[cfg(feature = "service")]
pub(crate) fn ram_bytes() -> u64 {
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut info: libc::sysinfo = unsafe { mem::zeroed() };
    // SAFETY: `info` is ours alone and lives until the call returns.
    unsafe { libc::sysinfo(&raw mut info) };
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)))
}

/// `uname`: the name of the system, its release and version, and the machine.
#[cfg(feature = "service")]
pub(crate) fn uname() -> [String; 4] {
    // SAFETY: it consists of arrays of bytes, for which zeros are a value.
    let mut names: libc::utsname = unsafe { mem::zeroed() };
    // SAFETY: `names` is ours alone and lives until the call returns.
    unsafe { libc::uname(&raw mut names) };
    [names.sysname, names.release, names.version, names.machine].map(|name| {
        let bytes: Vec<u8> = name.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// `getrandom`: fills `bytes` from the start with random ones, and returns how many.
#[cfg(feature = "service")]
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is ours alone and lives until the call returns.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    usize::try_from(filled).map_err(|_| io::Error::last_os_error())
}

/// Whether this program has more rights than the user who started it.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: the call takes and returns a number; of one that it does not know it returns zero.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The effective user of this process.
pub(crate) fn effective_uid() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// `setpriority`: the nice value of a thread.
#[cfg(feature = "service")]
pub(crate) fn set_nice(thread: u32, value: c_int) -> io::Result<()> {
    // SAFETY: it takes and returns numbers.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, value) }).map(drop)
}

/// `sched_getscheduler`: the class of a thread. The function of the C library knows no threads on musl.
#[cfg(feature = "service")]
pub(crate) fn scheduler(thread: u32) -> io::Result<c_int> {
    // SAFETY: it takes and returns numbers.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    checked(c_int::try_from(policy).unwrap_or(-1)).map(|policy| policy & !libc::SCHED_RESET_ON_FORK)
}

/// `sched_setscheduler`: the class of a thread, and its priority in it. What the thread starts is in no real-time
/// class, and has no nice value below 0.
#[cfg(feature = "service")]
pub(crate) fn set_scheduler(thread: u32, policy: c_int, priority: u32) -> io::Result<()> {
    // The kernel's own structure, which has one number: that of musl is longer.
    let parameters = [c_int::try_from(priority).unwrap_or(c_int::MAX)];
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives until the call returns, which only reads it.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, parameters.as_ptr()) };
    checked(c_int::try_from(result).unwrap_or(-1)).map(drop)
}

/// `getpriority`: the nice value of the calling thread.
#[cfg(feature = "service")]
pub(crate) fn nice() -> c_int {
    // SAFETY: it takes and returns numbers; 0 is the calling thread, for which it cannot fail.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// `sendmsg`: sends bytes, with `fd` on the first one. Never blocks, and raises no `SIGPIPE`.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[IoSlice<'_>],
    fd: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let mut control = Control::new();
    let mut message = message(bytes.as_ptr().cast_mut().cast(), bytes.len());
    if let Some(fd) = fd {
        const FD_BYTES: c_uint = size_of::<RawFd>() as c_uint;
        message.msg_control = (&raw mut control).cast();
        // SAFETY: it computes a size from a number.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(FD_BYTES) } as _;
        // SAFETY: it computes a size from a number.
        let len = unsafe { libc::CMSG_LEN(FD_BYTES) };
        // SAFETY: the control memory of `message` is `control`, which has room for more than one header.
        let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        // SAFETY: `header` is the start of `control`, which is aligned for it and ours alone. Its fields are written
        // through this pointer, as a reference to it would not reach the data behind it.
        unsafe { (*header).cmsg_level = libc::SOL_SOCKET };
        // SAFETY: as above.
        unsafe { (*header).cmsg_type = libc::SCM_RIGHTS };
        // SAFETY: as above.
        unsafe { (*header).cmsg_len = len as _ };
        // SAFETY: the data of a header lies behind it, in `control`.
        let data = unsafe { libc::CMSG_DATA(header) };
        // SAFETY: `control` has room for two descriptors there; the write needs no alignment.
        unsafe { data.cast::<RawFd>().write_unaligned(fd.as_raw_fd()) };
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: all that `message` names is borrowed or local: slices of bytes that the kernel reads, and `control`.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// `recvmsg`: receives bytes and the descriptor that came with them. Never blocks.
pub(crate) fn receive(socket: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Message> {
    let mut control = Control::new();
    let mut bytes = [IoSliceMut::new(buf)];
    let mut message = message(bytes.as_mut_ptr().cast(), 1);
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = CONTROL_BYTES as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: all that `message` names is ours alone and lives until the call returns: `buf` and `control`.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    Ok(Message {
        bytes: got,
        fd: take_descriptors(&message),
        lost_descriptors: message.msg_flags & libc::MSG_CTRUNC != 0,
    })
}

/// Owns all descriptors of a message that was just received; keeps the first one and closes the others.
fn take_descriptors(message: &libc::msghdr) -> Option<OwnedFd> {
    let mut first = None;
    // SAFETY: `recvmsg` wrote the control memory of `message` and set its length to what it wrote.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: `next` leads to a header that `recvmsg` wrote whole and aligned.
        let header = unsafe { next.read() };
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
            // SAFETY: the data of a header lies behind it, in the same memory.
            let data = unsafe { libc::CMSG_DATA(next) }.cast::<RawFd>();
            // SAFETY: it computes a size from a number.
            let header_bytes = unsafe { libc::CMSG_LEN(0) } as usize;
            let data_bytes = (header.cmsg_len as usize).saturating_sub(header_bytes);
            for i in 0..data_bytes / size_of::<RawFd>() {
                // SAFETY: in bounds: `data_bytes` is the length of the data.
                let at = unsafe { data.add(i) };
                // SAFETY: the kernel wrote a descriptor there; the read needs no alignment.
                let fd = unsafe { at.read_unaligned() };
                // SAFETY: the kernel opened `fd` for this message, and this loop sees it once.
                let fd = unsafe { OwnedFd::from_raw_fd(fd) };
                first.get_or_insert(fd);
            }
        }
        // SAFETY: `next` is a header of this message.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    first
}

/// A message of `len` slices of bytes and nothing else.
fn message(slices: *mut libc::iovec, len: usize) -> libc::msghdr {
    // Some platforms have padding in it that has no name, so it cannot be written as a literal.
    // SAFETY: it consists of integers and pointers, for which zeros are values.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = slices;
    message.msg_iovlen = len as _;
    message
}

/// `ioctl(SIOCOUTQ)`, which has the number of `TIOCOUTQ`: the memory of what was sent and not received. Zero if the
/// socket has none such.
#[cfg(feature = "host")]
pub(crate) fn bytes_unreceived(socket: BorrowedFd<'_>) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: `bytes` is ours alone and lives until the call returns, which writes one number there.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if asked == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// `shutdown` of both directions.
pub(crate) fn shutdown(socket: BorrowedFd<'_>) {
    // It can only fail when the peer closed the connection before.
    // SAFETY: it takes numbers.
    let _ = unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Adds a descriptor of the sender's process to each message (Linux 6.5). `libc` does not have it.
#[cfg(feature = "host")]
pub(crate) const SO_PASSPIDFD: c_int = 76;

/// Sets an option of a socket that is a number.
#[cfg(feature = "host")]
pub(crate) fn set_option(socket: BorrowedFd<'_>, option: c_int, value: c_int) -> io::Result<()> {
    let len = size_of::<c_int>() as socklen_t;
    // SAFETY: the kernel reads `len` bytes at `value`, which lives until the call returns.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            len,
        )
    })
    .map(drop)
}

/// An option of a socket that is a number.
#[cfg(feature = "host")]
pub(crate) fn option(socket: BorrowedFd<'_>, option: c_int) -> io::Result<c_int> {
    let (mut value, mut len) = (0, size_of::<c_int>() as socklen_t);
    // SAFETY: `value` and `len` are ours alone and live until the call returns; `len` is the size of `value`, and the
    // kernel writes no more bytes than that.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut len,
        )
    })
    .map(|_| value)
}

/// `fstat`: the number of the socket behind a descriptor; none if it is another kind of file, or not open.
pub(crate) fn socket_inode(fd: RawFd) -> Option<u64> {
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut status: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: `status` is ours alone and lives until the call returns. A number that is not open is an error.
    checked(unsafe { libc::fstat(fd, &raw mut status) }).ok()?;
    (status.st_mode & libc::S_IFMT == libc::S_IFSOCK).then_some(status.st_ino as u64)
}

/// `dup3`: what `fd` names is closed, and it names the file of `by` from now on. Its owner closes it as before.
pub(crate) fn replace(fd: RawFd, by: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: it takes and returns numbers. The caller knows that the owner of `fd` expects a closed connection.
    checked(unsafe { libc::dup3(by.as_raw_fd(), fd, libc::O_CLOEXEC) }).map(drop)
}

/// A new stream socket of AF_UNIX.
pub(crate) fn unix_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: it takes and returns numbers.
    let fd = checked(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: the call opened `fd` for this caller, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `connect` to a path of the file system, or to an abstract name.
pub(crate) fn connect_unix(
    socket: BorrowedFd<'_>,
    name: &[u8],
    is_abstract: bool,
) -> io::Result<()> {
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as _;
    // A path ends with a NUL, and an abstract name begins with one.
    let used = name.len().saturating_add(1);
    let start = usize::from(is_abstract);
    let is_cut = !is_abstract && name.contains(&0);
    if name.is_empty() || is_cut || used > address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in address.sun_path.iter_mut().skip(start).zip(name) {
        *to = *from as _;
    }
    let len = (mem::offset_of!(libc::sockaddr_un, sun_path) + used) as socklen_t;
    // SAFETY: `len` is at most the size of `address`, which lives until the call returns.
    checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) })
        .map(drop)
}

/// A new stream socket of AF_VSOCK.
pub(crate) fn vsock_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: it takes and returns numbers.
    let fd = checked(unsafe { libc::socket(libc::AF_VSOCK, kind, 0) })?;
    // SAFETY: the call opened `fd` for this caller, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `connect` to a port of another virtual machine.
pub(crate) fn connect_vsock(socket: BorrowedFd<'_>, cid: u32, port: u32) -> io::Result<()> {
    let (name, len) = vsock_name(cid, port);
    // SAFETY: `name` is `len` bytes long and lives until the call returns.
    checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const name).cast(), len) }).map(drop)
}

/// `bind` to a port of this machine, as other virtual machines see it.
#[cfg(feature = "host")]
pub(crate) fn bind_vsock(socket: BorrowedFd<'_>, cid: u32, port: u32) -> io::Result<()> {
    let (name, len) = vsock_name(cid, port);
    // SAFETY: `name` is `len` bytes long and lives until the call returns.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), len) }).map(drop)
}

fn vsock_name(cid: u32, port: u32) -> (libc::sockaddr_vm, socklen_t) {
    // SAFETY: it consists of integers, for which zeros are a value.
    let mut name: libc::sockaddr_vm = unsafe { mem::zeroed() };
    name.svm_family = libc::AF_VSOCK as _;
    name.svm_cid = cid;
    name.svm_port = port;
    (name, size_of::<libc::sockaddr_vm>() as socklen_t)
}

/// The process that opened the other end of an AF_UNIX connection: its effective user, and its id, which is 0 in a
/// namespace that this process does not see.
pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut cred = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as socklen_t;
    // SAFETY:
    // - `cred` and `len` are ours alone and live until the call returns; `len` is the size of `cred`, and the kernel
    //   writes no more bytes than that;
    // - every bit pattern is a `ucred`: it is three integers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut cred).cast(),
            &raw mut len,
        )
    };
    checked(result).map(|_| cred)
}

/// The supplementary groups of the process that opened the other end of `socket`: as many as fit.
#[cfg(feature = "host")]
pub(crate) fn peer_groups(socket: BorrowedFd<'_>, groups: &mut [libc::gid_t]) -> io::Result<usize> {
    /// `asm-generic/socket.h`; the crate does not have it for all targets.
    const SO_PEERGROUPS: c_int = 59;
    let mut len = size_of_val(groups) as socklen_t;
    // SAFETY:
    // - `groups` and `len` are ours alone and live until the call returns; `len` is the size of `groups`, and the
    //   kernel writes no more bytes than that;
    // - every bit pattern is a group id.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    checked(result).map(|_| len as usize / size_of::<libc::gid_t>())
}

/// The id of the calling thread, unique on this machine.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    let id = unsafe { libc::gettid() };
    u32::try_from(id).unwrap_or(0)
}

/// Names the calling thread. The kernel cuts names at 15 bytes.
pub(crate) fn name_thread(name: &CStr) {
    // SAFETY: `name` ends with a zero byte and lives until the call returns.
    let _ = unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// `atexit`. False if there is no memory for the entry.
#[cfg(not(miri))]
pub(crate) fn at_exit(run: extern "C" fn()) -> bool {
    // SAFETY: `run` is a function of this program, which any thread may call at any time.
    unsafe { libc::atexit(run) == 0 }
}

/// `pthread_atfork`. False if there is no memory for the entry.
#[cfg(not(miri))]
pub(crate) fn at_fork(
    before: extern "C" fn(),
    in_parent: extern "C" fn(),
    in_child: extern "C" fn(),
) -> bool {
    // SAFETY: they are functions of this program, which any thread may call at any time.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) == 0 }
}
