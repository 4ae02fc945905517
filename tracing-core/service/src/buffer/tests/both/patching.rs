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
