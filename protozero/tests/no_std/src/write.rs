//! Writing through every sink that needs no allocator.

use core::mem::MaybeUninit;

use protozero::rewrite;
use protozero::sink::{FixedSink, RangesSink, WindowSink};
use protozero::{Reader, Scope, Sink, StreamOf, WriteError, Writer, field, rt};

use crate::halves::Halves;
use crate::schema::kinds::{Colour, KindsWriter};

/// Values that the compiler does not know.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub number: u64,
    pub text: &'a str,
    pub bytes: &'a [u8],
}

/// A message with every kind of field.
pub fn kinds(scope: Scope<'_>, v: Values<'_>) {
    let mut message = KindsWriter::from_scope(scope);
    message
        .a_int32(v.number as i32)
        .a_int64(v.number as i64)
        .a_uint32(v.number as u32)
        .a_uint64(v.number)
        .a_sint32(v.number as i32)
        .a_sint64(v.number as i64)
        .a_bool(v.number != 0)
        .a_colour(Colour(v.number as i32))
        .a_fixed32(v.number as u32)
        .a_sfixed32(v.number as i32)
        .a_float(v.number as f32)
        .a_fixed64(v.number)
        .a_sfixed64(v.number as i64)
        .a_double(v.number as f64)
        .a_string(v.text)
        .a_bytes(v.bytes)
        .a_bytes_gather(&[v.bytes, v.bytes]);
    message.a_message().a_message().a_string(v.text).a_bytes(v.bytes);
    message.agroup().inside(v.number as u32);
    message.packed_varints(v.bytes.iter().map(|b| u64::from(*b) * v.number));
    message.packed_fixed(v.bytes.iter().map(|b| u32::from(*b)));
    message.packed_doubles([v.number as f64]);
    message.strings(v.text).strings(v.text).loose(-1).this(1).that(v.text);
    message.a_message_raw(v.bytes).append_raw(v.bytes);
}

/// Uses the functions that generated code does not call.
pub fn by_hand(scope: &mut Scope<'_>, v: Values<'_>) {
    if let Some(mut nested) = scope.nested_by_number(v.number as u32) {
        rt::uint64::<1>(&mut nested, v.number);
    }
    {
        let mut padded = scope.nested_padded::<17>();
        padded.varint::<1>(v.number);
        let mut inner = padded.nested::<17>();
        inner.fixed32::<9>(v.number as u32);
        let mut again = inner.nested_padded::<17>();
        again.bytes::<16>(v.bytes);
        rt::message::<17, KindsWriter<'_>>(&mut again).a_string(v.text);
        field::message_padded::<17, KindsWriter<'_>>(&mut again).a_string(v.text);
        let size = v.text.len() as u32 + 2;
        field::message_sized::<17, KindsWriter<'_>>(&mut again, size).a_string(v.text);
    }
    // A tag of two bytes, and a length of one byte for so few bytes.
    scope.nested_sized::<17>(v.bytes.len() as u32 + 3).bytes::<16>(v.bytes);
    {
        let mut group = scope.group::<18>();
        group.fixed64::<12>(v.number);
        let mut padded = group.nested_padded::<17>();
        rt::group::<18, KindsWriter<'_>>(&mut padded).a_uint32(v.number as u32);
        rt::group_raw::<18>(&mut padded, v.bytes);
        rt::message_raw::<17>(&mut padded, v.bytes);
        rt::raw(&mut padded, v.bytes);
    }
    {
        let mut run = scope.packed::<20>();
        for byte in v.bytes {
            run.varint(u64::from(*byte) * v.number);
        }
    }
    {
        let mut run = scope.packed::<21>();
        v.bytes.iter().for_each(|byte| run.fixed32(u32::from(*byte)));
    }
    {
        let mut run = scope.packed::<22>();
        v.bytes.iter().for_each(|byte| run.fixed64(u64::from(*byte)));
    }
    rt::bytes_gather::<16>(scope, &[v.bytes, v.bytes]);
    if scope.body_len() > v.number && scope.error().is_none() {
        scope.raw(v.bytes);
        scope.bytes_gather::<16>(&[v.bytes, v.text.as_bytes()]);
    }
    let mut reader = Reader::new(v.bytes);
    while let Ok(Some(field)) = reader.next_field() {
        scope.append_field(&field);
        rt::message::<17, KindsWriter<'_>>(scope).append_field(&field);
    }
    runs(scope, v);
    // The bytes may or may not be valid fields.
    let _ = scope.append_fields(v.bytes, |field| field.number as u64 != v.number);
}

/// Packed fields of every kind.
fn runs(scope: &mut Scope<'_>, v: Values<'_>) {
    // The number of elements is not known in advance.
    let numbers = || v.bytes.iter().filter(|b| **b != 7).map(|b| i32::from(*b) * -2);
    let wide = || numbers().map(i64::from);
    rt::packed_int32::<20>(scope, numbers());
    rt::packed_int64::<20>(scope, wide());
    rt::packed_uint32::<20>(scope, v.bytes.iter().map(|b| u32::from(*b)));
    rt::packed_sint32::<20>(scope, numbers());
    rt::packed_sint64::<20>(scope, wide());
    rt::packed_bool::<20>(scope, v.bytes.iter().map(|b| *b > 7));
    rt::packed_enumeration::<20>(scope, numbers());
    rt::packed_sfixed32::<21>(scope, numbers());
    rt::packed_float::<21>(scope, numbers().map(|n| n as f32));
    rt::packed_fixed64::<22>(scope, v.bytes.iter().map(|b| u64::from(*b)));
    rt::packed_sfixed64::<22>(scope, wide());
}

/// Leaks scopes (`mem::forget`), and queries the stream between root messages.
fn leak_scopes<S: Sink>(stream: &mut StreamOf<S>, v: Values<'_>) -> u64 {
    {
        let mut root = stream.root();
        let mut outer = root.nested_padded::<17>();
        core::mem::forget(outer.nested::<17>());
        // The stream ignores this.
        kinds(outer, v);
    }
    // Not the announced length.
    stream.root().nested_sized::<17>(v.number as u32).bytes::<16>(v.bytes);
    core::mem::forget(stream.root());
    stream.end_forgotten();
    let errors = u64::from(stream.error().is_some()) + u64::from(stream.first_error().is_some());
    errors + stream.written() + (stream.used() + stream.free_bytes()) as u64
}

/// Writes that fail; returns a sum over all results.
pub fn failing(buffer: &mut [u8], v: Values<'_>) -> u64 {
    let mut stream = FixedSink::stream(&mut *buffer);
    let mut sum = leak_scopes(&mut stream, v);
    by_hand(&mut stream.root(), v);
    sum += stream.finish().map_or(0, |bytes| bytes.len() as u64);
    let mut pieces = [&mut *buffer];
    let mut stream = RangesSink::table(&mut pieces);
    sum += leak_scopes(&mut stream, v);
    by_hand(&mut stream.root(), v);
    drop(stream.into_sink());
    let mut stream = WindowSink::stream(buffer, |bytes: &[u8]| match bytes {
        [] => Err(()),
        _ => Ok(()),
    });
    sum += leak_scopes(&mut stream, v);
    by_hand(&mut stream.root(), v);
    let failed = stream.sink().output_error().is_some();
    let _: &_ = stream.sink().output();
    drop(stream);
    let mut stream = StreamOf::new(Halves::new(buffer));
    kinds(stream.root(), v);
    by_hand(&mut stream.root(), v);
    core::mem::take(&mut stream.sink_mut().open) as u64 + sum + u64::from(failed)
}

/// Writes to one buffer.
///
/// # Errors
/// The buffer is too small.
pub fn fixed<'b>(buffer: &'b mut [u8], v: Values<'_>) -> Result<&'b mut [u8], WriteError> {
    let mut stream = FixedSink::stream(buffer);
    kinds(stream.root(), v);
    by_hand(&mut stream.root(), v);
    stream.finish()
}

/// Writes to one uninitialized buffer.
///
/// # Errors
/// The buffer is too small.
pub fn uninit<'b>(
    buffer: &'b mut [MaybeUninit<u8>],
    v: Values<'_>,
) -> Result<&'b mut [u8], WriteError> {
    let mut stream = FixedSink::stream_uninit(buffer);
    kinds(stream.root(), v);
    stream.finish()
}

/// Writes to several pieces; returns their number.
///
/// # Errors
/// The pieces are too small.
pub fn pieces(pieces: &mut [&mut [u8]], v: Values<'_>) -> Result<usize, WriteError> {
    let mut stream = RangesSink::table(pieces);
    kinds(stream.root(), v);
    stream.finish().map(|pieces| pieces.len())
}

/// Writes through a window; returns the sum of all bytes.
///
/// # Errors
/// The window is too small.
pub fn window(window: &mut [u8], v: Values<'_>) -> Result<u64, WriteError> {
    let mut sum = 0u64;
    let mut stream = WindowSink::framed::<1>(window, |bytes: &[u8]| {
        sum = bytes.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)));
        Ok::<(), ()>(())
    });
    kinds(stream.root(), v);
    kinds(stream.root(), v);
    let _ = stream.flush();
    let error = stream.first_error();
    let _ = stream.finish();
    error.map_or(Ok(sum), Err)
}

/// Rewrites groups to lengths and back; returns the lengths of both results.
///
/// # Errors
/// A buffer is too small. Input that is not a valid message is ignored.
pub fn rewritten(input: &[u8], buffer: &mut [u8]) -> Result<usize, WriteError> {
    let (lengths, groups) = buffer.split_at_mut_checked(buffer.len() / 2).unwrap_or_default();
    let mut stream = FixedSink::stream(lengths);
    let pieces = rewrite::Slices::new(input.chunks(7));
    let _ = rewrite::groups_to_lengths(pieces, &mut stream.root());
    let lengths = stream.finish()?;
    let mut stream = FixedSink::stream(groups);
    let is_message = |path: &[u32]| path.iter().all(|n| matches!(n, 17 | 18));
    let _ = rewrite::lengths_to_groups(&*lengths, &mut stream.root(), is_message);
    Ok(lengths.len() + stream.finish()?.len())
}
