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
    ($name:ident, $field:ident {
        $($variant:ident($type:ty) = $tag:literal $read:ident $(=> $wrap:ident)?,)*
    } $(runs { $($run:literal of $element:literal,)* })?) => {
        pub type $name<'a> = rt::TypedReader<'a, $field<'a>>;
        #[derive(Clone, Copy, Debug)]
        pub enum $field<'a> {
            $($variant($type),)*
            Unknown(rt::Field<'a>),
        }
        impl<'a> rt::TypedField<'a> for $field<'a> {
            #[inline(always)]
            fn read(f: &mut rt::Fields<'a>, tag: u32) -> Result<Option<Self>, rt::Malformed> {
                let field = match tag {
                    $($tag => reader!(@arm f $field $variant $read $($wrap)?),)*
                    $($($run => {
                        f.begin_run($element)?;
                        return Ok(None);
                    })*)?
                    _ => Self::Unknown(f.unknown(tag)?),
                };
                Ok(Some(field))
            }
        }
    };
    (@arm $f:ident $field:ident $variant:ident $read:ident) => { $field::$variant($f.$read()?) };
    (@arm $f:ident $field:ident $variant:ident $read:ident $wrap:ident) => {
        $field::$variant($wrap::new($f.$read()?))
    };
}

writer!(EveryFieldWriter,
    int32 field_int32 1 i32, int64 field_int64 2 i64, uint32 field_uint32 3 u32,
    uint64 field_uint64 4 u64, double field_double 12 f64, string field_string 500 &str;
    field_nested 14 EveryFieldWriter);
reader!(EveryFieldReader, EveryFieldField {
    FieldInt32(i32) = 8 int32,
    FieldInt64(i64) = 16 int64,
    FieldUint32(u32) = 24 uint32,
    FieldUint64(u64) = 32 uint64,
    FieldDouble(f64) = 97 double,
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

reader!(TrackEventReader, TrackEventField {
    CategoryIids(u64) = 24 uint64,
    DebugAnnotations(DebugAnnotationReader<'a>) = 34 bytes => DebugAnnotationReader,
    Type(i32) = 72 enumeration,
    NameIid(u64) = 80 uint64,
    TrackUuid(u64) = 88 uint64,
} runs {
    26 of 24,
});

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
