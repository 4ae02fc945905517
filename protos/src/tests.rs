use protozero::Message;

use super::*;

#[cfg(feature = "readers")]
#[test]
fn writer_reader_and_owned_agree() {
    use protozero::{FixedSink, Writer};

    let mut buffer = [0; 256];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut packet = TracePacketWriter::from_scope(stream.root());
        packet.timestamp(1_000).trusted_packet_sequence_id(7);
        let mut event = packet.track_event();
        event
            .r#type(TrackEventType::TYPE_SLICE_BEGIN)
            .category_iids(3)
            .category_iids(4)
            .name("slice");
        event.debug_annotations().name("n").int_value(-1);
    }
    let bytes = stream.finish().unwrap();

    let packet = TracePacket::decode(bytes).unwrap();
    assert_eq!(packet.timestamp, Some(1_000));
    let Some(TracePacketData::TrackEvent(event)) = &packet.data else { panic!("{packet:?}") };
    assert_eq!(event.r#type, Some(TrackEventType::TYPE_SLICE_BEGIN));
    assert_eq!(event.category_iids, [3, 4]);
    assert_eq!(event.debug_annotations.len(), 1);

    let mut names = Vec::new();
    for field in TracePacketReader::new(bytes) {
        match field.unwrap() {
            TracePacketField::Timestamp(ns) => assert_eq!(ns, 1_000),
            TracePacketField::TrackEvent(event) => {
                for field in event {
                    if let TrackEventField::Name(name) = field.unwrap() {
                        names.push(name);
                    }
                }
            }
            TracePacketField::TrustedPacketSequenceId(id) => assert_eq!(id, 7),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["slice"]);
}

#[test]
fn unknown_fields_pass_through_untouched() {
    // DataSourceConfig.name (1) and a field 9999 from the future.
    let bytes = [0x0a, 1, b'x', 0xfa, 0xf0, 0x04, 2, 8, 1];
    let config = DataSourceConfig::decode(&bytes).unwrap();
    assert_eq!(config.name.as_deref(), Some("x"));
    assert_eq!(config.encode_to_vec(), bytes);
}

#[test]
fn services_know_their_methods() {
    use producer_port::{METHODS, NAME, Request};
    assert_eq!(NAME, "ProducerPort");
    let commit = METHODS.iter().find(|m| m.name == "CommitData").unwrap();
    assert!(!commit.streaming);
    assert!(METHODS.iter().any(|m| m.name == "GetAsyncCommand" && m.streaming));
    let request = Request::CommitData(CommitDataRequest {
        flush_request_id: Some(5),
        ..CommitDataRequest::default()
    });
    assert_eq!(request.method_id(), commit.id);
    assert_eq!(Request::decode(commit.id, &request.encode()), Ok(request));
    assert_eq!(Request::decode(99, &[]), Err(protozero::CallError::UnknownMethod(99)));
    assert!(matches!(Request::decode(commit.id, &[8]), Err(protozero::CallError::Decode(_))));
}

#[test]
fn enums_are_open_and_have_names() {
    use TraceConfigBufferConfigFillPolicy as Policy;
    assert_eq!(format!("{:?}", Policy::RING_BUFFER), "RING_BUFFER");
    assert_eq!(Policy::RING_BUFFER.name(), Some("RING_BUFFER"));
    assert_eq!(Policy(77).name(), None);
    assert_eq!(<Policy as protozero::Enumeration>::from_name("DISCARD"), Some(Policy::DISCARD));
}

/// Structs are stored by value, so they must not become too large.
#[test]
fn sizes_stay_reasonable() {
    for (name, size) in [
        ("TracePacket", size_of::<TracePacket>()),
        ("TraceConfig", size_of::<TraceConfig>()),
        ("DataSourceConfig", size_of::<DataSourceConfig>()),
    ] {
        assert!(size <= 8 << 10, "{name} has {size} bytes");
    }
}

#[cfg(feature = "text")]
#[test]
fn descriptors_reach_everything() {
    use protozero::descriptor::{Kind, MessageDescriptor};
    let mut open: Vec<&'static MessageDescriptor> =
        vec![Trace::DESCRIPTOR, TraceConfig::DESCRIPTOR];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(message) = open.pop() {
        if seen.insert(message.name) {
            for field in message.fields {
                match field.kind {
                    Kind::Message(of) => open.push(of()),
                    Kind::Enum(e) => assert!(!e.values.is_empty(), "{}", e.name),
                    _ => {}
                }
            }
        }
    }
    assert!(seen.contains("perfetto.protos.TraceConfig.BufferConfig"));
    assert!(seen.len() > 100, "{}", seen.len());
    let buffers = TraceConfig::DESCRIPTOR.field("buffers").unwrap();
    assert_eq!(TraceConfig::DESCRIPTOR.field_by_number(buffers.number).unwrap().name, "buffers");
}

/// The descriptor set has all areas, whichever are compiled.
#[cfg(feature = "descriptor-set")]
#[test]
fn the_whole_schema_is_there_as_data() {
    use protozero::dynamic::{DynamicMessage, Pool};
    let pool = Pool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let packet = pool.message("perfetto.protos.TracePacket").unwrap();
    let text =
        "ftrace_events { cpu: 3 event { pid: 7 sched_switch { next_comm: \"a\" } } } timestamp: 9";
    let message = DynamicMessage::from_text(packet.clone(), text.as_bytes()).unwrap();
    let bytes = message.encode();
    assert_eq!(TracePacket::decode(&bytes).unwrap().timestamp, Some(9));
    let again = DynamicMessage::decode(packet, &bytes).unwrap();
    assert!(again.to_text().contains("next_comm"), "{}", again.to_text());
}
