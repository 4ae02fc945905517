//! The tests of `trace_buffer_v2_unittest.cc`.

use super::both;
use super::both::begun;
use super::harness::*;
use crate::buffer::{Policy, TraceBuffer, Version};

mod identity;
mod loss;
mod order;
mod overwrite;
mod scraped;

macro_rules! as_in_both {
    ($(#[test] fn $name:ident;)*) => {$(
        #[test]
        fn $name() {
            both::$name(Version::V2);
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
    buffer(bytes, Policy::Ring, Version::V2)
}

fn discarding(bytes: usize) -> TraceBuffer {
    buffer(bytes, Policy::Discard, Version::V2)
}

#[test]
fn clone_no_fragments() {
    both::clone_no_fragments(Version::V2);
}

#[test]
fn creation() {
    let make = |bytes| TraceBuffer::new(bytes, Policy::Ring, Version::V2);
    let sizes = [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192), (1 << 20, 1 << 20)];
    for (asked, real) in sizes {
        assert_eq!(make(asked).expect("memory").stats().buffer_size, real);
    }
    // Rounded up they would have 4 GiB, for which offsets have too few bits.
    for bytes in [(1 << 32) - 4095, (1 << 32) - 1024, (1 << 32) - 1, 1 << 32, usize::MAX] {
        assert!(make(bytes).is_none(), "{bytes}");
    }
    let buffer = make((1 << 32) - 4096).expect("reserved, not touched");
    assert_eq!((buffer.stats().buffer_size, buffer.used_bytes()), ((1 << 32) - 4096, 0));
    assert_eq!((buffer.version(), buffer.has_data()), (Version::V2, false));
}

#[test]
fn sizes_of_chunks_are_16_bits() {
    let mut buffer = ring(1 << 20);
    let sized = |id: u32, len: usize| chunk(1, 1, id).packet(20, 'a').pad_to(len);
    sized(0, 65_536).copy(&mut buffer);
    sized(0, 65_536).incomplete().copy(&mut buffer);
    sized(0, 1 << 19).copy(&mut buffer);
    assert_eq!((buffer.stats().abi_violations, buffer.stats().chunks_written), (3, 0));
    // An incomplete chunk keeps all its room, a complete one only its fragments.
    sized(0, 65_535).copy(&mut buffer);
    sized(1, 65_535).incomplete().copy(&mut buffer);
    assert_eq!(buffer.stats().bytes_written, 48 + 65_552);
    sized(1, 65_535).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a a");
}

#[test]
fn read_write_padding() {
    let mut buffer = ring(4096);
    for (id, (len, seed)) in (0..).zip([(128, 'a'), (256, 'b'), (2048, 'c'), (1024, 'd')]) {
        chunk(1, 1, id).packet(len - 16, seed).copy(&mut buffer);
    }
    assert_eq!(buffer.used_bytes(), 3456);
    // 640 bytes are left, and stay as they are. From 0 on, the records in 704 bytes are evicted.
    chunk(1, 1, 4).packet(704 - 16, 'e').copy(&mut buffer);
    let stats = *buffer.stats();
    assert_eq!((stats.chunks_overwritten, stats.bytes_overwritten), (3, 2432));
    assert_eq!((stats.padding_bytes_written, stats.padding_bytes_cleared), (2432 - 704, 0));
    assert_eq!((stats.write_wrap_count, buffer.used_bytes()), (1, 3456));
    assert_eq!(losses(&mut buffer), "d=65 e");
    chunk(1, 1, 5).packet(1728 - 16, 'f').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_cleared, 2432 - 704);
    assert_eq!(losses(&mut buffer), "f");
}

#[test]
fn read_write_minimal_padding() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(2032 - 16, 'b').copy(&mut buffer);
    chunk(1, 1, 2).packet(2032 - 16, 'c').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_written, 16, "between this one and 'b'");
    assert_eq!(buffer.used_bytes(), 4080);
    assert_eq!(text(&mut buffer), "b c");
}

#[test]
fn alignment_exact_buffer_boundary_fragmentation() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(1024 - 16, 'b').packet(1024, 'c').flags(NEXT).copy(&mut buffer);
    assert_eq!((buffer.used_bytes(), buffer.stats().write_wrap_count), (4096, 0));
    assert_eq!(text(&mut buffer), "a b");
    chunk(1, 1, 2).packet(512 - 16, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(buffer.stats().write_wrap_count, 1);
    assert_eq!(losses(&mut buffer), "cd");
}

#[test]
fn write_wrap_count() {
    let mut buffer = ring(4096);
    for id in 0..4 {
        chunk(1, 1, id).packet(1024 - 16, 'a').copy(&mut buffer);
        assert_eq!(buffer.stats().write_wrap_count, 0);
    }
    for id in 4..13 {
        chunk(1, 1, id).packet(1024 - 16, 'a').copy(&mut buffer);
        assert_eq!(buffer.stats().write_wrap_count, u64::from(id) / 4);
    }
}

#[test]
fn discard_policy() {
    let mut buffer = discarding(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a");
    // Nothing is ever overwritten, not even read chunks.
    chunk(1, 1, 1).packet(1024 - 16, 'b').copy(&mut buffer);
    chunk(2, 1, 0).packet(2048 - 16, 'c').copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'd').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "b");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_discarded, stats.chunks_overwritten), (2, 0));
    assert_eq!(stats.write_wrap_count, 0);
}

#[test]
fn discard_policy_fills_exactly_then_discards() {
    let mut buffer = discarding(4096);
    for (id, seed) in (0..6).zip("abcdef".chars()) {
        chunk(1, 1, id).packet(1024 - 16, seed).copy(&mut buffer);
    }
    assert_eq!(buffer.stats().chunks_discarded, 2);
    assert_eq!(text(&mut buffer), "a b c d");
    assert_eq!((buffer.stats().write_wrap_count, buffer.used_bytes()), (0, 4096));
}

#[test]
fn discard_mode_fragmented_packet_at_boundary() {
    let mut buffer = discarding(4096);
    chunk(1, 1, 0).packet(3072 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(512 - 16, 'b').packet(512, 'c').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(512, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b");
    assert_eq!(text(&mut buffer), "", "the end of 'c' never came");
    assert_eq!(buffer.stats().chunks_discarded, 1);
}
