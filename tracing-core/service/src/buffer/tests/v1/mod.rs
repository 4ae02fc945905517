//! The tests of `trace_buffer_v1_unittest.cc`.

use super::both;
use super::harness::*;
use crate::buffer::{Policy, TraceBuffer, Version};

mod order;

macro_rules! as_in_both {
    ($(#[test] fn $name:ident;)*) => {$(
        #[test]
        fn $name() {
            both::$name(Version::V1);
        }
    )*};
}

as_in_both! {
    #[test] fn read_write_empty_buffer;
    #[test] fn read_write_simple;
    #[test] fn read_write_one_chunk_per_writer;
    #[test] fn read_write_fill_till_end;
    #[test] fn read_write_wrapping_cases;
    #[test] fn read_write_empty_packet;
    #[test] fn fragments_simple;
    #[test] fn fragments_edge_cases;
    #[test] fn fragments_that_give_nothing_are_paused_in;
    #[test] fn fragments_empty_chunk_before;
    #[test] fn fragments_empty_chunk_after;
    #[test] fn fragments_empty_chunk_in_the_middle;
    #[test] fn fragments_long_packets;
    #[test] fn fragments_preserve_uid;
    #[test] fn fragments_discarded_on_packet_size_drop_packet;
    #[test] fn fragments_incomplete_chunk_needs_patching;
    #[test] fn patching_simple;
    #[test] fn patching_skip_if_chunk_doesnt_exist;
    #[test] fn patching_at_boundaries_of_chunk;
    #[test] fn patching_read_waits_for_patch_complete;
    #[test] fn patching_what_another_owner_of_the_number_left;
    #[test] fn the_end_of_what_another_owner_of_the_number_left;
    #[test] fn a_histogram_per_owner_of_a_number;
    #[test] fn malicious_zero_sized_chunk;
    #[test] fn malicious_chunk_too_big;
    #[test] fn malicious_declare_more_packets_beyond_boundaries;
    #[test] fn malicious_zero_varint_header;
    #[test] fn malicious_overflowing_varint_header;
    #[test] fn malicious_varint_header_too_big;
    #[test] fn malicious_jumbo_varint;
    #[test] fn malicious_zero_varint_header_in_sequence;
    #[test] fn malicious_zero_varint_header_at_end_of_chunk;
    #[test] fn malicious_patch_out_of_bounds;
    #[test] fn malicious_override_with_shorter_chunk_size;
    #[test] fn malicious_override_with_shorter_chunk_size_after_read;
    #[test] fn malicious_override_with_different_offset_after_read;
    #[test] fn override_re_commit_before_read;
    #[test] fn override_re_commit_after_partial_read;
    #[test] fn override_re_commit_after_full_read;
    #[test] fn override_re_commit_invalid;
    #[test] fn override_re_commit_reordered;
    #[test] fn override_re_commit_reordered_fragmenting;
    #[test] fn override_re_commit_same_before_read;
    #[test] fn override_re_commit_same_after_read;
    #[test] fn override_re_commit_incomplete_after_read_out_of_order;
    #[test] fn override_re_commit_incomplete_fragmenting;
    #[test] fn override_end_of_buffer;
    #[test] fn clone_fragments_out_of_order;
    #[test] fn clone_with_patches;
    #[test] fn clone_wrapping;
    #[test] fn clone_wrapping_with_padding;
    #[test] fn clone_commit_only_used_size;
}

fn ring(bytes: usize) -> TraceBuffer {
    buffer(bytes, Policy::Ring, Version::V1)
}

#[test]
fn clone_no_fragments_preserve_read_iter() {
    both::clone_no_fragments(Version::V1);
}

#[test]
fn read_write_padding() {
    let mut buffer = ring(4096);
    for (id, (len, seed)) in (0..).zip([(128, 'a'), (256, 'b'), (2048, 'c'), (1024, 'd')]) {
        chunk(1, 1, id).packet(len - 16, seed).copy(&mut buffer);
    }
    assert_eq!(buffer.used_bytes(), 128 + 256 + 2048 + 1024);
    // 640 bytes are left and padded. From 0 on, the records in 704 bytes are evicted; what is too much is padded.
    chunk(1, 1, 4).packet(704 - 16, 'e').copy(&mut buffer);
    let stats = *buffer.stats();
    assert_eq!((stats.chunks_overwritten, stats.bytes_overwritten), (3, 2432));
    assert_eq!(stats.padding_bytes_written, 640 + 2432 - 704);
    assert_eq!((stats.write_wrap_count, buffer.used_bytes()), (1, 4096));
    assert_eq!(seeds(&mut buffer), "!d e");
    chunk(1, 1, 5).packet(1728 - 16, 'f').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_cleared, 2432 - 704);
    assert_eq!(seeds(&mut buffer), "f");
}

#[test]
fn read_write_minimal_padding() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(2032 - 16, 'b').copy(&mut buffer);
    // 16 bytes at the end, and 16 bytes between this chunk and 'b'.
    chunk(1, 1, 2).packet(2032 - 16, 'c').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_written, 32);
    assert_eq!(seeds(&mut buffer), "!b c");
    chunk(1, 1, 3).packet(16, 'd').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_cleared, 16);
    assert_eq!(text(&mut buffer), "d");
}

#[test]
fn read_write_random_chunks_no_wrapping() {
    let mut buffer = ring(64 * 1024);
    let mut expected: Vec<((u16, u16), u32, String)> = Vec::new();
    let mut state = 1u32;
    for i in 0..200u32 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (producer, writer) = ((state >> 16) as u16 % 5 + 1, (state >> 24) as u16 % 5 + 1);
        let seed = (b'a' + (i % 26) as u8) as char;
        let id = expected.iter().filter(|(key, ..)| *key == (producer, writer)).count() as u32;
        chunk(producer, writer, id).packet((state >> 8) as usize % 250 + 2, seed).copy(&mut buffer);
        expected.push(((producer, writer), id, seed.to_string()));
    }
    expected.sort_unstable();
    let expected: Vec<_> = expected.into_iter().map(|(.., seed)| seed).collect();
    assert_eq!(text(&mut buffer), expected.join(" "));
}

/// The chunks in the padded end are evicted, and not found any more.
fn padding_at_end_updates_index(last: usize) {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    chunk(1, 2, 0).packet(last - 16, 'b').copy(&mut buffer);
    chunk(1, 3, 0).packet(2048 - last - 16, 'c').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a !b !c");
    chunk(1, 1, 1).packet(2048 - 16, 'd').copy(&mut buffer);
    // 2048 bytes are left, with 'b' and 'c' in them.
    chunk(1, 1, 2).packet(3072 - 16, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!e");
    assert!(!patch(&mut buffer, 0, 0, b"evil", false));
    assert!(!buffer.patch(&patches_of(1, 2, 0, &[])), "'b' is not in the index");
    // It comes again as a new chunk.
    chunk(1, 2, 0).packet(512 - 16, 'f').copy(&mut buffer);
    assert_eq!(buffer.stats().abi_violations, 0);
    assert_eq!(seeds(&mut buffer), "!f");
}

#[test]
fn read_write_padding_at_end_updates_index() {
    padding_at_end_updates_index(1024);
}

#[test]
fn read_write_padding_at_end_updates_index_misaligned() {
    padding_at_end_updates_index(2048 - 48);
}

#[test]
fn discard_policy() {
    let mut buffer = buffer(4096, Policy::Discard, Version::V1);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    // As long as the reader keeps up, the buffer wraps around.
    chunk(1, 1, 1).packet(2048 - 16, 'b').copy(&mut buffer);
    chunk(1, 1, 2).packet(1024 - 16, 'c').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 0);
    chunk(2, 1, 0).packet(2048 - 16, 'd').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 1, "'b' is unread");
    assert_eq!(seeds(&mut buffer), "!b c");
    chunk(3, 1, 0).packet(20, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_discarded, stats.chunks_overwritten), (2, 0));
}

#[test]
fn missing_packets_on_sequence() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').bytes(&[0xff; 8]).count(3).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').packet(20, 'd').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a b !c d");
    // Only read chunks are overwritten. Nothing was lost, but version 1 cannot know that.
    chunk(1, 1, 3).packet(4096 - 16, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!e");
    chunk(1, 1, 4).packet(2048 - 16, 'f').copy(&mut buffer);
    chunk(1, 1, 5).packet(2048 - 16, 'g').copy(&mut buffer);
    chunk(1, 1, 6).packet(2048 - 16, 'h').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!g h", "'f' was evicted");
    assert_eq!(read(&mut buffer, 1), []);
}
