//! Patches.

use super::*;

/// The text of the only packet.
fn only(buffer: &mut TraceBuffer) -> String {
    let mut packets = read(buffer, 9);
    assert_eq!(packets.len(), 1);
    String::from_utf8(packets.remove(0).bytes).expect("letters")
}

pub fn patching_simple(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(100, 'a').flags(PATCH).copy(&mut buffer);
    assert!(patch(&mut buffer, 0, 5, b"YMCA", false));
    let text = only(&mut buffer);
    assert_eq!((&text[3..9], text.len()), ("aYMCAa", 99));
    assert_eq!((buffer.stats().patches_succeeded, buffer.stats().patches_failed), (1, 0));
}

pub fn patching_skip_if_chunk_doesnt_exist(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(100, 'a').flags(PATCH).copy(&mut buffer);
    let mut missing = |producer, writer, chunk| {
        let patches = [Patch { offset: 0, data: *b"evil" }];
        assert!(!buffer.patch(&patches_of(producer, writer, chunk, &patches)));
    };
    missing(1, 2, 0);
    missing(1, 1, 1);
    missing(1, 1, u32::MAX);
    missing(2, 1, 0);
    assert_eq!((buffer.stats().patches_failed, buffer.stats().patches_succeeded), (4, 0));
}

pub fn patching_at_boundaries_of_chunk(version: Version) {
    let mut buffer = ring(4096, version);
    for (id, seed) in (0..3).zip("abc".chars()) {
        chunk(1, 1, id).packet(16, seed).packet(32, seed).flags(PATCH).copy(&mut buffer);
    }
    // The first four bytes are the length and three more; the last four end the chunk.
    assert!(patch(&mut buffer, 1, 0, b"\x0fBBB", true));
    assert!(patch(&mut buffer, 1, 44, b"last", false));
    assert!(patch(&mut buffer, 0, 44, b"done", false));
    assert!(patch(&mut buffer, 2, 0, b"\x0fCCC", false));
    let texts: Vec<_> = read(&mut buffer, 9)
        .into_iter()
        .map(|p| String::from_utf8(p.bytes).expect("letters"))
        .collect();
    let expected = [
        "a".repeat(15),
        "a".repeat(27) + "done",
        "BBB".to_owned() + &"b".repeat(12),
        "b".repeat(27) + "last",
        "CCC".to_owned() + &"c".repeat(12),
        "c".repeat(31),
    ];
    assert_eq!(texts, expected);
}

pub fn patching_read_waits_for_patch_complete(version: Version) {
    let mut buffer = ring(4096, version);
    let waiting = chunk(1, 1, 0).packet(32, 'a').flags(NEXT | PATCH);
    waiting.copy(&mut buffer);
    chunk(1, 1, 1).packet(32, 'b').packet(32, 'c').flags(PREV).copy(&mut buffer);
    chunk(2, 1, 0).packet(32, 'z').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "z", "others are not held up");
    assert!(patch(&mut buffer, 0, 4, b"PATC", true));
    assert_eq!(text(&mut buffer), "", "there is more to come");
    assert!(patch(&mut buffer, 0, 8, b"HED!", false));
    let packets = read(&mut buffer, 9);
    assert_eq!(packets.len(), 2);
    assert_eq!(&packets[0].bytes[2..13], b"aPATCHED!aa".as_slice());
}

pub fn malicious_patch_out_of_bounds(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(16, 'a').flags(PATCH).copy(&mut buffer);
    chunk(1, 1, 1).packet(16, 'b').copy(&mut buffer);
    for offset in [13, 16, 17, 100, 4095, u32::MAX, u32::MAX - 3] {
        assert!(!patch(&mut buffer, 0, offset, b"evil", false), "{offset}");
    }
    assert_eq!(buffer.stats().patches_failed, 7);
    // The patches before the bad one stay applied; the request counts once.
    let half = [Patch { offset: 1, data: *b"good" }, Patch { offset: 99, data: *b"evil" }];
    assert!(!buffer.patch(&patches_of(1, 1, 0, &half)));
    assert_eq!((buffer.stats().patches_failed, buffer.stats().patches_succeeded), (8, 0));
    assert!(buffer.patch(&patches_of(1, 1, 0, &[])));
    assert_eq!(text(&mut buffer), "goda b");
}

/// User 20 got the number of a producer of user 10, whose chunk still waits for a patch. What it wrote itself makes no
/// difference.
pub fn patching_what_another_owner_of_the_number_left(version: Version) {
    for has_written in [false, true] {
        let mut buffer = ring(4096, version);
        chunk(1, 1, 0).packet(20, 'a').flags(PATCH | NEXT).of_user(10).copy(&mut buffer);
        if has_written {
            chunk(1, 1, 5).packet(20, 'b').of_user(20).copy(&mut buffer);
        }
        let patches = [Patch { offset: 4, data: *b"evil" }];
        for identity in [
            Identity { uid: 20, ..Identity::default() },
            Identity { uid: 10, pid: Some(7), ..Identity::default() },
            Identity { uid: 10, machine_id: 7, ..Identity::default() },
        ] {
            let sequence = SequenceKey { identity, ..sequence_of_user(10, 1, 1) };
            let patches = ChunkPatches { sequence, ..patches_of(1, 1, 0, &patches) };
            assert!(!buffer.patch(&patches), "{identity:?}");
        }
        assert_eq!(text(&mut buffer), if has_written { "b" } else { "" });
        assert_eq!((buffer.stats().patches_succeeded, buffer.stats().patches_failed), (0, 3));
    }
}

/// User 20 got the number of a producer of user 10, and wrote nothing.
pub fn the_end_of_what_another_owner_of_the_number_left(version: Version) {
    for (flags, end) in [
        (NEXT, SequenceEnd::Open { next: ChunkId::new(1) }),
        (PATCH, SequenceEnd::Unpatched),
        (0, SequenceEnd::Whole),
    ] {
        let mut buffer = ring(4096, version);
        chunk(1, 1, 0).packet(20, 'a').flags(flags).of_user(10).copy(&mut buffer);
        assert_eq!(buffer.sequence_end(sequence_of_user(10, 1, 1)), end);
        assert_eq!(buffer.sequence_end(sequence_of_user(20, 1, 1)), SequenceEnd::Whole);
    }
}

pub fn a_histogram_per_owner_of_a_number(version: Version) {
    let mut buffer = ring(4096, version);
    for (id, uid) in [(0, 10), (1, 10), (0, 20)] {
        chunk(1, 1, id).packet(20, 'a').of_user(uid).copy(&mut buffer);
    }
    assert_eq!(text(&mut buffer), "a a a");
    let stats = buffer.writer_stats().map(|w| (w.sequence.identity.uid, w.counts[1]));
    assert_eq!(stats.collect::<Vec<_>>(), [(10, 2), (20, 1)]);
}
