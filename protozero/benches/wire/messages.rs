//! Hand-written writers and readers of the benchmark's messages, in the form that the code
//! generator emits. Field numbers and types are those of the real messages; `EveryField` is that of
//! C++ protozero's own benchmark.
#![allow(dead_code)]

use protozero::rt;

macro_rules! writer {
    ($name:ident $(, $kind:ident $field:ident $n:literal $type:ty)* $(; $child:ident $cn:literal $cw:ident)*) => {
        rt::writer!($name, "bench");
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

writer!(EveryFieldWriter,
    int32 field_int32 1 i32, int64 field_int64 2 i64, uint32 field_uint32 3 u32,
    uint64 field_uint64 4 u64, double field_double 12 f64, string field_string 500 &str;
    field_nested 14 EveryFieldWriter);
rt::reader! {
    "EveryField": EveryFieldReader, EveryFieldField, EveryFieldTable;
    one {
        FieldInt32(i32) field_int32 = 8 as Int32;
        FieldInt64(i64) field_int64 = 16 as Int64;
        FieldUint32(u32) field_uint32 = 24 as Uint32;
        FieldUint64(u64) field_uint64 = 32 as Uint64;
        FieldDouble(f64) field_double = 97 as Double;
        FieldNested(EveryFieldReader<'a>) field_nested = 114 as Message;
        FieldString(&'a str) field_string = 4002 as String;
    }
}

writer!(DebugAnnotationWriter,
    uint64 name_iid 1 u64, uint64 uint_value 3 u64, string string_value 6 &str);
rt::reader! {
    "DebugAnnotation": DebugAnnotationReader, DebugAnnotationField, DebugAnnotationTable;
    one {
        NameIid(u64) name_iid = 8 as Uint64;
        UintValue(u64) uint_value = 24 as Uint64;
        StringValue(&'a str) string_value = 50 as String;
    }
}

writer!(TrackEventWriter,
    uint64 category_iids 3 u64, enumeration r#type 9 i32, uint64 name_iid 10 u64,
    uint64 track_uuid 11 u64;
    debug_annotations 4 DebugAnnotationWriter);

rt::reader! {
    "TrackEvent": TrackEventReader, TrackEventField, TrackEventTable;
    one {
        Type(i32) r#type = 72 as Int32;
        NameIid(u64) name_iid = 80 as Uint64;
        TrackUuid(u64) track_uuid = 88 as Uint64;
    }
    many {
        CategoryIids(u64) category_iids = 24 | 26 as Uint64;
        DebugAnnotations(DebugAnnotationReader<'a>) debug_annotations = 34 as Message;
    }
}

writer!(TracePacketWriter,
    uint64 timestamp 8 u64, uint32 trusted_packet_sequence_id 10 u32;
    track_event 11 TrackEventWriter);
rt::reader! {
    "TracePacket": TracePacketReader, TracePacketField, TracePacketTable;
    one {
        Timestamp(u64) timestamp = 64 as Uint64;
        TrustedPacketSequenceId(u32) trusted_packet_sequence_id = 80 as Uint32;
        TrackEvent(TrackEventReader<'a>) track_event = 90 as Message;
    }
}

writer!(ChunksToMoveWriter, uint32 page 1 u32, uint32 chunk 2 u32, uint32 target_buffer 3 u32);
rt::reader! {
    "ChunksToMove": ChunksToMoveReader, ChunksToMoveField, ChunksToMoveTable;
    one {
        Page(u32) page = 8 as Uint32;
        Chunk(u32) chunk = 16 as Uint32;
        TargetBuffer(u32) target_buffer = 24 as Uint32;
    }
}

writer!(PatchWriter, uint32 offset 1 u32, bytes data 2 &[u8]);
rt::reader! {
    "Patch": PatchReader, PatchField, PatchTable;
    one {
        Offset(u32) offset = 8 as Uint32;
        Data(&'a [u8]) data = 18 as Bytes;
    }
}

writer!(ChunkToPatchWriter,
    uint32 target_buffer 1 u32, uint32 writer_id 2 u32, uint32 chunk_id 3 u32,
    bool has_more_patches 5 bool;
    patches 4 PatchWriter);
rt::reader! {
    "ChunkToPatch": ChunkToPatchReader, ChunkToPatchField, ChunkToPatchTable;
    one {
        TargetBuffer(u32) target_buffer = 8 as Uint32;
        WriterId(u32) writer_id = 16 as Uint32;
        ChunkId(u32) chunk_id = 24 as Uint32;
        HasMorePatches(bool) has_more_patches = 40 as Bool;
    }
    many {
        Patches(PatchReader<'a>) patches = 34 as Message;
    }
}

writer!(CommitDataRequestWriter, uint64 flush_request_id 3 u64;
    chunks_to_move 1 ChunksToMoveWriter; chunks_to_patch 2 ChunkToPatchWriter);
rt::reader! {
    "CommitDataRequest": CommitDataRequestReader, CommitDataRequestField, CommitDataRequestTable;
    one {
        FlushRequestId(u64) flush_request_id = 24 as Uint64;
    }
    many {
        ChunksToMove(ChunksToMoveReader<'a>) chunks_to_move = 10 as Message;
        ChunksToPatch(ChunkToPatchReader<'a>) chunks_to_patch = 18 as Message;
    }
}
