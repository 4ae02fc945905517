//! Packets of a trace file that a service has written.

use std::fs::File;
use std::os::unix::fs::FileExt;

use protozero::wire::{hostile, tag};

use crate::loss_scanner::LossScanner;
use tracing_file::compressed::begins_with_compressed;

/// Tag of `Trace.packet`: field 1, length-delimited.
const PACKET_TAG: u8 = tag::one_byte(1, tag::LEN);

/// A packet has fewer bytes.
const PACKET_BYTES_MAX: u64 = 1 << 28;

/// Bytes of a tag, of a length and of the first tag in a packet, at most.
const HEAD_BYTES_MAX: usize = 1 + 5 + 2;

/// Number of packets in `file`, also of compressed ones. `None`: its `bytes` are not whole packets.
pub(super) fn count_packets(file: &File, bytes: u64) -> Option<u64> {
    let mut packets = 0;
    let end = for_each_packet(file, |head, at, len| {
        packets += if begins_with_compressed(head) { count_inside(file, at, len) } else { 1 };
    });
    (end == bytes).then_some(packets)
}

/// Where the last whole packet at the beginning of `file` ends.
pub(super) fn whole_packets(file: &File) -> u64 {
    for_each_packet(file, |_, _, _| {})
}

/// Number of packets in the compressed packet of `len` bytes at `at`.
fn count_inside(file: &File, at: u64, len: u64) -> u64 {
    if len > PACKET_BYTES_MAX {
        return 1;
    }
    let mut packet = vec![0; usize::try_from(len).unwrap_or(0)];
    if file.read_exact_at(&mut packet, at).is_err() {
        return 1;
    }
    let mut scanner = LossScanner::default();
    scanner.scan_packet(&packet);
    scanner.packets
}

/// Calls `found` for each packet with its first bytes, where it begins, and its length. Returns where the
/// last whole packet ends. Reads little more than lengths.
pub(super) fn for_each_packet(file: &File, mut found: impl FnMut(&[u8], u64, u64)) -> u64 {
    let file_len = file.metadata().map_or(0, |metadata| metadata.len());
    let mut block = vec![0; 64 * 1024];
    let (mut block_at, mut block_len) = (0, 0);
    let mut at = 0;
    loop {
        if at < block_at || at + HEAD_BYTES_MAX as u64 > block_at + block_len as u64 {
            block_at = at;
            block_len = file.read_at(&mut block, at).unwrap_or(0);
        }
        let start = usize::try_from(at - block_at).unwrap_or(usize::MAX);
        let head = block[..block_len].get(start..).unwrap_or_default();
        let [PACKET_TAG, rest @ ..] = head else { return at };
        let Ok((len, body)) = hostile::varint_within::<5>(rest) else { return at };
        let body_at = at + (head.len() - body.len()) as u64;
        match body_at.checked_add(len).filter(|&end| end <= file_len) {
            Some(end) => {
                found(body, body_at, len);
                at = end;
            }
            None => return at,
        }
    }
}
