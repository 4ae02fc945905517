//! Libraries whose messages are structs of options: the value is built, then serialised; parsed, then
//! read. That is how they are used, so that is measured.

/// Builders of the four payloads from the module `pb` in scope: how a string, bytes and a sub-message
/// are wrapped, and what `type` is called.
macro_rules! objects {
    ($text:expr, $bytes:expr, $message:expr, $kind:ident) => {
        use crate::input::Input;

        #[inline]
        fn simple(i: &Input) -> pb::EveryField {
            let mut m = pb::EveryField::default();
            m.field_int32 = Some(i.simple.int32);
            m.field_uint32 = Some(i.simple.uint32);
            m.field_int64 = Some(i.simple.int64);
            m.field_uint64 = Some(i.simple.uint64);
            m.field_string = Some($text(i.simple.text()));
            m
        }

        fn nested(i: &Input, levels: u32) -> pb::EveryField {
            let mut m = simple(i);
            if levels > 0 {
                m.field_nested.push(nested(i, levels - 1));
            }
            m
        }

        #[inline]
        fn packet(i: &Input) -> pb::TracePacket {
            let p = &i.packet;
            let mut event = pb::TrackEvent::default();
            event.category_iids.extend_from_slice(p.categories());
            let mut note = pb::DebugAnnotation::default();
            note.name_iid = Some(p.first_name);
            note.uint_value = Some(p.first_value);
            event.debug_annotations.push(note);
            let mut note = pb::DebugAnnotation::default();
            note.name_iid = Some(p.second_name);
            note.string_value = Some($text(p.text()));
            event.debug_annotations.push(note);
            event.$kind = Some(p.kind);
            event.name_iid = Some(p.name);
            event.track_uuid = Some(p.uuid);
            let mut m = pb::TracePacket::default();
            m.timestamp = Some(p.time);
            m.trusted_packet_sequence_id = Some(p.sequence);
            m.track_event = $message(event);
            m
        }

        #[inline]
        fn commit(i: &Input) -> pb::CommitDataRequest {
            let mut m = pb::CommitDataRequest::default();
            for x in &i.commit.moves {
                let mut chunk = pb::ChunksToMove::default();
                chunk.page = Some(x.page);
                chunk.chunk = Some(x.chunk);
                chunk.target_buffer = Some(x.buffer);
                m.chunks_to_move.push(chunk);
            }
            for x in &i.commit.patches {
                let mut chunk = pb::ChunkToPatch::default();
                chunk.target_buffer = Some(x.buffer);
                chunk.writer_id = Some(x.writer);
                chunk.chunk_id = Some(x.chunk);
                let mut patch = pb::Patch::default();
                patch.offset = Some(x.offset);
                patch.data = Some($bytes(&x.data[..]));
                chunk.patches.push(patch);
                chunk.has_more_patches = Some(x.more != 0);
                m.chunks_to_patch.push(chunk);
            }
            m.flush_request_id = Some(i.commit.flush);
            m
        }
    };
}

/// Readers of all fields of structs of options, owned or borrowed.
macro_rules! sums {
    ($every:ty, $packet:ty, $commit:ty, $kind:ident) => {
        use crate::rivals::objects::Part as _;

        fn sum_every(m: &$every) -> u64 {
            let text: &str = m.field_string.as_deref().unwrap_or("");
            let mut sum = (i64::from(m.field_int32.unwrap_or(0)) as u64)
                .wrapping_add(m.field_uint32.unwrap_or(0).into())
                .wrapping_add(m.field_int64.unwrap_or(0) as u64)
                .wrapping_add(m.field_uint64.unwrap_or(0))
                .wrapping_add(text.len() as u64)
                .wrapping_add(text.as_bytes().first().copied().unwrap_or(0).into());
            for m in m.field_nested.iter() {
                sum = sum.wrapping_add(sum_every(m));
            }
            sum
        }

        fn sum_packet(m: &$packet) -> u64 {
            let sequence = m.trusted_packet_sequence_id.unwrap_or(0);
            let mut sum = m.timestamp.unwrap_or(0).wrapping_add(sequence.into());
            let Some(event) = m.track_event.part() else { return sum };
            sum = sum
                .wrapping_add(event.$kind.unwrap_or(0).into())
                .wrapping_add(event.track_uuid.unwrap_or(0))
                .wrapping_add(event.name_iid.unwrap_or(0));
            for category in event.category_iids.iter() {
                sum = sum.wrapping_add(*category);
            }
            for note in event.debug_annotations.iter() {
                sum = sum
                    .wrapping_add(note.name_iid.unwrap_or(0))
                    .wrapping_add(note.uint_value.unwrap_or(0))
                    .wrapping_add(note.string_value.as_deref().map_or(0, |s: &str| s.len() as u64));
            }
            sum
        }

        fn sum_commit(m: &$commit) -> u64 {
            let mut sum = m.flush_request_id.unwrap_or(0);
            for chunk in m.chunks_to_move.iter() {
                sum += u64::from(chunk.page.unwrap_or(0))
                    + u64::from(chunk.chunk.unwrap_or(0))
                    + u64::from(chunk.target_buffer.unwrap_or(0));
            }
            for chunk in m.chunks_to_patch.iter() {
                sum += u64::from(chunk.target_buffer.unwrap_or(0))
                    + u64::from(chunk.writer_id.unwrap_or(0))
                    + u64::from(chunk.chunk_id.unwrap_or(0))
                    + u64::from(chunk.has_more_patches.unwrap_or(false));
                for patch in chunk.patches.iter() {
                    let data: &[u8] = patch.data.as_deref().unwrap_or(&[]);
                    let word = data.first_chunk().map_or(0, |d| u32::from_le_bytes(*d));
                    sum += u64::from(patch.offset.unwrap_or(0)) + u64::from(word);
                }
            }
            sum
        }
    };
}

/// `ENCODE` and `DECODE` from the builders and readers above: how a message is serialised and parsed.
macro_rules! object_codec {
    ($encode:expr, |$from:ident| $decode:expr) => {
        encoders!(
            |i: &Input, to| $encode(&simple(i), to),
            |i: &Input, to| $encode(&nested(i, 3), to),
            |i: &Input, to| $encode(&packet(i), to),
            |i: &Input, to| $encode(&commit(i), to)
        );
        object_decoders!(|$from| $decode);
    };
}

/// `DECODE` alone.
macro_rules! object_decoders {
    (|$from:ident| $decode:expr) => {
        decoders!(
            |$from| sum_every(&$decode.expect("a message")),
            |$from| sum_every(&$decode.expect("a message")),
            |$from| sum_packet(&$decode.expect("a message")),
            |$from| sum_commit(&$decode.expect("a message"))
        );
    };
}

/// A sub-message, in the wrapper of each library.
pub trait Part {
    type Part;
    fn part(&self) -> Option<&Self::Part>;
}

impl<T> Part for Option<T> {
    type Part = T;
    fn part(&self) -> Option<&T> {
        self.as_ref()
    }
}

impl<T: Default, P: buffa::ProtoBox<T>> Part for buffa::MessageField<T, P> {
    type Part = T;
    fn part(&self) -> Option<&T> {
        self.as_option()
    }
}

impl<T> Part for buffa::MessageFieldView<T> {
    type Part = T;
    fn part(&self) -> Option<&T> {
        self.as_option()
    }
}

impl<T> Part for protobuf3::MessageField<T> {
    type Part = T;
    fn part(&self) -> Option<&T> {
        self.as_ref()
    }
}
