//! Writers and readers of the benchmark's messages, spelled out by hand in exactly the shape the
//! code generator gives them. Field numbers and types are those of the real messages; `EveryField`
//! is that of protozero's own benchmark.
#![allow(dead_code)]

use protozero::rt;

macro_rules! writer {
    ($name:ident $(, $kind:ident $field:ident $n:literal $type:ty)* $(; $child:ident $cn:literal $cw:ident)*) => {
        pub struct $name<'w> {
            s: rt::Scope<'w>,
        }
        impl<'w> rt::Writer<'w> for $name<'w> {
            const NAME: &'static str = stringify!($name);
            #[inline]
            fn from_scope(s: rt::Scope<'w>) -> Self {
                Self { s }
            }
        }
        impl $name<'_> {
            $(#[inline]
            pub fn $field(&mut self, value: $type) -> &mut Self {
                rt::$kind::<$n>(&mut self.s, value);
                self
            })*
            $(#[inline]
            pub fn $child(&mut self) -> $cw<'_> {
                rt::message::<$cn, $cw<'_>>(&mut self.s)
            })*
        }
    };
}

macro_rules! reader {
    ($name:ident, $field:ident { $($variant:ident($type:ty) = $tag:literal $read:ident $(=> $wrap:ident)?,)* }) => {
        #[derive(Clone, Copy, Debug)]
        pub enum $field<'a> {
            $($variant($type),)*
            Unknown(rt::Field<'a>),
        }
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            fields: rt::Fields<'a>,
        }
        impl<'a> $name<'a> {
            #[inline]
            pub const fn new(bytes: &'a [u8]) -> Self {
                Self { fields: rt::Fields::new(bytes) }
            }
            #[inline(always)]
            fn field(&mut self) -> Result<Option<$field<'a>>, rt::DecodeError> {
                let f = &mut self.fields;
                loop {
                    let Some(tag) = f.next_tag()? else { return Ok(None) };
                    return Ok(Some(match tag {
                        $($tag => reader!(@arm f $field $variant $read $($wrap)?),)*
                        _ => $field::Unknown(f.unknown(tag)?),
                    }));
                }
            }
        }
        impl<'a> Iterator for $name<'a> {
            type Item = Result<$field<'a>, rt::DecodeError>;
            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.field().transpose()
            }
        }
    };
    (@arm $f:ident $field:ident $variant:ident run $element:ident) => {{
        $f.begin_run($element)?;
        continue
    }};
    (@arm $f:ident $field:ident $variant:ident $read:ident) => { $field::$variant($f.$read()?) };
    (@arm $f:ident $field:ident $variant:ident $read:ident $wrap:ident) => {
        $field::$variant($wrap::new($f.$read()?))
    };
}

writer!(EveryFieldWriter,
    int32 field_int32 1 i32, int64 field_int64 2 i64, uint32 field_uint32 3 u32,
    uint64 field_uint64 4 u64, string field_string 500 &str;
    field_nested 14 EveryFieldWriter);
reader!(EveryFieldReader, EveryFieldField {
    FieldInt32(i32) = 8 int32,
    FieldInt64(i64) = 16 int64,
    FieldUint32(u32) = 24 uint32,
    FieldUint64(u64) = 32 uint64,
    FieldNested(EveryFieldReader<'a>) = 114 bytes => EveryFieldReader,
    FieldString(&'a str) = 4002 string,
});

writer!(DebugAnnotationWriter,
    uint64 name_iid 1 u64, uint64 uint_value 3 u64, string string_value 6 &str);
reader!(DebugAnnotationReader, DebugAnnotationField {
    NameIid(u64) = 8 uint64,
    UintValue(u64) = 24 uint64,
    StringValue(&'a str) = 50 string,
});

writer!(TrackEventWriter,
    uint64 category_iids 3 u64, enumeration r#type 9 i32, uint64 name_iid 10 u64,
    uint64 track_uuid 11 u64;
    debug_annotations 4 DebugAnnotationWriter);

/// With a run, which the macro does not spell.
#[derive(Clone, Copy, Debug)]
pub enum TrackEventField<'a> {
    CategoryIids(u64),
    DebugAnnotations(DebugAnnotationReader<'a>),
    Type(i32),
    NameIid(u64),
    TrackUuid(u64),
    Unknown(rt::Field<'a>),
}
#[derive(Clone, Copy, Debug)]
pub struct TrackEventReader<'a> {
    fields: rt::Fields<'a>,
}
impl<'a> TrackEventReader<'a> {
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { fields: rt::Fields::new(bytes) }
    }
    #[inline(always)]
    fn field(&mut self) -> Result<Option<TrackEventField<'a>>, rt::DecodeError> {
        let f = &mut self.fields;
        loop {
            let Some(tag) = f.next_tag()? else { return Ok(None) };
            return Ok(Some(match tag {
                24 => TrackEventField::CategoryIids(f.uint64()?),
                26 => {
                    f.begin_run(24)?;
                    continue;
                }
                34 => TrackEventField::DebugAnnotations(DebugAnnotationReader::new(f.bytes()?)),
                72 => TrackEventField::Type(f.enumeration()?),
                80 => TrackEventField::NameIid(f.uint64()?),
                88 => TrackEventField::TrackUuid(f.uint64()?),
                _ => TrackEventField::Unknown(f.unknown(tag)?),
            }));
        }
    }
}
impl<'a> Iterator for TrackEventReader<'a> {
    type Item = Result<TrackEventField<'a>, rt::DecodeError>;
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.field().transpose()
    }
}

writer!(TracePacketWriter,
    uint64 timestamp 8 u64, uint32 trusted_packet_sequence_id 10 u32;
    track_event 11 TrackEventWriter);
reader!(TracePacketReader, TracePacketField {
    Timestamp(u64) = 64 uint64,
    TrustedPacketSequenceId(u32) = 80 uint32,
    TrackEvent(TrackEventReader<'a>) = 90 bytes => TrackEventReader,
});

writer!(ChunksToMoveWriter, uint32 page 1 u32, uint32 chunk 2 u32, uint32 target_buffer 3 u32);
reader!(ChunksToMoveReader, ChunksToMoveField {
    Page(u32) = 8 uint32,
    Chunk(u32) = 16 uint32,
    TargetBuffer(u32) = 24 uint32,
});

writer!(PatchWriter, uint32 offset 1 u32, bytes data 2 &[u8]);
reader!(PatchReader, PatchField {
    Offset(u32) = 8 uint32,
    Data(&'a [u8]) = 18 bytes,
});

writer!(ChunkToPatchWriter,
    uint32 target_buffer 1 u32, uint32 writer_id 2 u32, uint32 chunk_id 3 u32,
    bool has_more_patches 5 bool;
    patches 4 PatchWriter);
reader!(ChunkToPatchReader, ChunkToPatchField {
    TargetBuffer(u32) = 8 uint32,
    WriterId(u32) = 16 uint32,
    ChunkId(u32) = 24 uint32,
    Patches(PatchReader<'a>) = 34 bytes => PatchReader,
    HasMorePatches(bool) = 40 bool,
});

writer!(CommitDataRequestWriter, uint64 flush_request_id 3 u64;
    chunks_to_move 1 ChunksToMoveWriter; chunks_to_patch 2 ChunkToPatchWriter);
reader!(CommitDataRequestReader, CommitDataRequestField {
    ChunksToMove(ChunksToMoveReader<'a>) = 10 bytes => ChunksToMoveReader,
    ChunksToPatch(ChunkToPatchReader<'a>) = 18 bytes => ChunkToPatchReader,
    FlushRequestId(u64) = 24 uint64,
});
