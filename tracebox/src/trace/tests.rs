use std::io::Read;
use std::ops::Range;

use protos::{
    TraceConfig, TraceConfigCompressionConfig, TraceConfigCompressionConfigDeflate,
    TraceConfigCompressionConfigZstd,
};
use protozero::dynamic::DynamicMessage;
use tracing_core::service::compress::Codec;

use super::print::{PrintError, Printer};
use super::{packet_type, range};
use crate::schema;

const TRACE: &str = "\
packet { timestamp: 7 trusted_uid: 3 clock_snapshot { clocks { clock_id: 6 timestamp: 8 } } }
packet { }
packet { timestamp: 9 trace_config { buffers { size_kb: 4 } unique_session_name: 'it\\'s' } }
";

fn encoded(text: &str) -> Vec<u8> {
    DynamicMessage::from_text(schema::message("Trace"), text).unwrap().encode()
}

/// A file that is read in small pieces.
struct SlowFile<'b>(&'b [u8], usize);

impl Read for SlowFile<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = self.1.min(out.len());
        (&mut self.0).take(len as u64).read(out)
    }
}

/// The output for `trace` without the last line, which counts the packets; and the error.
fn print(trace: &[u8], range: Option<Range<u64>>, single_line: bool) -> (String, Option<String>) {
    let (mut text, why) = print_all(trace, range, single_line);
    let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let words: Vec<_> = text[last..].split_whitespace().collect();
    if let ["#", count, "packet" | "packets"] = words[..] {
        assert!(count.parse::<u64>().is_ok(), "{text}");
        text.truncate(last);
    }
    (text, why)
}

/// The output for `trace`, and the error.
fn print_all(
    trace: &[u8],
    range: Option<Range<u64>>,
    single_line: bool,
) -> (String, Option<String>) {
    let mut seen = None;
    for piece in [1, 3, trace.len().max(1)] {
        let mut out = Vec::new();
        let packet = packet_type(None).unwrap();
        let mut printer = Printer::new(packet, range.clone(), single_line, &mut out);
        let ended = printer.run(SlowFile(trace, piece));
        let broken = printer.broken.map(|(count, first)| format!("{count}: {first}"));
        let why = match ended {
            Ok(()) => broken,
            Err(PrintError::Input(why)) => Some(why),
            Err(PrintError::Output(error)) => panic!("{error}"),
        };
        let result = (String::from_utf8(out).unwrap(), why);
        assert_eq!(*seen.get_or_insert_with(|| result.clone()), result);
    }
    seen.unwrap()
}

#[test]
fn packets_with_their_places() {
    let (text, why) = print(&encoded(TRACE), None, false);
    assert_eq!(why, None);
    assert_eq!(
        text,
        "# packet 0: 12 bytes at 2\n\
         packet {\n  trusted_uid: 3\n  clock_snapshot {\n    clocks {\n      clock_id: 6\n      timestamp: 8\n    }\n  }\n  timestamp: 7\n}\n\
         # packet 1: 0 bytes at 16\n\
         packet {\n}\n\
         # packet 2: 16 bytes at 18\n\
         packet {\n  timestamp: 9\n  trace_config {\n    buffers {\n      size_kb: 4\n    }\n    unique_session_name: \"it\\'s\"\n  }\n}\n"
    );
    assert_eq!(encoded(&text), encoded(TRACE));
}

#[test]
fn the_example_of_the_page_on_text_is_what_is_printed() {
    let page = include_str!("../../../docs/text.md");
    let example = page.split("```textproto\n").find(|block| block.contains("# packet 0:")).unwrap();
    let example = &example[..example.find("```").unwrap()];
    let printed = print_all(&encoded(example), None, false).0;
    assert_eq!(example.split_once("\n\n").unwrap().1, printed);
}

#[test]
fn some_packets_in_a_line_each() {
    let trace = encoded(TRACE);
    let (text, _) = print(&trace, Some(1..3), true);
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("packet {  }  # packet 1: 0 bytes at 16\n"), "{text}");
    assert_eq!(print(&trace, Some(3..9), false), (String::new(), None));
    let (text, why) = print(&trace[..20], Some(0..1), true);
    assert_eq!((text.lines().count(), why), (1, None), "what comes after is not looked at");
}

#[test]
fn nothing_behind_the_last_packet_counts() {
    let trace = encoded(TRACE);
    let damages = [&b"\x08\x04"[..], b"\x0a\xff\xff\xff\xff\x7f", b"\x0f", b"\x12\x02hi"];
    for damage in damages {
        let damaged = [&trace[..16], damage].concat();
        let (text, why) = print(&damaged, Some(0..2), true);
        assert_eq!((text.lines().count(), why), (2, None), "{damage:x?}");
    }
    // Fields of the trace before the first packet of the range are not printed.
    let other = [b"\x12\x02hi", &trace[..14], b"\x12\x02hi", &trace[14..]].concat();
    let lines = |range| print(&other, Some(range), true).0.lines().count();
    assert_eq!([lines(0..1), lines(1..2), lines(2..9)], [2, 2, 1]);
}

#[test]
fn a_range_behind_the_end_is_told() {
    let note = |from| {
        let range = Some(from..9);
        let mut printer = Printer::new(packet_type(None).unwrap(), range, true, Vec::new());
        assert!(printer.run(&encoded(TRACE)[..]).is_ok());
        printer.empty_range()
    };
    assert_eq!(note(2), None);
    assert_eq!(note(3).as_deref(), Some("no packet 3: the trace has 3, counted from 0"));
}

#[test]
fn what_the_schema_does_not_know() {
    let trace = b"\x0a\x05\xf8\xff\xff\x0f\x01\x12\x02hi";
    let (text, why) = print(trace, None, true);
    assert_eq!(why, None);
    assert_eq!(
        text,
        "packet { 4194303: 1 }  # packet 0: 5 bytes at 2\n# field 2 of the trace, 2 bytes\n"
    );
}

#[test]
fn broken_traces() {
    let trace = encoded(TRACE);
    let cut = print(&trace[..20], None, true);
    assert_eq!(cut.0.lines().count(), 2);
    assert_eq!(
        cut.1.as_deref(),
        Some("the trace is cut off: the input ends inside a field at byte 16")
    );
    // Fields without a length are skipped.
    let numbers = [b"\x38\x04", &trace[..14], b"\x3b\x08\x01\x3c", &trace[14..]].concat();
    let (text, why) = print(&numbers, None, true);
    assert_eq!((text.lines().count(), why), (4, None));
    assert!(text.ends_with("# fields of the trace without a length: 2\n"), "{text}");
    let text = print(b"hello", None, true).1.unwrap();
    assert!(text.starts_with("this is not a trace: "), "{text}");
    // A broken packet between whole ones.
    let broken = [&trace[..16], b"\x0a\x02\x12\x7f", &trace[16..]].concat();
    let (text, why) = print(&broken, None, true);
    assert_eq!(text.lines().count(), 4);
    assert_eq!(why.as_deref(), Some("1: packet 2: the input ends inside a field at byte 18"));
    assert_eq!(print(b"", None, true), (String::new(), None));
}

#[test]
fn a_packet_that_takes_too_much_memory_is_told() {
    let large = around(0x0a, &around(0x5a, &b"\x22\0".repeat(1000)));
    let trace = [encoded(TRACE), large, encoded(TRACE)].concat();
    let mut out = Vec::new();
    let mut printer = Printer::new(packet_type(None).unwrap(), None, true, &mut out);
    printer.memory = 64 << 10;
    assert!(printer.run(&trace[..]).is_ok());
    let (count, why) = printer.broken.unwrap();
    assert_eq!(count, 1);
    assert!(why.starts_with("packet 3: message too large at byte "), "{why}");
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 8);
    assert!(text.contains("# packet 3: 2003 bytes at 37 is broken: message too large\n"), "{text}");
}

#[test]
fn what_is_printed_is_read_again_however_deep() {
    // A packet is a message in a trace, an event one in a packet.
    let nested = |levels: usize| {
        let inner = (3..levels).fold(Vec::new(), |inner, _| around(0x5a, &inner));
        [0x22, 0x5a, 0x0a].into_iter().fold(inner, |inner, tag| around(tag, &inner))
    };
    let deepest = nested(100);
    let (text, why) = print(&deepest, None, false);
    assert_eq!((encoded(&text), why), (deepest, None));
    let (text, why) = print(&nested(101), None, false);
    assert_eq!(text, "# packet 0: 236 bytes at 3 is broken: messages nested too deeply\n");
    assert!(why.is_some());
}

/// `body` behind a tag and its length.
fn around(tag: u8, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let low = if len < 0x80 { vec![len as u8] } else { vec![len as u8 | 0x80, (len >> 7) as u8] };
    [&[tag][..], &low, body].concat()
}

#[test]
fn ranges() {
    assert_eq!(range("3"), Ok(3..4));
    assert_eq!(range("3..5"), Ok(3..5));
    assert_eq!(range("3.."), Ok(3..u64::MAX));
    assert_eq!(range("..5"), Ok(0..5));
    assert!(range("").is_err());
    assert!(range("a..5").is_err());
    assert!(range("-1").is_err());
    for empty in ["5..3", "3..3", "..0"] {
        assert!(range(empty).is_err(), "{empty}");
    }
}

/// `packets` in one packet, compressed as a service does it.
fn compressed(packets: &[u8], zstd: bool) -> Vec<u8> {
    let compression = match zstd {
        true => TraceConfigCompressionConfig {
            zstd: Some(TraceConfigCompressionConfigZstd::default()),
            ..TraceConfigCompressionConfig::default()
        },
        false => TraceConfigCompressionConfig {
            deflate: Some(TraceConfigCompressionConfigDeflate::default()),
            ..TraceConfigCompressionConfig::default()
        },
    };
    let config = TraceConfig { compression: Some(compression), ..TraceConfig::default() };
    let packet = Codec::choose(&config).unwrap().compress(packets).unwrap();
    let packet: Vec<u8> = packet.slices().flatten().copied().collect();
    around(0x0a, &packet)
}

#[test]
fn compressed_packets_are_unpacked_and_counted() {
    for zstd in [false, true] {
        let packets = encoded(TRACE);
        let trace = [&packets[..14], &compressed(&packets, zstd), &packets[14..16]].concat();
        let (text, why) = print_all(&trace, None, true);
        assert_eq!(why, None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 7, "{text}");
        assert!(lines[1].starts_with("# compressed packets: "), "{text}");
        assert!(lines[2].ends_with("# packet 1: 12 bytes at 2 of the packets compressed at 16"));
        assert!(lines[4].contains("unique_session_name: \"it\\'s\""), "{text}");
        assert_eq!(lines[6], "# 5 packets, 3 of them compressed");
        // What is printed is the trace without compression.
        let whole = [&packets[..14], &packets, &packets[14..16]].concat();
        assert_eq!(encoded(&text), whole);
        // Packets are counted and chosen by what is unpacked.
        let (text, why) = print_all(&trace, Some(3..4), true);
        assert_eq!((text.lines().count(), why), (1, None), "{text}");
        assert!(text.contains("size_kb: 4"), "{text}");
    }
}

#[test]
fn a_damaged_stream_is_one_broken_packet() {
    let packets = encoded(TRACE);
    for zstd in [false, true] {
        let good = compressed(&packets, zstd);
        let mut bad = good.clone();
        bad[9..15].fill(0xff);
        let mut cut = good.clone();
        cut.truncate(good.len() - 8);
        let cut = around(0x0a, &around_long(if zstd { 133 } else { 50 }, &cut[5..]));
        for damaged in [bad, cut] {
            let trace = [&damaged[..], &packets].concat();
            let (text, why) = print(&trace, None, true);
            let why = why.expect(&text);
            assert!(why.starts_with("1: compressed packets at 2: "), "{why}");
            assert!(text.contains("# compressed packets at 2 are broken: "), "{text}");
            assert!(text.contains("size_kb: 4"), "what follows is printed: {text}");
        }
    }
}

/// Compressed packets within compressed ones are shown as they are: nothing makes us unpack without end.
#[test]
fn packets_are_unpacked_once() {
    let twice = compressed(&compressed(&encoded(TRACE), false), false);
    let (text, why) = print_all(&twice, None, true);
    assert_eq!(why, None);
    assert!(text.contains("packet { compressed_packets: "), "{text}");
    assert!(text.ends_with("# 1 packet, 1 of them compressed\n"), "{text}");
}

/// `body` as a field with a number of two bytes of tag.
fn around_long(number: u16, body: &[u8]) -> Vec<u8> {
    let tag = number << 3 | 2;
    let tag = [(tag & 0x7f) as u8 | 0x80, (tag >> 7) as u8];
    let mut out = around(tag[0], body);
    out.insert(1, tag[1]);
    out
}

#[test]
fn times() {
    for (text, ns) in [
        ("0", Some(0)),
        ("1.5", Some(1_500_000_000)),
        ("1.5s", Some(1_500_000_000)),
        (".25ms", Some(250_000)),
        ("3.us", Some(3_000)),
        ("7ns", Some(7)),
        ("0.0000000019", Some(1)),
        ("", None),
        (".", None),
        ("s", None),
        ("1m", None),
        ("1 s", None),
        ("-1", None),
        ("1.2.3", None),
        ("99999999999", None),
        ("18446744073.999999999", Some(u64::MAX)),
    ] {
        assert_eq!(super::events::time_ns(text).ok(), ns, "{text}");
    }
}

/// A terminal shows where each character stands, and what is printed can be read back.
#[test]
fn hidden_characters_are_escaped() {
    let name = "a\u{202e}b\u{200b}\u{feff}\u{e0041}\u{1b}[2J\u{e4}\u{1f642}";
    let config = TraceConfig { unique_session_name: Some(name.into()), ..TraceConfig::default() };
    let packet = protos::TracePacket {
        data: Some(protos::TracePacketData::TraceConfig(config)),
        ..protos::TracePacket::default()
    };
    let trace = protos::Trace { packet: vec![packet], ..protos::Trace::default() };
    let trace = protozero::Message::encode_to_vec(&trace);
    for single_line in [false, true] {
        let (text, why) = print(&trace, None, single_line);
        assert_eq!(why, None);
        let shown = r#""a\342\200\256b\342\200\213\357\273\277\363\240\201\201\033[2Jä🙂""#;
        assert!(text.contains(shown), "{text}");
        assert_eq!(encoded(&text), trace);
    }
}
