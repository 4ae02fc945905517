//! Reads every field of a message and adds the values, so that the compiler can remove nothing.

use protozero::ReadError;

use super::messages::*;

type Sum = Result<u64, ReadError>;

pub fn every_field(m: EveryFieldReader<'_>) -> Sum {
    let mut x = 0u64;
    for field in m {
        x = x.wrapping_add(match field? {
            EveryFieldField::FieldInt32(v) => i64::from(v) as u64,
            EveryFieldField::FieldInt64(v) => v as u64,
            EveryFieldField::FieldUint32(v) => u64::from(v),
            EveryFieldField::FieldUint64(v) => v,
            EveryFieldField::FieldDouble(v) => v.to_bits(),
            EveryFieldField::FieldNested(m) => every_field(m)?,
            EveryFieldField::FieldString(s) => {
                s.len() as u64 + u64::from(s.as_bytes().first().copied().unwrap_or(0))
            }
            EveryFieldField::Unknown(_) => 0,
        });
    }
    Ok(x)
}

fn debug_annotation(m: DebugAnnotationReader<'_>) -> Sum {
    let mut x = 0u64;
    for field in m {
        x = x.wrapping_add(match field? {
            DebugAnnotationField::NameIid(v) | DebugAnnotationField::UintValue(v) => v,
            DebugAnnotationField::StringValue(s) => s.len() as u64,
            DebugAnnotationField::Unknown(_) => 0,
        });
    }
    Ok(x)
}

fn track_event(m: TrackEventReader<'_>) -> Sum {
    let mut x = 0u64;
    for field in m {
        x = x.wrapping_add(match field? {
            TrackEventField::CategoryIids(v)
            | TrackEventField::NameIid(v)
            | TrackEventField::TrackUuid(v) => v,
            TrackEventField::DebugAnnotations(m) => debug_annotation(m)?,
            TrackEventField::Type(v) => v as u64,
            TrackEventField::Unknown(_) => 0,
        });
    }
    Ok(x)
}

pub fn packet(m: TracePacketReader<'_>) -> Sum {
    let mut x = 0u64;
    for field in m {
        x = x.wrapping_add(match field? {
            TracePacketField::Timestamp(v) => v,
            TracePacketField::TrustedPacketSequenceId(v) => u64::from(v),
            TracePacketField::TrackEvent(m) => track_event(m)?,
            TracePacketField::Unknown(_) => 0,
        });
    }
    Ok(x)
}

fn chunks_to_move(m: ChunksToMoveReader<'_>) -> Sum {
    let mut x = 0;
    for field in m {
        x += match field? {
            ChunksToMoveField::Page(v)
            | ChunksToMoveField::Chunk(v)
            | ChunksToMoveField::TargetBuffer(v) => u64::from(v),
            ChunksToMoveField::Unknown(_) => 0,
        };
    }
    Ok(x)
}

fn patch(m: PatchReader<'_>) -> Sum {
    let mut x = 0;
    for field in m {
        x += match field? {
            PatchField::Offset(v) => u64::from(v),
            PatchField::Data(d) => {
                u64::from(u32::from_le_bytes(d.first_chunk().copied().unwrap_or([0; 4])))
            }
            PatchField::Unknown(_) => 0,
        };
    }
    Ok(x)
}

fn chunk_to_patch(m: ChunkToPatchReader<'_>) -> Sum {
    let mut x = 0;
    for field in m {
        x += match field? {
            ChunkToPatchField::TargetBuffer(v)
            | ChunkToPatchField::WriterId(v)
            | ChunkToPatchField::ChunkId(v) => u64::from(v),
            ChunkToPatchField::Patches(m) => patch(m)?,
            ChunkToPatchField::HasMorePatches(v) => u64::from(v),
            ChunkToPatchField::Unknown(_) => 0,
        };
    }
    Ok(x)
}

pub fn commit(m: CommitDataRequestReader<'_>) -> Sum {
    let mut x = 0u64;
    for field in m {
        x = x.wrapping_add(match field? {
            CommitDataRequestField::ChunksToMove(m) => chunks_to_move(m)?,
            CommitDataRequestField::ChunksToPatch(m) => chunk_to_patch(m)?,
            CommitDataRequestField::FlushRequestId(v) => v,
            CommitDataRequestField::Unknown(_) => 0,
        });
    }
    Ok(x)
}
