//! Bytes as protobuf, read in two ways that must agree.

use std::sync::OnceLock;

use protos::{TraceConfig, TracePacket, TrackEvent, TrackEventField, TrackEventReader};
use protozero::decode::{Fields, PackedVarint};
use protozero::dynamic::{DynamicMessage, MessageDescriptor};
use protozero::json::{self, ParseOptions};
use protozero::rewrite::{Slices, groups_to_lengths, lengths_to_groups};
use protozero::text::PrintOptions;
use protozero::{
    DecodeError, DecodeErrorKind, FrameReader, HeapSink, Message, Reader, ScatteredReader, Value,
};

use super::sink::{self, Sink};

/// Any bytes as nested messages and as packed fields: no panic, no endless loop.
pub fn reader(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(field)) = Reader::new(rest).next_field() {
        rest = field.value.body().unwrap_or(&rest[field.raw.len()..]);
    }
    let mut fields = Fields::new(bytes);
    while let Ok(Some(tag)) = fields.next_tag() {
        let read = if tag == 10 { fields.begin_run(8) } else { fields.unknown(tag).map(drop) };
        let _ = read.map_err(|_| fields.fail());
    }
    assert!(PackedVarint::new(bytes).count() <= bytes.len());
}

/// Two decoders may differ only in their limits.
fn costs(error: &DecodeError) -> bool {
    matches!(
        error.kind,
        DecodeErrorKind::TooLarge
            | DecodeErrorKind::TooManyElements
            | DecodeErrorKind::TooMuchMemory
    )
}

/// `bytes` as an owned message and as a dynamic one, which must agree.
fn both<M: Message>(descriptor: MessageDescriptor, bytes: &[u8]) -> Option<M> {
    match (M::decode(bytes), DynamicMessage::decode(descriptor, bytes)) {
        (Ok(owned), Ok(dynamic)) => {
            // Not the other way round: dynamic messages keep the bytes of an unknown number of a closed enum, owned
            // ones shorten them.
            let again = M::decode(&dynamic.encode());
            assert_eq!(again.map(|m| m.encode_to_vec()), Ok(owned.encode_to_vec()));
            return Some(owned);
        }
        (Err(_), Err(_)) => {}
        (Err(error), _) | (_, Err(error)) => assert!(costs(&error), "{error}"),
    }
    None
}

/// Generated messages: owned struct, reader, table and the dynamic message agree.
pub fn generated(bytes: &[u8]) {
    static DESCRIPTORS: OnceLock<[MessageDescriptor; 3]> = OnceLock::new();
    let [packet, config, event] = DESCRIPTORS.get_or_init(|| {
        [TracePacket::DESCRIPTOR, TraceConfig::DESCRIPTOR, TrackEvent::DESCRIPTOR].map(Into::into)
    });
    both::<TracePacket>(packet.clone(), bytes);
    both::<TraceConfig>(config.clone(), bytes);
    let Some(owned) = both::<TrackEvent>(event.clone(), bytes) else { return };
    let event = TrackEventReader::new(bytes);
    let fields: Result<Vec<_>, _> = event.iter().collect();
    let table = event.table();
    // The table reads elements when they are used.
    assert!(fields.is_err() || table.is_ok());
    let (Ok(fields), Ok(table)) = (fields, table) else {
        // Strings of other encodings are unknown fields to owned messages, errors to readers.
        return;
    };
    let iids = fields.iter().filter_map(|f| match f {
        TrackEventField::CategoryIids(iid) => Some(*iid),
        _ => None,
    });
    assert!(iids.eq(owned.category_iids.iter().copied()));
    assert_eq!(event.track_uuid(), Ok(owned.track_uuid));
    assert_eq!(table.track_uuid, owned.track_uuid);
    let counters: Result<Vec<_>, _> = table.extra_counter_values.iter().collect();
    assert_eq!(counters, Ok(owned.extra_counter_values));
}

/// A derived message with every construct against the dynamic one; in two parts and in one.
pub fn derived(input: &[u8]) {
    let Some((at, bytes)) = input.split_first() else { return };
    let (front, back) = bytes.split_at(bytes.len() * usize::from(*at) / 255);
    let Some(owned) = both::<Sink>(sink::descriptor(), bytes) else { return };
    let wire = owned.encode_to_vec();
    assert_eq!(wire.len(), owned.encoded_len());
    assert_eq!(Sink::decode(&wire).map(|again| again.encode_to_vec()), Ok(wire.clone()));
    if let (Ok(mut merged), Ok(_)) = (Sink::decode(front), Sink::decode(back)) {
        assert_eq!(merged.merge(back), Ok(()));
        assert_eq!(merged.encode_to_vec(), wire);
    }
}

/// Text that is read, printed and read again has the same meaning. The same is true for bytes that are printed.
pub fn text_format(input: &[u8]) {
    let styles = [
        PrintOptions::default(),
        PrintOptions { single_line: true, ..PrintOptions::default() },
        PrintOptions { ascii: true, ..PrintOptions::default() },
    ];
    match DynamicMessage::from_text(sink::descriptor(), input) {
        Ok(read) => {
            for style in &styles {
                let text = read.to_text_with(style);
                let again = DynamicMessage::from_text(sink::descriptor(), &text);
                assert_eq!(again.map(|m| m.encode()), Ok(read.encode()), "{text}");
            }
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
    let Ok(read) = DynamicMessage::decode(sink::descriptor(), input) else { return };
    for style in &styles {
        // Numbers of unknown fields can be shown, but not read.
        let _ = read.to_text_with(&PrintOptions { unknown_fields: true, ..*style });
        let text = read.to_text_with(style);
        let again = DynamicMessage::from_text(sink::descriptor(), &text);
        assert_eq!(again.map(|m| m.to_text_with(style)), Ok(text));
    }
}

/// Any text as a message, and any bytes as JSON: what one side gives, the other takes.
pub fn json(input: &[u8]) {
    let of = sink::descriptor();
    for ignore_unknown in [false, true] {
        let options = ParseOptions { ignore_unknown, ..ParseOptions::default() };
        match json::parse(&of, input, &options) {
            Ok(wire) => {
                let read = DynamicMessage::decode(of.clone(), &wire).expect("a message");
                let text = read.to_json().expect("JSON");
                let again = DynamicMessage::from_json(of.clone(), &text).expect("a message");
                assert_eq!(again.to_json().expect("JSON"), text);
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
    let direct = json::print_bytes(&of, input, &json::PrintOptions::default());
    let Ok(message) = DynamicMessage::decode(of.clone(), input) else {
        assert!(direct.is_err());
        return;
    };
    let Ok(direct) = direct else { return };
    let read = DynamicMessage::from_json(of, &direct).expect("a message");
    assert_eq!(read.to_json().expect("JSON"), message.to_json().expect("JSON"));
}

/// Groups to lengths and back, in pieces and in one piece. The rewriter refuses what a reader refuses.
pub fn rewriter(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let run = |bytes: &[u8], piece: usize, back: bool| {
        let mut stream = HeapSink::stream();
        let pieces = Slices::new(bytes.chunks(piece));
        let odd = |path: &[u32]| piece % 2 == 1 && path.last().is_some_and(|n| n % 2 == 1);
        let done = match back {
            true => lengths_to_groups(pieces, &mut stream.root(), odd),
            false => groups_to_lengths(pieces, &mut stream.root()),
        };
        done.map(|()| stream.finish().expect("memory is there"))
    };
    let piece = usize::from(*piece) + 1;
    let mut fields = Reader::new(bytes);
    let read = loop {
        match fields.next_field() {
            Ok(Some(_)) => {}
            end => break end.map(drop),
        }
    };
    let lengths = run(bytes, piece, false);
    assert_eq!(lengths.as_ref().map(drop).map_err(|e| e.kind), read.map_err(|e| e.kind));
    lengths.iter().for_each(|lengths| rewritten(bytes, lengths));
    // The output does not depend on the pieces.
    assert_eq!(lengths, run(bytes, usize::MAX - 1, false));
    // No field with a length counts as a message here: only tags of groups change, to their shortest form.
    if let Ok(same) = run(bytes, usize::MAX - 1, true) {
        assert_eq!(run(&same, 2, true), Ok(same));
    }
    if let Ok(lengths) = run(bytes, piece, true) {
        assert!(run(&lengths, piece, false).is_ok());
    }
}

/// Each group of the first message has a length in the second one, and all other fields are the same.
fn rewritten(groups: &[u8], lengths: &[u8]) {
    let (mut groups, mut lengths) = (Reader::new(groups), Reader::new(lengths));
    while let Ok(Some(was)) = groups.next_field() {
        let is = lengths.next_field().expect("it was written by us").expect("no field is lost");
        assert_eq!(was.number, is.number);
        match (was.value, is.value) {
            (Value::Group(was), Value::Len(is)) => rewritten(was, is),
            _ => assert_eq!(was.raw, is.raw),
        }
    }
    assert_eq!(lengths.next_field(), Ok(None));
}

/// Bytes in slices are read as the same bytes in one slice.
pub fn scattered(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let slices: Vec<&[u8]> = bytes.chunks(usize::from(*piece) + 1).collect();
    same(ScatteredReader::new(&slices), bytes, 0);
}

fn same(mut slices: ScatteredReader<'_, '_>, bytes: &[u8], depth: u32) {
    let mut whole = Reader::new(bytes);
    loop {
        assert_eq!(slices.position(), whole.position());
        let (got, want) = match (slices.next_field(), whole.next_field()) {
            (Ok(Some(got)), Ok(Some(want))) => (got, want),
            (got, want) => return assert_eq!(got.map(|f| f.is_none()), want.map(|f| f.is_none())),
        };
        assert_eq!(got.number, want.number);
        assert_eq!(got.raw.to_vec(), want.raw);
        if let Some(value) = got.value.whole() {
            assert_eq!(value, want.value);
        }
        if let (Ok(pieces), Value::Len(bytes)) = (got.value.bytes(), want.value) {
            assert_eq!(*pieces.to_cow(), *bytes);
            assert_eq!(pieces.is_utf8(), core::str::from_utf8(bytes).is_ok());
            let varints = |values: PackedVarint<'_>| values.collect::<Vec<_>>();
            let got = got.value.varints().map(|values| values.collect::<Vec<_>>());
            assert_eq!(got, want.value.varints().map(varints));
        }
        if let (Ok(inner), Ok(body), true) = (got.value.message(), want.value.body(), depth < 4) {
            same(inner, body, depth + 1);
        }
    }
}

/// A stream of frames gives the same frames in any pieces, and the reader keeps at most one frame.
pub fn frames(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let read = |piece: usize| {
        let mut stream = FrameReader::with_max(1000);
        let (mut out, mut end) = (Vec::new(), Ok(()));
        for block in bytes.chunks(piece) {
            let mut frames = stream.read_block(block);
            loop {
                match frames.next_frame() {
                    Ok(Some(frame)) => out.push((frame.number, frame.offset, frame.body.to_vec())),
                    Ok(None) => break,
                    Err(error) => {
                        end = Err(error);
                        break;
                    }
                }
            }
            drop(frames);
            assert!(stream.pending() <= 1020);
        }
        (out, end, stream.finish())
    };
    assert_eq!(read(usize::from(*piece) + 1), read(usize::MAX));
}
