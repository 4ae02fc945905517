//! Fields of the program's own in events, and the schema that makes them known to readers. In a process of its own,
//! because a schema is there until the program ends.
#![cfg(all(feature = "in-process", not(feature = "off")))]

use protozero::{Message as _, Reader};
use tracing_file::lint::lint;
use tracing_sdk::protos::{
    DescriptorProto, FieldDescriptorProto, FieldDescriptorProtoLabel as Label,
    FieldDescriptorProtoType as Type, FileDescriptorProto, FileDescriptorSet,
};
use tracing_sdk::session::record;
use tracing_sdk::{Init, categories, instant, lost_events, message_writer, register_extensions};

categories! { EXTENDED = "extended"; }

/// The field of `TrackEvent`.
const FRAME: u32 = 9901;

message_writer! { FrameWriter, "com.example.Frame";
    /// Counts frames.
    value number(u64) = 1 as uint64;
}

fn field(name: &str, number: u32, r#type: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: i32::try_from(number).ok(),
        label: Some(Label::LABEL_OPTIONAL),
        r#type: Some(r#type),
        ..Default::default()
    }
}

/// What `protoc` makes of these lines:
///
/// ```text
/// package com.example;
/// message Frame { optional uint64 number = 1; }
/// extend perfetto.protos.TrackEvent { optional Frame frame = 9901; }
/// ```
fn schema() -> Vec<u8> {
    let message = DescriptorProto {
        name: Some("Frame".to_owned()),
        field: vec![field("number", 1, Type::TYPE_UINT64)],
        ..Default::default()
    };
    let extension = FieldDescriptorProto {
        extendee: Some(".perfetto.protos.TrackEvent".to_owned()),
        type_name: Some(".com.example.Frame".to_owned()),
        ..field("frame", FRAME, Type::TYPE_MESSAGE)
    };
    let file = FileDescriptorProto {
        name: Some("com/example/frame.proto".to_owned()),
        package: Some("com.example".to_owned()),
        message_type: vec![message],
        extension: vec![extension],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file], ..Default::default() }.encode_to_vec()
}

fn frame(number: u64) {
    instant!(EXTENDED, "frame", |event| {
        event.extension::<FRAME, FrameWriter<'_>>().number(number);
    });
}

/// What the linter says of a trace.
fn findings(trace: &[u8]) -> Vec<&'static str> {
    let mut findings = Vec::new();
    let report = lint(trace, |finding, _| findings.push(finding.problem.name()));
    assert!(report.error.is_none());
    findings
}

/// All fields with this number, of messages that are nested in this way.
fn nested(message: &[u8], numbers: &[u32]) -> Vec<Vec<u8>> {
    let Some((number, inner)) = numbers.split_first() else { return vec![message.to_vec()] };
    let mut reader = Reader::new(message);
    let fields = std::iter::from_fn(|| reader.next_field().expect("a message"));
    let fields = fields.filter(|field| field.number == *number);
    fields.flat_map(|field| nested(field.value.bytes().expect("bytes"), inner)).collect()
}

#[test]
fn a_schema_comes_before_the_fields() {
    Init::new().shm_kb(256).in_process().expect("a service");
    let trace = record(&["extended"], || frame(1)).expect("a recording");
    assert_eq!(nested(&trace, &[1, 11, FRAME]), [b"\x08\x01"]);
    assert_eq!(findings(&trace), ["unknown_extension_fields"]);

    let trace = record(&["extended"], || {
        // Its sequence is open when the schema comes.
        instant!(EXTENDED, "before");
        register_extensions(b"no schema");
        register_extensions(schema());
        register_extensions(schema());
        frame(2);
        frame(3);
        std::thread::scope(|scope| _ = scope.spawn(|| frame(4)));
    });
    let trace = trace.expect("a recording");
    let mut frames = nested(&trace, &[1, 11, FRAME]);
    frames.sort();
    assert_eq!(frames, [b"\x08\x02", b"\x08\x03", b"\x08\x04"]);
    assert_eq!(findings(&trace), [""; 0]);
    // Once for each thread, as it was registered.
    assert_eq!(nested(&trace, &[1, 72, 1]), [schema(), schema()]);

    // One that is larger than shared memory is lost, and events are not.
    let file = FileDescriptorProto { name: Some("x".repeat(8 << 20)), ..Default::default() };
    register_extensions(
        FileDescriptorSet { file: vec![file], ..Default::default() }.encode_to_vec(),
    );
    let is_stored = |number| {
        let lost = lost_events();
        frame(number);
        lost_events() == lost
    };
    // So many that memory is asked for again meanwhile.
    let trace = record(&["extended"], || assert!((0..1_000_000).any(|_| is_stored(5))));
    assert_eq!(nested(&trace.expect("a recording"), &[1, 11, FRAME]), [b"\x08\x05"]);
}
