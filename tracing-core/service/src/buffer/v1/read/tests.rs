//! What the reader remembers between passes.

use super::*;
use crate::buffer::ring::Ring as _;
use crate::buffer::{BufferLimits, ChunkMeta, Identity, Policy};
use abi::ids::{ProducerId, WriterId};

fn new_buffer() -> Buffer {
    Buffer::new(4096, Policy::Ring, BufferLimits::DEFAULT).unwrap()
}

fn add(buffer: &mut Buffer, id: u32, flags: u8) {
    commit(buffer, id, flags, true);
}

fn commit(buffer: &mut Buffer, id: u32, flags: u8, complete: bool) {
    let meta = ChunkMeta {
        producer: ProducerId::new(1),
        identity: Identity { uid: 0, pid: None, machine_id: 0 },
        writer: WriterId::new(1),
        chunk: ChunkId::new(id),
        fragments: 1,
        flags: ChunkFlags(flags),
        complete,
    };
    buffer.copy_chunk(&meta, &[1, 0]);
}

fn pieces(buffer: &mut Buffer) -> Option<usize> {
    buffer.begin_read();
    buffer.next_packet().map(|packet| packet.slices.len())
}

#[test]
fn looking_ahead_goes_on_where_it_gave_up() {
    let mut buffer = new_buffer();
    add(&mut buffer, 0, 2);
    for id in 1..5 {
        add(&mut buffer, id, 3);
        assert_eq!(pieces(&mut buffer), None);
    }
    // No producer can cause this change: a pass that looks at this chunk again would stop here.
    let off = buffer.index.sequence(0).unwrap().chunks.get(ChunkId::new(2)).unwrap();
    let record = buffer.common.memory.record_at(off).unwrap();
    buffer.common.memory.put_chunk(off, Record { flags: ChunkFlags(0), ..record });
    add(&mut buffer, 5, 1);
    assert_eq!(pieces(&mut buffer), Some(6));
    assert_eq!(
        (buffer.common.stats.readaheads_failed, buffer.common.stats.readaheads_succeeded),
        (4, 1)
    );
}

#[test]
fn looking_ahead_starts_over_when_its_way_changed() {
    let mut evicted = new_buffer();
    for (id, flags) in [(0, 2), (1, 3), (2, 3)] {
        add(&mut evicted, id, flags);
    }
    assert_eq!(pieces(&mut evicted), None);
    evicted.index.remove(0, ChunkId::new(1));
    add(&mut evicted, 3, 1);
    assert_eq!(pieces(&mut evicted), None);
    assert_eq!(evicted.common.stats.readaheads_failed, 2);

    let mut rewritten = new_buffer();
    add(&mut rewritten, 0, 2);
    commit(&mut rewritten, 1, 0, false);
    add(&mut rewritten, 2, 1);
    assert_eq!(pieces(&mut rewritten), None);
    commit(&mut rewritten, 1, 0, true);
    assert_eq!(rewritten.common.stats.chunks_rewritten, 1);
    assert_eq!(pieces(&mut rewritten), None);
    assert_eq!(rewritten.common.stats.readaheads_failed, 2);
}
