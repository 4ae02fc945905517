//! Fields of packets that are written seldom: descriptions of tracks, openings of sequences, definitions of names.
//!
//! The setter of a writer is code of its own at each place that calls it, which makes events fast. Here one function
//! writes all fields of a kind, by their numbers, so that what is seldom written is little code.

use client::write::TraceWriter;
use protos::TracePacketWriter;
use protozero::encode::Scope;
use protozero::wire::varint::{self, LEN_MAX};
use protozero::{Writer as _, rt};

// Fields of `TracePacket` (`trace_packet.proto`).
const TIMESTAMP: u32 = 8;
const SEQUENCE_FLAGS: u32 = 13;

/// A packet of a sequence.
#[inline(never)]
pub(crate) fn begin(writer: &mut TraceWriter, flags: u32, time: u64) -> TracePacketWriter<'_> {
    let mut packet = writer.new_packet();
    number(packet.scope_mut(), SEQUENCE_FLAGS, flags.into());
    number(packet.scope_mut(), TIMESTAMP, time);
    packet
}

/// Writes a number, a truth value or an enum.
#[inline(never)]
pub(crate) fn number(out: &mut Scope<'_>, field: u32, value: u64) {
    bare(out, rt::tag(field, rt::VARINT).into());
    bare(out, value);
}

/// Writes a text.
#[inline(never)]
pub(crate) fn text(out: &mut Scope<'_>, field: u32, text: &[u8]) {
    head(out, field, text.len());
    out.raw(text);
}

/// Writes what comes before the `len` bytes of a text or a message.
#[inline(never)]
fn head(out: &mut Scope<'_>, field: u32, len: usize) {
    bare(out, rt::tag(field, rt::LEN).into());
    bare(out, len as u64);
}

/// Writes a message with a number as field 1 and a text as field 2.
#[inline(never)]
pub(crate) fn entry(out: &mut Scope<'_>, field: u32, value: u64, content: &[u8]) {
    let text_len = varint::len(content.len() as u64) + content.len();
    head(out, field, 1 + varint::len(value) + 1 + text_len);
    number(out, 1, value);
    text(out, 2, content);
}

#[inline(never)]
fn bare(out: &mut Scope<'_>, value: u64) {
    let mut bytes = [0; LEN_MAX];
    let len = varint::encode(value, &mut bytes);
    out.raw(bytes.get(..len).unwrap_or_default());
}
