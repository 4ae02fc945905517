//! Google's protobuf 4, on the upb kernel.

use protobuf::{Parse, Serialize};

use crate::input::Input;

#[allow(clippy::all, unused)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/upb/generated.rs"));
}

fn simple(i: &Input) -> pb::EveryField {
    let mut m = pb::EveryField::new();
    m.set_field_int32(i.simple.int32);
    m.set_field_uint32(i.simple.uint32);
    m.set_field_int64(i.simple.int64);
    m.set_field_uint64(i.simple.uint64);
    m.set_field_string(i.simple.text());
    m
}

fn nested(i: &Input, levels: u32) -> pb::EveryField {
    let mut m = simple(i);
    if levels > 0 {
        m.field_nested_mut().push(nested(i, levels - 1));
    }
    m
}

fn packet(i: &Input) -> pb::TracePacket {
    let p = &i.packet;
    let mut m = pb::TracePacket::new();
    m.set_timestamp(p.time);
    m.set_trusted_packet_sequence_id(p.sequence);
    let mut event = m.track_event_mut();
    for category in p.categories() {
        event.category_iids_mut().push(*category);
    }
    let mut note = pb::DebugAnnotation::new();
    note.set_name_iid(p.first_name);
    note.set_uint_value(p.first_value);
    event.debug_annotations_mut().push(note);
    let mut note = pb::DebugAnnotation::new();
    note.set_name_iid(p.second_name);
    note.set_string_value(p.text());
    event.debug_annotations_mut().push(note);
    event.set_type(p.kind);
    event.set_name_iid(p.name);
    event.set_track_uuid(p.uuid);
    m
}

fn commit(i: &Input) -> pb::CommitDataRequest {
    let mut m = pb::CommitDataRequest::new();
    for x in &i.commit.moves {
        let mut chunk = pb::ChunksToMove::new();
        chunk.set_page(x.page);
        chunk.set_chunk(x.chunk);
        chunk.set_target_buffer(x.buffer);
        m.chunks_to_move_mut().push(chunk);
    }
    for x in &i.commit.patches {
        let mut chunk = pb::ChunkToPatch::new();
        chunk.set_target_buffer(x.buffer);
        chunk.set_writer_id(x.writer);
        chunk.set_chunk_id(x.chunk);
        let mut patch = pb::Patch::new();
        patch.set_offset(x.offset);
        patch.set_data(&x.data[..]);
        chunk.patches_mut().push(patch);
        chunk.set_has_more_patches(x.more != 0);
        m.chunks_to_patch_mut().push(chunk);
    }
    m.set_flush_request_id(i.commit.flush);
    m
}

fn encode(m: &impl Serialize, to: &mut [u8]) -> usize {
    let bytes = m.serialize().expect("a message");
    to[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

fn sum_every(m: pb::EveryFieldView<'_>) -> u64 {
    let text = m.field_string();
    let text = text.as_bytes();
    let mut sum = (i64::from(m.field_int32()) as u64)
        .wrapping_add(m.field_uint32().into())
        .wrapping_add(m.field_int64() as u64)
        .wrapping_add(m.field_uint64())
        .wrapping_add(text.len() as u64)
        .wrapping_add(text.first().copied().unwrap_or(0).into());
    for m in m.field_nested() {
        sum = sum.wrapping_add(sum_every(m));
    }
    sum
}

fn sum_packet(m: pb::TracePacketView<'_>) -> u64 {
    let event = m.track_event();
    let mut sum = m
        .timestamp()
        .wrapping_add(m.trusted_packet_sequence_id().into())
        .wrapping_add(event.r#type().into())
        .wrapping_add(event.track_uuid())
        .wrapping_add(event.name_iid());
    for category in event.category_iids() {
        sum = sum.wrapping_add(category);
    }
    for note in event.debug_annotations() {
        sum = sum
            .wrapping_add(note.name_iid())
            .wrapping_add(note.uint_value())
            .wrapping_add(note.string_value().as_bytes().len() as u64);
    }
    sum
}

fn sum_commit(m: pb::CommitDataRequestView<'_>) -> u64 {
    let mut sum = m.flush_request_id();
    for chunk in m.chunks_to_move() {
        sum +=
            u64::from(chunk.page()) + u64::from(chunk.chunk()) + u64::from(chunk.target_buffer());
    }
    for chunk in m.chunks_to_patch() {
        sum += u64::from(chunk.target_buffer())
            + u64::from(chunk.writer_id())
            + u64::from(chunk.chunk_id())
            + u64::from(chunk.has_more_patches());
        for patch in chunk.patches() {
            let word = patch.data().first_chunk().map_or(0, |d| u32::from_le_bytes(*d));
            sum += u64::from(patch.offset()) + u64::from(word);
        }
    }
    sum
}

fn parse<M: Parse>(from: &[u8]) -> M {
    M::parse(from).expect("a message")
}

encoders!(
    |i: &Input, to| encode(&simple(i), to),
    |i: &Input, to| encode(&nested(i, 3), to),
    |i: &Input, to| encode(&packet(i), to),
    |i: &Input, to| encode(&commit(i), to)
);
decoders!(
    |from| sum_every(parse::<pb::EveryField>(from).as_view()),
    |from| sum_every(parse::<pb::EveryField>(from).as_view()),
    |from| sum_packet(parse::<pb::TracePacket>(from).as_view()),
    |from| sum_commit(parse::<pb::CommitDataRequest>(from).as_view())
);
