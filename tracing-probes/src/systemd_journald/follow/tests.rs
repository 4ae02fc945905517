//! Bounds of what is read and kept. They need no `journalctl`.

use std::io::Cursor;

use super::*;

#[test]
fn a_batch_is_read_at_a_time() {
    let mut reader = Reader::new(Vec::new());
    let mut printed = Cursor::new(vec![b'\n'; 2 * JOURNAL_BATCH_BYTES]);
    for (batches, may_come) in [(1, true), (2, true), (2, false)] {
        let read = reader.read(&mut printed, || false, |_| panic!("a line without a field"));
        assert_eq!(read.expect("bytes"), may_come);
        assert_eq!(printed.position(), batches * JOURNAL_BATCH_BYTES as u64);
    }
    printed.set_position(0);
    let read = reader.read(&mut printed, || true, |_| panic!("there is no place for it"));
    assert_eq!((read.expect("no end"), printed.position()), (true, 0));
}

#[test]
fn a_mailbox_is_full_until_it_is_emptied() {
    let mailbox = Mailbox::default();
    let entry = Arc::new(Entry { message: Some("x".repeat(10_000)), ..Entry::default() });
    let count = JOURNAL_MAILBOX_BYTES_MAX.div_ceil(entry.bytes());
    for _ in 0..count {
        assert!(!mailbox.is_full());
        mailbox.put(&entry);
    }
    assert!(mailbox.is_full());
    assert_eq!(mailbox.take().len(), count);
    assert!(!mailbox.is_full());
}
