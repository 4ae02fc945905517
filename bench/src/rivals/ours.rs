//! Us: writers and readers, and owned messages.

#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    clippy::all
)]
#[path = ""]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/ours/bench.rs"));
}

pub mod writer {
    use protozero::{FixedSink, Writer};

    use super::generated::*;
    use crate::input::{Commit, Input, Packet, Simple};

    #[inline(always)]
    fn simple(m: &mut EveryFieldWriter<'_>, s: &Simple) {
        m.field_int32(s.int32).field_uint32(s.uint32).field_int64(s.int64).field_uint64(s.uint64);
        m.field_string(s.text());
    }

    #[inline(always)]
    fn nested(m: &mut EveryFieldWriter<'_>, s: &Simple) {
        simple(m, s);
        let mut m = m.field_nested();
        simple(&mut m, s);
        let mut m = m.field_nested();
        simple(&mut m, s);
        simple(&mut m.field_nested(), s);
    }

    #[inline(always)]
    fn packet(m: &mut TracePacketWriter<'_>, p: &Packet) {
        m.timestamp(p.time).trusted_packet_sequence_id(p.sequence);
        let mut event = m.track_event();
        for &category in p.categories() {
            event.category_iids(category);
        }
        event.debug_annotations().name_iid(p.first_name).uint_value(p.first_value);
        event.debug_annotations().name_iid(p.second_name).string_value(p.text());
        event.r#type(p.kind).name_iid(p.name).track_uuid(p.uuid);
    }

    #[inline(always)]
    fn commit(m: &mut CommitDataRequestWriter<'_>, c: &Commit) {
        for x in &c.moves {
            m.chunks_to_move().page(x.page).chunk(x.chunk).target_buffer(x.buffer);
        }
        for x in &c.patches {
            let mut chunk = m.chunks_to_patch();
            chunk.target_buffer(x.buffer).writer_id(x.writer).chunk_id(x.chunk);
            chunk.patches().offset(x.offset).data(&x.data);
            chunk.has_more_patches(x.more != 0);
        }
        m.flush_request_id(c.flush);
    }

    macro_rules! write {
        ($writer:ident, $fill:ident, $part:ident) => {
            |i: &Input, to: &mut [u8]| {
                let mut stream = FixedSink::stream(to);
                $fill(&mut $writer::from_scope(stream.root()), &i.$part);
                stream.finish().map_or(0, |written| written.len())
            }
        };
    }
    encoders!(
        write!(EveryFieldWriter, simple, simple),
        write!(EveryFieldWriter, nested, simple),
        write!(TracePacketWriter, packet, packet),
        write!(CommitDataRequestWriter, commit, commit)
    );
}

pub mod reader {
    use super::generated::*;
    use protozero::DecodeError;

    fn every_field(m: EveryFieldReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            sum = sum.wrapping_add(match field? {
                EveryFieldField::FieldInt32(v) => i64::from(v) as u64,
                EveryFieldField::FieldUint32(v) => v.into(),
                EveryFieldField::FieldInt64(v) => v as u64,
                EveryFieldField::FieldUint64(v) => v,
                EveryFieldField::FieldString(v) => {
                    (v.len() + usize::from(v.as_bytes().first().copied().unwrap_or(0))) as u64
                }
                EveryFieldField::FieldNested(m) => every_field(m)?,
                EveryFieldField::Unknown(_) => 0,
            });
        }
        Ok(sum)
    }

    fn note(m: DebugAnnotationReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            sum = sum.wrapping_add(match field? {
                DebugAnnotationField::NameIid(v) | DebugAnnotationField::UintValue(v) => v,
                DebugAnnotationField::StringValue(v) => v.len() as u64,
                DebugAnnotationField::Unknown(_) => 0,
            });
        }
        Ok(sum)
    }

    fn event(m: TrackEventReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            sum = sum.wrapping_add(match field? {
                TrackEventField::CategoryIids(v)
                | TrackEventField::NameIid(v)
                | TrackEventField::TrackUuid(v) => v,
                TrackEventField::Type(v) => v.into(),
                TrackEventField::DebugAnnotations(m) => note(m)?,
                TrackEventField::Unknown(_) => 0,
            });
        }
        Ok(sum)
    }

    fn packet(m: TracePacketReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            sum = sum.wrapping_add(match field? {
                TracePacketField::Timestamp(v) => v,
                TracePacketField::TrustedPacketSequenceId(v) => v.into(),
                TracePacketField::TrackEvent(m) => event(m)?,
                TracePacketField::Unknown(_) => 0,
            });
        }
        Ok(sum)
    }

    fn patch(m: PatchReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            sum = sum.wrapping_add(match field? {
                PatchField::Offset(v) => v.into(),
                PatchField::Data(v) => v.first_chunk().map_or(0, |v| u32::from_le_bytes(*v).into()),
                PatchField::Unknown(_) => 0,
            });
        }
        Ok(sum)
    }

    fn commit(m: CommitDataRequestReader<'_>) -> Result<u64, DecodeError> {
        let mut sum = 0u64;
        for field in m {
            match field? {
                CommitDataRequestField::ChunksToMove(m) => {
                    for field in m {
                        match field? {
                            ChunksToMoveField::Page(v)
                            | ChunksToMoveField::Chunk(v)
                            | ChunksToMoveField::TargetBuffer(v) => sum += u64::from(v),
                            ChunksToMoveField::Unknown(_) => {}
                        }
                    }
                }
                CommitDataRequestField::ChunksToPatch(m) => {
                    for field in m {
                        sum += match field? {
                            ChunkToPatchField::TargetBuffer(v)
                            | ChunkToPatchField::WriterId(v)
                            | ChunkToPatchField::ChunkId(v) => v.into(),
                            ChunkToPatchField::Patches(m) => patch(m)?,
                            ChunkToPatchField::HasMorePatches(v) => v.into(),
                            ChunkToPatchField::Unknown(_) => 0,
                        };
                    }
                }
                CommitDataRequestField::FlushRequestId(v) => sum += v,
                CommitDataRequestField::Unknown(_) => {}
            }
        }
        Ok(sum)
    }

    decoders!(
        |from| every_field(EveryFieldReader::new(from)).unwrap_or(0),
        |from| every_field(EveryFieldReader::new(from)).unwrap_or(0),
        |from| packet(TracePacketReader::new(from)).unwrap_or(0),
        |from| commit(CommitDataRequestReader::new(from)).unwrap_or(0)
    );
}

pub mod owned {
    use protozero::Message;

    use super::generated as pb;

    objects!(|s: &str| s.to_owned(), |b: &[u8]| b.to_vec(), |m| Some(m), r#type);
    sums!(pb::EveryField, pb::TracePacket, pb::CommitDataRequest, r#type);

    fn encode(m: &impl Message, to: &mut [u8]) -> usize {
        m.encode_to_slice(to).expect("the buffer is large enough")
    }

    object_codec!(encode, |from| Message::decode(from));
}
