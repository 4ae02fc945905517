use std::path::Path;

use tracing_probes::FtraceRecords;

use super::files::group_name;
use super::machine::{has_addresses, is_hidepid, read_user};
use super::sockets::{listening, variable_of};
use super::tracefs::{killed, locked_by, mount_options, records};
use super::{is_activated, service, shell_word};
use crate::doctor::facts::{Process, Records, User};

#[test]
fn sockets_that_listen() {
    let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
        0: 00000002 00000000 00010000 0001 01 17 /run/perfetto/a.sock\n\
        0: 00000003 00000000 00000000 0001 03 18 /run/perfetto/a.sock\n\
        0: 00000002 00000000 00010000 0001 01 19 @abstract\n\
        0: 00000003 00000000 00010000 0001 03 20\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("unix");
    std::fs::write(&path, table).unwrap();
    let at = |name: &str| listening(&path, name);
    assert_eq!(at("/run/perfetto/a.sock"), [17]);
    assert_eq!(at("@abstract"), [19]);
    assert!(at("/run/perfetto/b.sock").is_empty());
    // A machine may have a hundred thousand, in any order.
    let others = "0: 00000003 00000000 00000000 0001 03 20\n".repeat(100_000);
    std::fs::write(&path, format!("{others}{table}")).unwrap();
    assert_eq!(at("/run/perfetto/a.sock"), [17]);
    std::fs::remove_file(&path).unwrap();
    assert!(at("").is_empty());
}

/// The addresses where clients look whose service it is (`tracing_core::os::socket`).
#[test]
fn sockets_where_any_user_can_listen() {
    use tracing_core::os::socket::defaults;
    let defaults = defaults();
    for (address, variable) in [
        (defaults.producer, "PERFETTO_PRODUCER_SOCK_NAME"),
        (defaults.consumer, "PERFETTO_CONSUMER_SOCK_NAME"),
    ] {
        let expected = address.to_string_lossy().starts_with("/tmp/perfetto-").then_some(variable);
        assert_eq!(variable_of(&address.to_string_lossy()), expected);
    }
    assert_eq!(variable_of("/run/perfetto/traced-producer.sock"), None);
}

#[test]
fn systemd_alone_listens() {
    let process = |pid| Process { pid, ..Process::default() };
    assert!(is_activated(&[process(1)]));
    assert!(!is_activated(&[process(1), process(7)]));
}

#[test]
fn mounts() {
    let mounts = "proc /proc proc rw,nosuid,hidepid=invisible,gid=4 0 0\n\
        tracefs /sys/kernel/tracing tracefs rw 0 0\nnone /sys/kernel/debug debugfs rw 0 0\n";
    assert_eq!(mount_options(mounts, "/sys/kernel/tracing"), Some("rw"));
    assert_eq!(mount_options(mounts, "/sys/kernel/debug"), None);
    assert_eq!(mount_options(mounts, "/sys/kernel/debug/tracing"), None);
    let above = format!("{mounts}tracefs /sys/kernel/tracing tracefs ro,nosuid 0 0\n");
    assert_eq!(mount_options(&above, "/sys/kernel/tracing"), Some("ro,nosuid"));
    assert!(is_hidepid(mounts));
    for (options, hides) in
        [("rw", false), ("rw,hidepid=0", false), ("hidepid=off", false), ("hidepid=2", true)]
    {
        assert_eq!(is_hidepid(&format!("proc /proc proc {options} 0 0\n")), hides, "{options}");
    }
    assert!(!is_hidepid("proc /chroot/proc proc hidepid=2 0 0\n"));
}

#[test]
fn rights() {
    let status = "Name:\ttracebox\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nCapEff:\t0000004000000002\n";
    let user = read_user(status);
    assert_eq!(user, User { uid: 2, gid: 6, groups: vec![9, 10], capabilities: 1 << 38 | 2 });
    assert!(user.has(38) && user.has(1) && !user.has(0));
    assert_eq!(read_user(""), User::default());
}

#[test]
fn locks() {
    let locks = "1: FLOCK  ADVISORY  WRITE 77 fe:0a:584 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 78 fe:0a:585 0 EOF\n\
        2: POSIX  ADVISORY  READ 79 fe:0a:586 0 EOF\n";
    assert_eq!(locked_by(locks, 0xfe, 10, 584), Some(77));
    assert_eq!(locked_by(locks, 0xfe, 10, 585), None);
    assert_eq!(locked_by(locks, 0xfe, 10, 586), Some(79));
    assert_eq!(locked_by(locks, 0xfe, 11, 584), None);
}

#[test]
fn symbols_and_groups() {
    assert!(!has_addresses("0000000000000000 T a\n0000000000000000 T b\n"));
    assert!(has_addresses("0000000000000000 T a\nffffffff81000000 T b\n"));
    assert!(!has_addresses(""));
    let groups = "root:x:0:\nperfetto:x:997:ann,bob\n";
    assert_eq!(group_name(groups, 997).as_deref(), Some("perfetto"));
    assert_eq!(group_name(groups, 99), None);
}

#[test]
fn a_program_as_a_word_of_a_shell() {
    let check = |path: &str, word: &str| assert_eq!(shell_word(Path::new(path)), word);
    check("/usr/local/bin/tracebox", "tracebox");
    check("/srv/ann/target/release/tracebox", "/srv/ann/target/release/tracebox");
    check("/srv/ann lee's/tracebox", "'/srv/ann lee'\\''s/tracebox'");
}

#[test]
fn the_state_of_a_service() {
    use protos::{TracingServiceState, UserAccount, UserAccountItem};
    let item = |refused| UserAccountItem { refused: Some(refused), ..UserAccountItem::default() };
    let account = |uid, refused| UserAccount {
        uid: Some(uid),
        files: Some(item(0)),
        sessions: Some(item(refused)),
        ..UserAccount::default()
    };
    let state = TracingServiceState {
        accounts: vec![account(1, 9), account(2, 3)],
        num_sessions: Some(4),
        ..TracingServiceState::default()
    };
    let answer = service::read(&state, std::time::Duration::from_millis(5), 2);
    assert_eq!((answer.ms, answer.sessions, answer.producers), (5, 4, 0));
    assert_eq!(answer.refused, [("sessions", 3)]);
}

/// By the lock of its records, or, where another user has started it, by that of tracefs.
#[test]
fn the_program_that_records_is_found_by_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let (own, tracefs) = (folder.path().join("own"), folder.path().join("tracefs"));
    let uid = tracing_core::os::process::effective_uid();
    let holder = || match records(&own, Some(&tracefs), uid) {
        Records::Seen { files, holder } => (files.len(), holder.map(|process| process.pid)),
        Records::Hidden => panic!("it is there"),
    };
    let own_pid = Some(i32::try_from(std::process::id()).unwrap());
    std::fs::create_dir(&tracefs).unwrap();
    for (file, has_records) in [(tracefs.join("tracing_on"), false), (own.join("lock"), true)] {
        if has_records {
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("root.ftrace"), "").unwrap();
        }
        // A process that another test starts has a copy of the lock before this one until its `exec`.
        while holder() != (usize::from(has_records), None) {
            std::thread::yield_now();
        }
        let lock = std::fs::File::create(file).unwrap();
        lock.lock().unwrap();
        assert_eq!(holder(), (usize::from(has_records), own_pid));
    }
}

/// A unit of systemd may have made the folder of root for another user.
#[test]
fn records_of_another_user_are_not_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("root.ftrace"), "").unwrap();
    let uid = tracing_core::os::process::effective_uid();
    let files = |uid| match records(folder.path(), None, uid) {
        Records::Seen { files, holder: None } => files.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!((files(uid), files(uid + 1)), (1, 0));
}

/// Another user's recording that runs has left nothing.
#[test]
fn records_of_a_recording_that_runs_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let records = || FtraceRecords { uid: 7, folder: folder.path().to_owned(), count: 1 };
    let is_killed = || !killed(vec![records()]).is_empty();
    assert!(is_killed());
    let lock = std::fs::File::create(folder.path().join("lock")).unwrap();
    // Each look locks it for a moment, and a process that another test starts has a copy until its `exec`.
    while !is_killed() {
        std::thread::yield_now();
    }
    lock.lock().unwrap();
    assert!(!is_killed());
}
