//! quick-protobuf: structs that borrow their strings.

use std::borrow::Cow;

use quick_protobuf::{BytesReader, BytesWriter, MessageRead, MessageWrite, Writer};

use crate::input::Input;

#[allow(clippy::all, unused)]
mod generated {
    pub mod bench {
        include!(concat!(env!("OUT_DIR"), "/quick/included.rs"));
    }
}
use generated::bench as pb;

#[inline]
fn simple(i: &Input) -> pb::EveryField<'_> {
    let s = &i.simple;
    pb::EveryField {
        field_int32: Some(s.int32),
        field_uint32: Some(s.uint32),
        field_int64: Some(s.int64),
        field_uint64: Some(s.uint64),
        field_string: Some(Cow::Borrowed(s.text())),
        field_nested: Vec::new(),
    }
}

fn nested(i: &Input, levels: u32) -> pb::EveryField<'_> {
    let mut m = simple(i);
    if levels > 0 {
        m.field_nested.push(nested(i, levels - 1));
    }
    m
}

#[inline]
fn packet(i: &Input) -> pb::TracePacket<'_> {
    let p = &i.packet;
    let first = pb::DebugAnnotation {
        name_iid: Some(p.first_name),
        uint_value: Some(p.first_value),
        string_value: None,
    };
    let second = pb::DebugAnnotation {
        name_iid: Some(p.second_name),
        uint_value: None,
        string_value: Some(Cow::Borrowed(p.text())),
    };
    let mut event = pb::TrackEvent {
        type_pb: Some(p.kind),
        name_iid: Some(p.name),
        track_uuid: Some(p.uuid),
        ..Default::default()
    };
    event.category_iids.extend_from_slice(p.categories());
    event.debug_annotations.push(first);
    event.debug_annotations.push(second);
    pb::TracePacket {
        timestamp: Some(p.time),
        trusted_packet_sequence_id: Some(p.sequence),
        track_event: Some(event),
    }
}

#[inline]
fn commit(i: &Input) -> pb::CommitDataRequest<'_> {
    let mut m = pb::CommitDataRequest::default();
    for x in &i.commit.moves {
        m.chunks_to_move.push(pb::ChunksToMove {
            page: Some(x.page),
            chunk: Some(x.chunk),
            target_buffer: Some(x.buffer),
        });
    }
    for x in &i.commit.patches {
        let patch = pb::Patch { offset: Some(x.offset), data: Some(Cow::Borrowed(&x.data[..])) };
        m.chunks_to_patch.push(pb::ChunkToPatch {
            target_buffer: Some(x.buffer),
            writer_id: Some(x.writer),
            chunk_id: Some(x.chunk),
            patches: vec![patch],
            has_more_patches: Some(x.more != 0),
        });
    }
    m.flush_request_id = Some(i.commit.flush);
    m
}

sums!(pb::EveryField<'_>, pb::TracePacket<'_>, pb::CommitDataRequest<'_>, type_pb);

fn encode(m: &impl MessageWrite, to: &mut [u8]) -> usize {
    let len = m.get_size();
    m.write_message(&mut Writer::new(BytesWriter::new(to))).expect("the buffer is large enough");
    len
}

object_codec!(encode, |from| MessageRead::from_reader(&mut BytesReader::from_bytes(from), from));
