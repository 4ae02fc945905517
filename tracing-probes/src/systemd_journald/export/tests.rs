use proptest::prelude::*;

use super::{Entry, JOURNAL_VALUE_BYTES_MAX, Parser};

const BOOT: &str = "0123456789abcdef0123456789abcdef";

fn read(pieces: &[&[u8]]) -> Vec<Entry> {
    let mut parser = Parser::new(BOOT.into());
    let mut entries = Vec::new();
    for piece in pieces {
        parser.read(piece, |entry| entries.push(entry));
    }
    assert!(
        parser.name.len() <= super::NAME_BYTES_MAX && parser.value.len() <= JOURNAL_VALUE_BYTES_MAX
    );
    entries
}

/// A field that is printed with its length.
fn with_length(name: &str, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u64).to_le_bytes();
    [name.as_bytes(), b"\n", &length, value, b"\n"].concat()
}

fn two_entries() -> Vec<u8> {
    let first = format!(
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=5\n__MONOTONIC_TIMESTAMP=1234567\n_BOOT_ID={BOOT}\n\
         PRIORITY=3\n_PID=17\nTID=18\n_UID=0\n_GID=4\nSYSLOG_IDENTIFIER=cron\nMESSAGE=a=b\n_COMM=crond\n\
         _EXE=/usr/sbin/cron\n_SYSTEMD_UNIT=cron.service\n_HOSTNAME=here\n_TRANSPORT=syslog\n\n"
    );
    let second =
        "MESSAGE=first\n_PID=-1\n_UID=\n_HOSTNAME=\n__MONOTONIC_TIMESTAMP=7\n_BOOT_ID=other\n";
    let message = with_length("MESSAGE", b"one\n\ntwo=\xff");
    [first.as_bytes(), second.as_bytes(), &message, b"\n"].concat()
}

fn expected() -> [Entry; 2] {
    let text = |text: &str| Some(text.to_owned());
    let first = Entry {
        this_boot_us: Some(1_234_567),
        pid: Some(17),
        tid: Some(18),
        uid: Some(0),
        gid: Some(4),
        prio: Some(3),
        tag: text("cron"),
        message: text("a=b"),
        comm: text("crond"),
        exe: text("/usr/sbin/cron"),
        unit: text("cron.service"),
        hostname: text("here"),
        transport: text("syslog"),
    };
    [first, Entry { message: text("one\n\ntwo=\u{fffd}"), ..Entry::default() }]
}

#[test]
fn entries_have_their_fields() {
    assert_eq!(read(&[&two_entries()]), expected());
}

#[test]
fn entries_come_in_pieces_of_any_length() {
    let bytes = two_entries();
    for at in 0..=bytes.len() {
        assert_eq!(read(&[&bytes[..at], &bytes[at..]]), expected(), "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single), expected());
}

#[test]
fn long_names_and_values_are_cut() {
    let long = vec![b'x'; 3 * JOURNAL_VALUE_BYTES_MAX];
    let text = [b"MESSAGE=", &long[..], b"\n_COMM=c\n\n"].concat();
    let bytes = [&with_length("MESSAGE", &long)[..], b"_COMM=c\n\n"].concat();
    let name = [&long[..], b"=1\n_COMM=c\n\n"].concat();
    for (entry, length) in
        [(text, JOURNAL_VALUE_BYTES_MAX), (bytes, JOURNAL_VALUE_BYTES_MAX), (name, 0)]
    {
        let pieces: Vec<&[u8]> = entry.chunks(1000).collect();
        let entries = read(&pieces);
        assert_eq!(entries[0].message.as_ref().map_or(0, String::len), length);
        assert_eq!(entries[0].comm.as_deref(), Some("c"));
    }
}

#[test]
fn an_entry_without_a_field_is_none() {
    assert_eq!(read(&[b"\n\n\nMESSAGE=m\n\n\n"]).len(), 1);
}

/// A length that no value has: what follows belongs to the value, and nothing grows.
#[test]
fn a_length_without_end_takes_no_memory() {
    let huge = [&b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff"[..], &vec![b'x'; 1 << 20]].concat();
    assert_eq!(read(&[&huge, b"\n\n"]), []);
}

proptest! {
    /// Any bytes, cut anywhere, are read as in one piece.
    #[test]
    fn pieces_do_not_matter(
        bytes in prop::collection::vec(prop::sample::select(b"\n=A\0\x01MESSAGE".to_vec()), 0..200),
        cut in 0usize..200,
    ) {
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        prop_assert_eq!(read(&[first, second]), read(&[&bytes]));
    }
}
