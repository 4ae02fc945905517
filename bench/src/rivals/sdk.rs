//! Google's Rust SDK: its protobuf writer over the C library's stream, its pull decoder.
//!
//! The crate has no writer over the caller's memory. The stream's heap buffer is replaced every 4096
//! messages; the bytes are copied out only when they are compared, see [`COMPARED`].

use std::cell::RefCell;

use perfetto_sdk::heap_buffer::HeapBuffer;
use perfetto_sdk::pb_decoder::{PbDecoder, PbDecoderField as Field};
use perfetto_sdk::pb_msg::{PbMsg, PbMsgWriter};

use crate::COMPARED;
use crate::input::{Input, Simple};

/// Messages per heap buffer.
const REPLACED_AFTER: u32 = 4096;

struct Stream {
    /// Before the writer it refers to.
    heap: HeapBuffer<'static>,
    writer: Box<PbMsgWriter>,
    written: u32,
}

impl Stream {
    fn new() -> Self {
        let writer = Box::new(PbMsgWriter::new());
        // SAFETY: the box does not move its content, and fields are dropped in order: the heap buffer
        // before what it refers to.
        let writer_ref: &'static PbMsgWriter = unsafe { &*std::ptr::from_ref(&*writer) };
        Self { heap: HeapBuffer::new(writer_ref.stream_writer()), writer, written: 0 }
    }
}

thread_local! {
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

#[inline(always)]
fn write(to: &mut [u8], fill: impl FnOnce(&mut PbMsg)) -> usize {
    if to.len() == COMPARED {
        let stream = Stream::new();
        let mut message = PbMsg::new(&stream.writer).expect("a message");
        fill(&mut message);
        message.finalize();
        drop(message);
        let len = stream.writer.stream_writer().get_written_size();
        stream.heap.copy_into(&mut to[..len]);
        return len;
    }
    STREAM.with_borrow_mut(|slot| {
        let stream = match slot {
            Some(stream) if stream.written < REPLACED_AFTER => stream,
            _ => {
                *slot = None;
                slot.insert(Stream::new())
            }
        };
        stream.written += 1;
        let mut message = PbMsg::new(&stream.writer).expect("a message");
        fill(&mut message);
        message.finalize()
    })
}

fn simple(m: &mut PbMsg, s: &Simple) {
    m.append_type0_field(1, i64::from(s.int32) as u64);
    m.append_type0_field(3, s.uint32.into());
    m.append_type0_field(2, s.int64 as u64);
    m.append_type0_field(4, s.uint64);
    m.append_cstr_field(500, s.text());
}

fn nested(m: &mut PbMsg, s: &Simple, levels: u32) {
    simple(m, s);
    if levels > 0 {
        m.append_nested(14, |m| nested(m, s, levels - 1));
    }
}

fn packet(m: &mut PbMsg, i: &Input) {
    let p = &i.packet;
    m.append_type0_field(8, p.time);
    m.append_type0_field(10, p.sequence.into());
    m.append_nested(11, |m| {
        for category in p.categories() {
            m.append_type0_field(3, *category);
        }
        m.append_nested(4, |m| {
            m.append_type0_field(1, p.first_name);
            m.append_type0_field(3, p.first_value);
        });
        m.append_nested(4, |m| {
            m.append_type0_field(1, p.second_name);
            m.append_cstr_field(6, p.text());
        });
        m.append_type0_field(9, p.kind.into());
        m.append_type0_field(10, p.name);
        m.append_type0_field(11, p.uuid);
    });
}

fn commit(m: &mut PbMsg, i: &Input) {
    for x in &i.commit.moves {
        m.append_nested(1, |m| {
            m.append_type0_field(1, x.page.into());
            m.append_type0_field(2, x.chunk.into());
            m.append_type0_field(3, x.buffer.into());
        });
    }
    for x in &i.commit.patches {
        m.append_nested(2, |m| {
            m.append_type0_field(1, x.buffer.into());
            m.append_type0_field(2, x.writer.into());
            m.append_type0_field(3, x.chunk.into());
            m.append_nested(4, |m| {
                m.append_type0_field(1, x.offset.into());
                m.append_type2_field(2, &x.data);
            });
            m.append_type0_field(5, (x.more != 0).into());
        });
    }
    m.append_type0_field(3, i.commit.flush);
}

encoders!(
    |i: &Input, to| write(to, |m| simple(m, &i.simple)),
    |i: &Input, to| write(to, |m| nested(m, &i.simple, 3)),
    |i: &Input, to| write(to, |m| packet(m, i)),
    |i: &Input, to| write(to, |m| commit(m, i))
);

/// The sum of the results of `read` for each field.
#[inline(always)]
fn sum(from: &[u8], read: impl Fn((u32, Field<'_>)) -> u64) -> u64 {
    PbDecoder::new(from).fold(0u64, |sum, field| sum.wrapping_add(read(field.expect("a message"))))
}

fn every_field(from: &[u8]) -> u64 {
    sum(from, |field| match field {
        (1, Field::Varint(v)) => i64::from(v as i32) as u64,
        (2..=4, Field::Varint(v)) => v,
        (14, Field::Delimited(d)) => every_field(d),
        (500, Field::Delimited(d)) => d.len() as u64 + u64::from(d.first().copied().unwrap_or(0)),
        _ => 0,
    })
}

fn track_event(from: &[u8]) -> u64 {
    sum(from, |field| match field {
        (3 | 9 | 10 | 11, Field::Varint(v)) => v,
        (4, Field::Delimited(d)) => sum(d, |field| match field {
            (1 | 3, Field::Varint(v)) => v,
            (6, Field::Delimited(d)) => d.len() as u64,
            _ => 0,
        }),
        _ => 0,
    })
}

fn patch(from: &[u8]) -> u64 {
    sum(from, |field| match field {
        (1, Field::Varint(v)) => v,
        (2, Field::Delimited(d)) => d.first_chunk().map_or(0, |d| u32::from_le_bytes(*d).into()),
        _ => 0,
    })
}

decoders!(
    every_field,
    every_field,
    |from| sum(from, |field| match field {
        (8 | 10, Field::Varint(v)) => v,
        (11, Field::Delimited(d)) => track_event(d),
        _ => 0,
    }),
    |from| sum(from, |field| match field {
        (1, Field::Delimited(d)) => sum(d, |field| match field {
            (1..=3, Field::Varint(v)) => v,
            _ => 0,
        }),
        (2, Field::Delimited(d)) => sum(d, |field| match field {
            (1 | 2 | 3 | 5, Field::Varint(v)) => v,
            (4, Field::Delimited(d)) => patch(d),
            _ => 0,
        }),
        (3, Field::Varint(v)) => v,
        _ => 0,
    })
);
