use super::allowed::Mapped;
use super::check::{Report, check};
use super::line::{Call, Line, parse};

fn call<'a>(name: &'a str, arguments: &[&'a str], result: &'a str) -> Option<Line<'a>> {
    Some(Line::Call(Call { name, arguments: arguments.to_vec(), result }))
}

#[test]
fn lines() {
    for (line, expected) in [
        ("getpid()                = 12", call("getpid", &[], "12")),
        (
            "read(4<anon_inode:[eventfd]>, \"\\1\\0\"..., 8) = 8",
            call("read", &["4<anon_inode:[eventfd]>", "\"\\1\\0\"...", "8"], "8"),
        ),
        (
            "openat(AT_FDCWD</tmp/a, (b>, \"x\\\", )\", O_RDONLY) = -1 ENOENT (No such file)",
            call(
                "openat",
                &["AT_FDCWD</tmp/a, (b>", "\"x\\\", )\"", "O_RDONLY"],
                "-1 ENOENT (No such file)",
            ),
        ),
        (
            "clone3({flags=CLONE_VM|1<<3, stack=0x1} => {parent_tid=[9]}, 88) = 9",
            call("clone3", &["{flags=CLONE_VM|1<<3, stack=0x1} => {parent_tid=[9]}", "88"], "9"),
        ),
        ("exit(0)                 = ?", call("exit", &["0"], "?")),
        ("--- SIGTERM {si_signo=SIGTERM} ---", Some(Line::Other)),
        ("+++ exited with 0 +++", Some(Line::Other)),
        ("read(4<socket:[7]>,  <unfinished ...>", Some(Line::Other)),
        ("???()                                   = ?", Some(Line::Other)),
        ("read(4, ", None),
        ("", None),
    ] {
        assert_eq!(parse(line), expected, "{line}");
    }
}

const BEFORE: &str = "\
openat(AT_FDCWD</>, \"/etc/ld.so.cache\", O_RDONLY) = 3</etc/ld.so.cache>
ioctl(3<socket:[7]>, FIONBIO, [1]) = 0
eventfd2(0, EFD_CLOEXEC|EFD_NONBLOCK) = 5<anon_inode:[eventfd]>
epoll_wait(4<anon_inode:[eventpoll]>, [], 64, -1) = 1
";
const AFTER: &str = "\
epoll_wait(4<anon_inode:[eventpoll]>, [], 64, -1) = 1
ppoll([{fd=5<anon_inode:[eventfd]>, events=POLLIN}], 1, NULL, NULL, 0) = 1
+++ exited with 0 +++
";

/// Whether the loop may make this call.
fn allows(line: &str) -> bool {
    allows_beside("", line)
}

/// Whether the loop may make this call in a process with another thread that did this.
fn allows_beside(other: &str, line: &str) -> bool {
    let log = format!("{BEFORE}{line} = 0\n{AFTER}");
    let report = check(&log, &Mapped::of(other)).unwrap().unwrap();
    assert_eq!(report.turns, 2, "{line}");
    let mut sum = Report::default();
    sum.add(report);
    let last = line.lines().last().unwrap();
    sum.verdict().map_err(|error| assert!(error.contains(last), "{error}")).is_ok()
}

/// Sends a descriptor in a message.
const SENDS_9: &str = "sendmsg(4<socket:[5]>, {msg_name=NULL, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, \
    cmsg_type=SCM_RIGHTS, cmsg_data=[9<socket:[8]>]}], msg_flags=0}, MSG_DONTWAIT|MSG_NOSIGNAL)";

#[test]
fn calls_that_return_at_once() {
    for line in [
        "read(5<anon_inode:[eventfd]>, \"\"..., 8)",
        "accept4(3<socket:[7]>, NULL, NULL, SOCK_CLOEXEC)",
        "recvmsg(9<socket:[8]>, {msg_name=NULL}, MSG_DONTWAIT|MSG_CMSG_CLOEXEC)",
        "sendmsg(9<socket:[8]>, {msg_name=NULL}, MSG_DONTWAIT|MSG_NOSIGNAL)",
        "mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)",
        "memfd_create(\"a\", MFD_CLOEXEC) = 9</memfd:a>(deleted)\n\
         mmap(NULL, 8192, PROT_READ, MAP_SHARED, 9</memfd:a>(deleted), 0)",
        "munmap(0x7f00, 8192)",
        "futex(0x5, FUTEX_WAKE_PRIVATE, 1)",
        "accept4(3<socket:[7]>, NULL, NULL, SOCK_CLOEXEC) = 9<socket:[8]>\nclose(9<socket:[8]>)",
        "accept4(3<socket:[7]>, NULL, NULL, SOCK_CLOEXEC) = 9<socket:[8]>\n\
         setsockopt(9<socket:[8]>, SOL_SOCKET, SO_OOBINLINE, [1], 4) = 0\n\
         close(9<socket:[8]>)",
        &format!("{SENDS_9} = 1\nclose(9<socket:[8]>)"),
        "clock_gettime(CLOCK_THREAD_CPUTIME_ID, {tv_sec=1, tv_nsec=2})",
        "futex(0x5, FUTEX_WAIT_BITSET_PRIVATE, 2, NULL, FUTEX_BITSET_MATCH_ANY)",
    ] {
        assert!(allows(line), "{line}");
    }
}

#[test]
fn calls_that_may_wait() {
    for line in [
        "openat(AT_FDCWD</>, \"/tmp/x\", O_WRONLY|O_CREAT, 0666)",
        "write(9</tmp/x>, \"a\", 1)",
        "read(9<socket:[8]>, \"\", 1)",
        "close(9<socket:[8]>)",
        &format!("{SENDS_9} = -1 EAGAIN\nclose(9<socket:[8]>)"),
        &format!("{SENDS_9} = 1\nclose(9<socket:[8]>) = 0\nclose(9<socket:[8]>)"),
        "accept4(3<socket:[7]>, NULL, NULL, SOCK_CLOEXEC) = 9<socket:[8]>\n\
         setsockopt(9<socket:[8]>, SOL_SOCKET, 0x53, [1], 4) = 0\n\
         close(9<socket:[8]>)",
        "accept4(9<socket:[8]>, NULL, NULL, SOCK_CLOEXEC)",
        "recvmsg(9<socket:[8]>, {msg_name=NULL}, MSG_CMSG_CLOEXEC)",
        "recvmsg(9<socket:[8]>, {msg_name=\"MSG_DONTWAIT\"}, 0)",
        "sendmsg(9<socket:[8]>, {msg_name=NULL}, MSG_NOSIGNAL)",
        "mmap(NULL, 8192, PROT_READ, MAP_SHARED, 9</tmp/x>, 0)",
        "mmap(NULL, 8192, PROT_READ, MAP_SHARED, 9</memfd:a>(deleted), 0)",
        "memfd_create(\"a\", MFD_CLOEXEC) = 9</memfd:a>(deleted)\n\
         mmap(NULL, 8192, PROT_READ, MAP_SHARED, 9</memfd:a>(deleted), 0) = 0x7f00\n\
         munmap(0x7f00, 8192)",
        "statx(9</tmp/x>, \"\", AT_EMPTY_PATH, STATX_ALL, {})",
        "futex(0x5, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, FUTEX_BITSET_MATCH_ANY)",
        "futex(0x5, FUTEX_WAIT_BITSET_PRIVATE, 2, {tv_sec=1}, FUTEX_BITSET_MATCH_ANY)",
        "ppoll([{fd=5, events=POLLIN}], 1, NULL, NULL, 0)",
        "fdatasync(9</tmp/x>)",
        "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1}, NULL)",
    ] {
        assert!(!allows(line), "{line}");
    }
}

#[test]
fn memory_that_another_thread_mapped() {
    let of_peer = "mmap(NULL, 8192, PROT_READ, MAP_SHARED, 9</memfd:a>(deleted), 0) = 0x7f00\n";
    let own = "mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00";
    assert!(!allows_beside(of_peer, "munmap(0x7f00, 8192)"));
    assert!(allows_beside(of_peer, &format!("{own}\nmunmap(0x7f00, 8192)")));
    // Nobody knows which of both it was.
    assert!(allows_beside(&format!("{of_peer}{own}\n"), "munmap(0x7f00, 8192)"));
}

#[test]
fn other_logs() {
    let of_a_file = "write(9</tmp/x>, \"a\", 1) = 1\n+++ exited with 0 +++\n";
    assert!(check(of_a_file, &Mapped::default()).unwrap().is_none(), "another thread");
    assert!(check("epoll_wait(", &Mapped::default()).is_err(), "a line that is cut");
}
