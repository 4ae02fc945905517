//! micropb, with containers of std.

use micropb::{MessageDecode, MessageEncode, PbEncoder};

use crate::input::Input;

#[allow(clippy::all, unused)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/micropb/bench.rs"));
}
use generated::bench_ as pb;

fn simple(i: &Input) -> pb::EveryField {
    let mut m = pb::EveryField::default();
    m.set_field_int32(i.simple.int32);
    m.set_field_uint32(i.simple.uint32);
    m.set_field_int64(i.simple.int64);
    m.set_field_uint64(i.simple.uint64);
    m.set_field_string(i.simple.text().to_owned());
    m
}

fn nested(i: &Input, levels: u32) -> pb::EveryField {
    let mut m = simple(i);
    if levels > 0 {
        m.field_nested.push(nested(i, levels - 1));
    }
    m
}

fn packet(i: &Input) -> pb::TracePacket {
    let p = &i.packet;
    let mut event = pb::TrackEvent::default();
    event.category_iids.extend_from_slice(p.categories());
    let mut note = pb::DebugAnnotation::default();
    note.set_name_iid(p.first_name);
    note.set_uint_value(p.first_value);
    event.debug_annotations.push(note);
    let mut note = pb::DebugAnnotation::default();
    note.set_name_iid(p.second_name);
    note.set_string_value(p.text().to_owned());
    event.debug_annotations.push(note);
    event.set_type(p.kind);
    event.set_name_iid(p.name);
    event.set_track_uuid(p.uuid);
    let mut m = pb::TracePacket::default();
    m.set_timestamp(p.time);
    m.set_trusted_packet_sequence_id(p.sequence);
    m.set_track_event(event);
    m
}

fn commit(i: &Input) -> pb::CommitDataRequest {
    let mut m = pb::CommitDataRequest::default();
    for x in &i.commit.moves {
        let mut chunk = pb::ChunksToMove::default();
        chunk.set_page(x.page);
        chunk.set_chunk(x.chunk);
        chunk.set_target_buffer(x.buffer);
        m.chunks_to_move.push(chunk);
    }
    for x in &i.commit.patches {
        let mut chunk = pb::ChunkToPatch::default();
        chunk.set_target_buffer(x.buffer);
        chunk.set_writer_id(x.writer);
        chunk.set_chunk_id(x.chunk);
        let mut patch = pb::Patch::default();
        patch.set_offset(x.offset);
        patch.set_data(x.data.to_vec());
        chunk.patches.push(patch);
        chunk.set_has_more_patches(x.more != 0);
        m.chunks_to_patch.push(chunk);
    }
    m.set_flush_request_id(i.commit.flush);
    m
}

fn encode(m: &impl MessageEncode, to: &mut [u8]) -> usize {
    let capacity = to.len();
    let mut encoder = PbEncoder::new(to);
    m.encode(&mut encoder).expect("the buffer is large enough");
    capacity - encoder.into_writer().len()
}

fn parse<M: MessageDecode + Default>(from: &[u8]) -> M {
    let mut m = M::default();
    m.decode_from_bytes(from).expect("a message");
    m
}

fn sum_every(m: &pb::EveryField) -> u64 {
    let text = m.field_string.as_bytes();
    let mut sum = (i64::from(m.field_int32) as u64)
        .wrapping_add(m.field_uint32.into())
        .wrapping_add(m.field_int64 as u64)
        .wrapping_add(m.field_uint64)
        .wrapping_add(text.len() as u64)
        .wrapping_add(text.first().copied().unwrap_or(0).into());
    for m in &m.field_nested {
        sum = sum.wrapping_add(sum_every(m));
    }
    sum
}

fn sum_packet(m: &pb::TracePacket) -> u64 {
    let event = &m.track_event;
    let mut sum = m
        .timestamp
        .wrapping_add(m.trusted_packet_sequence_id.into())
        .wrapping_add(event.r#type.into())
        .wrapping_add(event.track_uuid)
        .wrapping_add(event.name_iid);
    for category in &event.category_iids {
        sum = sum.wrapping_add(*category);
    }
    for note in &event.debug_annotations {
        sum = sum
            .wrapping_add(note.name_iid)
            .wrapping_add(note.uint_value)
            .wrapping_add(note.string_value.len() as u64);
    }
    sum
}

fn sum_commit(m: &pb::CommitDataRequest) -> u64 {
    let mut sum = m.flush_request_id;
    for chunk in &m.chunks_to_move {
        sum += u64::from(chunk.page) + u64::from(chunk.chunk) + u64::from(chunk.target_buffer);
    }
    for chunk in &m.chunks_to_patch {
        sum += u64::from(chunk.target_buffer)
            + u64::from(chunk.writer_id)
            + u64::from(chunk.chunk_id)
            + u64::from(chunk.has_more_patches);
        for patch in &chunk.patches {
            let word = patch.data.first_chunk().map_or(0, |d| u32::from_le_bytes(*d));
            sum += u64::from(patch.offset) + u64::from(word);
        }
    }
    sum
}

encoders!(
    |i: &Input, to| encode(&simple(i), to),
    |i: &Input, to| encode(&nested(i, 3), to),
    |i: &Input, to| encode(&packet(i), to),
    |i: &Input, to| encode(&commit(i), to)
);
decoders!(
    |from| sum_every(&parse(from)),
    |from| sum_every(&parse(from)),
    |from| sum_packet(&parse(from)),
    |from| sum_commit(&parse(from))
);
