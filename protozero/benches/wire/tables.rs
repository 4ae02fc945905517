//! The same sums, read from tables.

use protozero::ReadError;

use super::messages::*;

type Sum = Result<u64, ReadError>;

pub fn every_field(m: EveryFieldReader<'_>) -> Sum {
    let t = m.table()?;
    let text = t.field_string.unwrap_or_default();
    let mut x = i64::from(t.field_int32.unwrap_or_default()) as u64;
    x = x.wrapping_add(t.field_int64.unwrap_or_default() as u64);
    x = x.wrapping_add(u64::from(t.field_uint32.unwrap_or_default()));
    x = x.wrapping_add(t.field_uint64.unwrap_or_default());
    x = x.wrapping_add(t.field_double.map_or(0, f64::to_bits));
    x = x.wrapping_add(text.len() as u64);
    x = x.wrapping_add(u64::from(text.as_bytes().first().copied().unwrap_or(0)));
    match t.field_nested {
        Some(m) => Ok(x.wrapping_add(every_field(m)?)),
        None => Ok(x),
    }
}

pub fn packet(m: TracePacketReader<'_>) -> Sum {
    let t = m.table()?;
    let mut x = t.timestamp.unwrap_or_default();
    x = x.wrapping_add(u64::from(t.trusted_packet_sequence_id.unwrap_or_default()));
    let Some(event) = t.track_event else { return Ok(x) };
    let t = event.table()?;
    x = x.wrapping_add(t.r#type.unwrap_or_default() as u64);
    x = x.wrapping_add(t.name_iid.unwrap_or_default());
    x = x.wrapping_add(t.track_uuid.unwrap_or_default());
    for iid in t.category_iids {
        x = x.wrapping_add(iid?);
    }
    for annotation in t.debug_annotations {
        let t = annotation?.table()?;
        x = x.wrapping_add(t.name_iid.unwrap_or_default());
        x = x.wrapping_add(t.uint_value.unwrap_or_default());
        x = x.wrapping_add(t.string_value.map_or(0, |s| s.len() as u64));
    }
    Ok(x)
}

pub fn commit(m: CommitDataRequestReader<'_>) -> Sum {
    let t = m.table()?;
    let mut x = t.flush_request_id.unwrap_or_default();
    for chunk in t.chunks_to_move {
        let t = chunk?.table()?;
        for v in [t.page, t.chunk, t.target_buffer] {
            x = x.wrapping_add(u64::from(v.unwrap_or_default()));
        }
    }
    for chunk in t.chunks_to_patch {
        let t = chunk?.table()?;
        for v in [t.target_buffer, t.writer_id, t.chunk_id] {
            x = x.wrapping_add(u64::from(v.unwrap_or_default()));
        }
        x = x.wrapping_add(u64::from(t.has_more_patches.unwrap_or_default()));
        for patch in t.patches {
            let t = patch?.table()?;
            x = x.wrapping_add(u64::from(t.offset.unwrap_or_default()));
            let data = t.data.and_then(|d| d.first_chunk().copied()).unwrap_or([0; 4]);
            x = x.wrapping_add(u64::from(u32::from_le_bytes(data)));
        }
    }
    Ok(x)
}
