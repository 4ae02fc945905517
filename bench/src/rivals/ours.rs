//! Our library: writers and readers, and owned messages.

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
    include!(concat!(env!("OUT_DIR"), "/ours/mod.rs"));
}

#[allow(missing_docs, dead_code, clippy::all)]
#[path = ""]
pub mod generated_dropping {
    include!(concat!(env!("OUT_DIR"), "/ours_dropping/mod.rs"));
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
    use protozero::ReadError;

    fn every_field(m: EveryFieldReader<'_>) -> Result<u64, ReadError> {
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

    fn note(m: DebugAnnotationReader<'_>) -> Result<u64, ReadError> {
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

    fn event(m: TrackEventReader<'_>) -> Result<u64, ReadError> {
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

    fn packet(m: TracePacketReader<'_>) -> Result<u64, ReadError> {
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

    fn patch(m: PatchReader<'_>) -> Result<u64, ReadError> {
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

    fn commit(m: CommitDataRequestReader<'_>) -> Result<u64, ReadError> {
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

/// A module that builds and reads the owned messages of a generated one.
macro_rules! owned {
    ($(#[$doc:meta])* $name:ident, $generated:ident) => {
        $(#[$doc])*
        pub mod $name {
            use protozero::Message;

            use super::$generated as pb;

            objects!(|s: &str| s.to_owned(), |b: &[u8]| b.to_vec(), |m| Some(m), r#type);
            sums!(pb::EveryField, pb::TracePacket, pb::CommitDataRequest, r#type);

            fn encode(m: &impl Message, to: &mut [u8]) -> usize {
                m.encode_to_slice(to).expect("the buffer is large enough")
            }

            object_codec!(encode, |from| Message::decode(from));
        }
    };
}

owned!(
    /// Owned messages as the generator makes them: they keep unknown fields.
    owned,
    generated
);
owned!(
    /// Owned messages that drop unknown fields, as those of prost, quick-protobuf and micropb do.
    dropping,
    generated_dropping
);

/// Structs that borrow, as the derive makes them: nothing is copied, and unknown fields are dropped.
pub mod view {
    use protozero::MessageView;

    mod pb {
        use protozero::MessageView;

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct EveryField<'a> {
            #[pb(int32, 1)]
            pub field_int32: Option<i32>,
            #[pb(int64, 2)]
            pub field_int64: Option<i64>,
            #[pb(uint32, 3)]
            pub field_uint32: Option<u32>,
            #[pb(uint64, 4)]
            pub field_uint64: Option<u64>,
            #[pb(message, 14, repeated)]
            pub field_nested: Vec<EveryField<'a>>,
            #[pb(string, 500)]
            pub field_string: Option<&'a str>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct DebugAnnotation<'a> {
            #[pb(uint64, 1)]
            pub name_iid: Option<u64>,
            #[pb(uint64, 3)]
            pub uint_value: Option<u64>,
            #[pb(string, 6)]
            pub string_value: Option<&'a str>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct TrackEvent<'a> {
            #[pb(uint64, 3, repeated)]
            pub category_iids: Vec<u64>,
            #[pb(message, 4, repeated)]
            pub debug_annotations: Vec<DebugAnnotation<'a>>,
            #[pb(uint32, 9)]
            pub r#type: Option<u32>,
            #[pb(uint64, 10)]
            pub name_iid: Option<u64>,
            #[pb(uint64, 11)]
            pub track_uuid: Option<u64>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct TracePacket<'a> {
            #[pb(uint64, 8)]
            pub timestamp: Option<u64>,
            #[pb(uint32, 10)]
            pub trusted_packet_sequence_id: Option<u32>,
            #[pb(message, 11)]
            pub track_event: Option<TrackEvent<'a>>,
        }

        #[derive(Clone, PartialEq, Debug, Default, protozero::Message)]
        #[pb(skip_unknown)]
        pub struct ChunksToMove {
            #[pb(uint32, 1)]
            pub page: Option<u32>,
            #[pb(uint32, 2)]
            pub chunk: Option<u32>,
            #[pb(uint32, 3)]
            pub target_buffer: Option<u32>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct Patch<'a> {
            #[pb(uint32, 1)]
            pub offset: Option<u32>,
            #[pb(bytes, 2)]
            pub data: Option<&'a [u8]>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct ChunkToPatch<'a> {
            #[pb(uint32, 1)]
            pub target_buffer: Option<u32>,
            #[pb(uint32, 2)]
            pub writer_id: Option<u32>,
            #[pb(uint32, 3)]
            pub chunk_id: Option<u32>,
            #[pb(message, 4, repeated)]
            pub patches: Vec<Patch<'a>>,
            #[pb(bool, 5)]
            pub has_more_patches: Option<bool>,
        }

        #[derive(Clone, PartialEq, Debug, Default, MessageView)]
        #[pb(skip_unknown)]
        pub struct CommitDataRequest<'a> {
            #[pb(message, 1, repeated)]
            pub chunks_to_move: Vec<ChunksToMove>,
            #[pb(message, 2, repeated)]
            pub chunks_to_patch: Vec<ChunkToPatch<'a>>,
            #[pb(uint64, 3)]
            pub flush_request_id: Option<u64>,
        }
    }

    fn same<T: ?Sized>(value: &T) -> &T {
        value
    }

    objects!(same, same, Some, r#type);
    sums!(pb::EveryField<'_>, pb::TracePacket<'_>, pb::CommitDataRequest<'_>, r#type);

    fn encode<'a>(m: &impl MessageView<'a>, to: &mut [u8]) -> usize {
        m.encode_to_slice(to).expect("the buffer is large enough")
    }

    object_codec!(encode, |from| MessageView::decode(from));
}
