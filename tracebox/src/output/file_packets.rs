//! Packets of a trace file that a service has written.

use std::fs::File;
use std::os::unix::fs::FileExt;

use protozero::wire::{hostile, tag};

/// Tag of `Trace.packet`: field 1, length-delimited.
const PACKET_TAG: u8 = tag::one_byte(1, tag::LEN);

/// Bytes of a tag and of a length, at most.
const HEAD_BYTES_MAX: usize = 1 + 5;

/// Where the last whole packet at the beginning of `file` ends.
pub(super) fn whole_packets(file: &File) -> u64 {
    for_each_packet(file, || {})
}

/// Calls `found` for each packet. Returns where the last whole packet ends. Reads little more than lengths.
pub(super) fn for_each_packet(file: &File, mut found: impl FnMut()) -> u64 {
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
                found();
                at = end;
            }
            None => return at,
        }
    }
}
