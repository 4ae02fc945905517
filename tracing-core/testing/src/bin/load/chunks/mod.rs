//! Chunks that hostile producers write: valid in their form, so that the service takes them.

use abi::shm::header::{ChunkFlags, ChunkState, Packets, PageWord};
use abi::shm::layout::{CHUNK_HEADER_BYTES, Layout, PageSize};
use protos::{TestEvent, TracePacket, TracePacketData, TracePacketOptionalTrustedUid};
use protozero::Message as _;

use crate::hostile::Random;

/// Bytes of a chunk before its payload.
pub const CHUNK_HEADER: usize = CHUNK_HEADER_BYTES;
/// Writers whose chunks are handed over.
const WRITERS: u64 = 3;
/// The writer whose chunks are never handed over: the service has its packets only if it looks for them.
pub const SCRAPED_WRITER: u16 = 9;
/// The text of its packets.
pub const SCRAPED: &str = "scraped";

/// The length of a packet in the form in which it can be patched.
pub fn length(bytes: usize) -> [u8; 4] {
    let at = |shift: usize| (bytes >> shift) as u8 & 0x7f;
    [at(0) | 0x80, at(7) | 0x80, at(14) | 0x80, at(21)]
}

/// A packet that says that it is of another user.
fn packet(text: &str, number: u64) -> Vec<u8> {
    let event =
        TestEvent { counter: Some(number), str: Some(text.to_owned()), ..Default::default() };
    let is_forged = number.is_multiple_of(16);
    TracePacket {
        data: Some(TracePacketData::ForTesting(event)),
        optional_trusted_uid: is_forged.then_some(TracePacketOptionalTrustedUid::TrustedUid(0)),
        ..Default::default()
    }
    .encode_to_vec()
}

fn header(id: u32, writer: u16, count: usize, flags: ChunkFlags) -> [u8; CHUNK_HEADER] {
    let mut header = [0; CHUNK_HEADER];
    header[..4].copy_from_slice(&id.to_le_bytes());
    header[4..6].copy_from_slice(&writer.to_le_bytes());
    let packets = (count as u16 % Packets::COUNT_MAX) | (u16::from(flags.0) << 10);
    header[6..].copy_from_slice(&packets.to_le_bytes());
    header
}

/// A chunk of at most `bytes`, with its header. If it `is_open`, the length of its last packet is missing.
pub fn chunk(random: &mut Random, id: u32, is_open: bool, bytes: usize) -> Vec<u8> {
    let mut chunk = vec![0; CHUNK_HEADER];
    let mut count = 0;
    let wanted = 1 + random.below(6);
    while count < wanted as usize {
        let text = "h".repeat(random.below((bytes as u64 / 2).min(700)) as usize);
        let packet = packet(&text, random.below(1000));
        if chunk.len() + 4 + packet.len() > bytes {
            break;
        }
        let is_last = count + 1 == wanted as usize;
        chunk.extend_from_slice(&length(if is_last && is_open { 0 } else { packet.len() }));
        chunk.extend_from_slice(&packet);
        count += 1;
    }
    let mut flags = if is_open { ChunkFlags::NEEDS_PATCHING } else { ChunkFlags(0) };
    if random.below(8) == 0 {
        flags = flags.with(ChunkFlags(random.below(4) as u8));
    }
    let writer = 1 + random.below(WRITERS) as u16;
    chunk[..CHUNK_HEADER].copy_from_slice(&header(id, writer, count, flags));
    chunk
}

/// The writer of a chunk.
pub fn writer(chunk: &[u8]) -> u32 {
    u32::from(u16::from_le_bytes([chunk[4], chunk[5]]))
}

/// Where the last packet of a chunk is: that of its length.
pub fn last_packet(chunk: &[u8]) -> usize {
    let (mut at, mut last) = (CHUNK_HEADER, CHUNK_HEADER);
    while at + 4 <= chunk.len() {
        last = at;
        let bytes = chunk[at..at + 4].iter().rev();
        let length = bytes.fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        if length == 0 {
            break;
        }
        at += 4 + length;
    }
    last
}

/// A page full of chunks, complete or still being written.
pub struct Page {
    pub bytes: Vec<u8>,
    /// Its chunks that are complete.
    pub complete: Vec<u32>,
}

/// Makes a page whose first chunk has the number `id`. The chunks that are still being written are of
/// [`SCRAPED_WRITER`].
pub fn page(random: &mut Random, size: PageSize, id: u32) -> Page {
    let layout = Layout::ALL[random.below(Layout::ALL.len() as u64) as usize];
    let mut word = PageWord::partitioned(layout);
    let mut page = Page { bytes: vec![0; size.bytes()], complete: Vec::new() };
    let capacity = layout.chunk_bytes(size);
    for index in 0..layout.chunk_count() {
        let Some(at) = layout.chunk_off(size, index) else { continue };
        let id = id.wrapping_add(index as u32);
        let (is_written, is_open) = (random.below(4) == 0, random.below(8) == 0);
        let chunk = match is_written {
            true => being_written(id),
            false => chunk(random, id, is_open, capacity),
        };
        let state = if is_written { ChunkState::BeingWritten } else { ChunkState::Complete };
        word = word.with_state(index, state);
        if !is_written {
            page.complete.push(index as u32);
        }
        page.bytes[at..at + chunk.len()].copy_from_slice(&chunk);
    }
    page.bytes[..4].copy_from_slice(&word.0.to_le_bytes());
    page
}

/// A chunk that its writer has not finished: only what comes before its last packet is.
fn being_written(id: u32) -> Vec<u8> {
    let mut chunk = header(id, SCRAPED_WRITER, 4, ChunkFlags(0)).to_vec();
    for number in 0..4 {
        let packet = packet(SCRAPED, number);
        chunk.extend_from_slice(&length(packet.len()));
        chunk.extend_from_slice(&packet);
    }
    chunk
}

#[cfg(test)]
mod tests;
