//! What the next process finds of one that was killed.

use proptest::prelude::*;

use super::super::record::Records;
use super::*;
use crate::ftrace::tracefs::{Tracefs, is_below};

/// A process that is killed before each change, and one that puts everything back.
#[test]
fn a_killed_process_leaves_what_puts_all_back() {
    let mut changes = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path(), BOOT).unwrap();
        let mut world = World::at(used(), Directory::root());
        let before = world.fake.settings();
        let store = UntilKilled(records.store(&Directory::root()), world.fake.is_killed());
        world.mux = Mux::new(Directory::root(), Journal::new(Some(Box::new(store))));
        world.set_up(1, everything).unwrap();
        world.fake.kill_after(changes);
        _ = world.start(1);
        let is_whole = world.fake.take_failure();
        drop(records);
        let records = Records::open(folder.path(), BOOT).unwrap();
        let notes = records.restore(&world.fake);
        assert!(notes.iter().all(|note| note.contains("was killed")), "{notes:?}");
        assert_eq!(world.fake.settings(), before, "killed after {changes} changes");
        assert_eq!(records.restore(&world.fake), Vec::<String>::new());
        if is_whole {
            break;
        }
        changes += 1;
    }
    assert!(changes > 30, "{changes}");
}

#[test]
fn records_are_of_one_boot_and_one_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/ftrace");
    let records = Records::open(&path, BOOT).unwrap();
    let error = Records::open(&path, BOOT).unwrap_err();
    let RecordsError::InUse(error) = error else { panic!("{error:?}") };
    assert!(error.contains("another program records"), "{error}");
    let fake = Fake::new();
    let line = line(&Change::write("tracing_on".to_owned(), "0"));
    let mut store = records.store(&Directory::root());
    store.append(line.as_bytes()).unwrap();
    store.append(line.as_bytes()).unwrap();
    let text = std::fs::read_to_string(path.join("root.ftrace")).unwrap();
    assert_eq!(text, "ftrace 1 boot-1\nwrite tracing_on 0\nwrite tracing_on 0\n");
    let mut other = records.store(&Directory::instance(&fake, "other").unwrap());
    other.append(line.as_bytes()).unwrap();
    assert!(path.join("instance-other.ftrace").exists());
    other.clear().unwrap();
    other.clear().unwrap();
    assert!(!path.join("instance-other.ftrace").exists());
    drop(records);
    // After a reboot the kernel has its own defaults.
    let records = Records::open(&path, "boot-2").unwrap();
    assert_eq!(records.restore(&fake), Vec::<String>::new());
    assert_eq!(fake.take_log(), Vec::<String>::new());
    assert!(!path.join("root.ftrace").exists());
    let error = Records::open(&path.join("lock/x"), BOOT).unwrap_err();
    let RecordsError::Unusable(error) = error else { panic!("{error:?}") };
    assert!(error.contains("make it writable"), "{error}");
}

/// A user who can write them could have root write elsewhere.
#[test]
fn records_are_in_a_folder_of_this_user_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &std::path::Path| {
        let error = Records::open(path, BOOT).unwrap_err();
        let RecordsError::Unusable(error) = error else { panic!("{error:?}") };
        assert!(error.contains("alone may write to; have it removed"), "{error}");
    };
    let own = folder.path().join("own");
    drop(Records::open(&own, BOOT).unwrap());
    let link = folder.path().join("link");
    symlink(&own, &link).unwrap();
    refused(&link);
    for mode in [0o720, 0o702] {
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(mode)).unwrap();
        refused(&own);
    }
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(Records::open(&own, BOOT).unwrap());
    // Root alone can make one of another user.
    if !skip::without_root("records_are_in_a_folder_of_this_user_alone, of another user") {
        std::os::unix::fs::chown(&own, Some(65534), None).unwrap();
        refused(&own);
    }
}

/// The process was killed when it had written the new record, and the old one was there still.
#[test]
fn half_a_record_goes_with_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let records = Records::open(folder.path(), BOOT).unwrap();
    let fake = Fake::new();
    let change = |value: &str| line(&Change::write("buffer_percent".to_owned(), value));
    records.store(&Directory::root()).append(change("20").as_bytes()).unwrap();
    std::fs::write(folder.path().join("root.new"), "ftrace 1 boot-1\nwrite buffer_per").unwrap();
    records.restore(&fake);
    assert_eq!(fake.get("buffer_percent"), "20");
    assert!(!Records::any_left(folder.path()));
}

#[test]
fn a_record_of_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let records = Records::open(folder.path(), BOOT).unwrap();
    let fake = Fake::new();
    fake.deny("trace_clock", libc::EINVAL);
    let mut store = records.store(&Directory::root());
    for change in [
        Change::write("events/gone/gone/enable".to_owned(), "1"),
        Change::append("kprobe_events".to_owned(), "-:perfetto_kprobes/gone\n"),
        Change::write("trace_clock".to_owned(), "local"),
        Change::write("buffer_percent".to_owned(), "20"),
    ] {
        store.append(line(&change).as_bytes()).unwrap();
    }
    let notes = records.restore(&fake);
    assert!(notes.len() == 2 && notes[1].contains("trace_clock is not put back"), "{notes:?}");
    assert_eq!(fake.get("buffer_percent"), "20");
}

#[test]
fn hostile_records() {
    let check = |text: &str, count: usize| {
        assert_eq!(parse(text.as_bytes(), BOOT).len(), count, "{text}");
    };
    let good = "ftrace 1 boot-1\n";
    check(&format!("{good}write a b\nfill a b\nappend a b\ntrunc a \n"), 4);
    check("", 0);
    check("ftrace 1 boot-2\nwrite a b\n", 0);
    check("ftrace 2 boot-1\nwrite a b\n", 0);
    check("ftrace 1 boot-1", 0);
    for bad in [
        "write a b",
        "write a b c\n",
        "write a\n",
        "\n",
        " \n",
        "run a b\n",
        "write ../x b\n",
        "write /x b\n",
        "write %2e%2e/x b\n",
        "write a%2f%2e%2e b\n",
        "write a%00 b\n",
        "write a %\n",
        "write a %0\n",
        "write a %zz\n",
        "write a %ff\n",
        "write  b\n",
        "write a %é\n",
    ] {
        check(&format!("{good}{bad}"), 0);
    }
}

fn change() -> impl Strategy<Value = Change> {
    let path = proptest::collection::vec("[^/\0]{1,6}", 1..4).prop_map(|parts| parts.join("/"));
    let path = path.prop_filter("a path below the root", |path| is_below(path));
    (0..4, path, ".{0,12}|(\\PC|\n| |%){0,9}").prop_map(|(kind, path, value)| match kind {
        0 => Change::Write { path, value },
        1 => Change::Fill { path, value },
        2 => Change::Append { path, value },
        _ => Change::Truncate { path },
    })
}

proptest! {
    #[test]
    fn lines_are_read_as_they_were_written(changes in proptest::collection::vec(change(), 0..8)) {
        let lines: String = changes.iter().map(line).collect();
        let record = format!("{}{lines}", header("b o\not%"));
        prop_assert_eq!(parse(record.as_bytes(), "b o\not%"), changes.clone());
        // A line that breaks off counts for nothing, and those before it count.
        for len in 0..record.len() {
            let parsed = parse(&record.as_bytes()[..len], "b o\not%");
            prop_assert!(changes.starts_with(&parsed));
        }
    }

    #[test]
    fn no_record_leads_out_of_tracefs(
        record in proptest::collection::vec(any::<u8>(), 0..200),
        lines in "((write|fill|append|trunc) [./a%0-9ef]{0,9} [a%\n ]{0,4}\n){0,9}",
    ) {
        parse(&record, BOOT);
        let text = format!("{}{lines}", header(BOOT));
        let fake = Fake::new();
        for change in parse(text.as_bytes(), BOOT) {
            prop_assert!(is_below(change.path()));
            _ = fake.exists(change.path());
        }
    }
}
