//! Metadata of a trace: provenance, uuid, statistics.

use protos::consumer_port::Request;
use protozero::Message as _;

use super::*;
use service::ExtensionSet;
use testing::shell::START_NS;

fn find<'a, T>(packets: &'a [TracePacket], of: fn(&'a TracePacketData) -> Option<T>) -> Vec<T> {
    packets.iter().filter_map(|p| of(p.data.as_ref()?)).collect()
}

fn uuids(packets: &[TracePacket]) -> Vec<(i64, i64)> {
    find(packets, |data| match data {
        TracePacketData::TraceUuid(uuid) => Some((uuid.lsb.unwrap(), uuid.msb.unwrap())),
        _ => None,
    })
}

fn read(config: TraceConfig) -> Vec<TracePacket> {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let packets = consumer.read(&mut shell);
    assert_eq!(uuids(&consumer.read(&mut shell)), [], "once");
    packets
}

#[test]
#[allow(deprecated, reason = "older peers still send them")]
fn uuid_packet_matches_config_uuid() {
    let config = TraceConfig { trace_uuid_lsb: Some(1), trace_uuid_msb: Some(2), ..config(&[]) };
    assert_eq!(uuids(&read(config)), [(1, 2)]);
}

#[test]
fn random_uuid_if_no_config_uuid() {
    let uuids = uuids(&read(config(&[])));
    assert!(matches!(uuids[..], [(lsb, msb)] if lsb != 0 && msb != 0));
}

#[test]
fn extension_descriptors() {
    let set = protos::FileDescriptorSet {
        file: vec![protos::FileDescriptorProto {
            name: Some("x.proto".into()),
            ..Default::default()
        }],
        ..Default::default()
    };
    let extensions = vec![
        ExtensionSet { file_name: "plain".into(), bytes: set.encode_to_vec(), gzip: false },
        ExtensionSet { file_name: String::new(), bytes: vec![0x1f, 0x8b, 0], gzip: true },
    ];
    let mut shell = Shell::with(|config| config.extensions = extensions);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    let packets = consumer.read(&mut shell);
    let found = find(&packets, |data| match data {
        TracePacketData::ExtensionDescriptor(e) => {
            Some((e.file_name.clone(), e.descriptor.clone().unwrap()))
        }
        _ => None,
    });
    use protos::ExtensionDescriptorDescriptor as Kind;
    let expected = [
        (Some("plain".to_owned()), Kind::ExtensionSet(set)),
        (None, Kind::ExtensionSetGzip(vec![0x1f, 0x8b, 0])),
    ];
    assert_eq!(found, expected);
    // Unless the config disables them.
    consumer.free(&mut shell);
    let builtin = protos::TraceConfigBuiltinDataSource {
        disable_extension_descriptors: Some(true),
        ..Default::default()
    };
    let config = TraceConfig { builtin_data_sources: Some(builtin), ..config(&[]) };
    consumer.enable(&mut shell, config, None);
    assert!(!kinds(&consumer.read(&mut shell)).contains(&"ExtensionDescriptor".to_owned()));
}

fn provenance(packets: &[TracePacket]) -> Vec<protos::TraceProvenance> {
    find(packets, |data| match data {
        TracePacketData::TraceProvenance(provenance) => Some(provenance.clone()),
        _ => None,
    })
}

#[test]
fn trace_provenance() {
    let mut shell = Shell::new();
    let v2 = TraceConfigBufferConfig {
        experimental_mode: Some(protos::TraceConfigBufferConfigExperimentalMode::TRACE_BUFFER_V2),
        ..buffer(128)
    };
    let config = TraceConfig { buffers: vec![v2], ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    for writer in [1, 2] {
        producer.write(&mut shell, WriterId::new(writer), BUFFER, &[payload("a")]);
    }
    let packets = consumer.read(&mut shell);
    let found = provenance(&packets);
    let sequences = &found[0].buffers[0].sequences;
    let told: Vec<_> = sequences.iter().map(|s| (s.id.unwrap(), s.producer_id.unwrap())).collect();
    assert_eq!(told, [(2, 1), (3, 1)]);
    let used = packets.iter().filter(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    assert_eq!(used.filter_map(sequence).collect::<Vec<_>>(), [2, 3]);
    assert!(provenance(&consumer.read(&mut shell)).is_empty());
}

fn stats(shell: &mut Shell, consumer: &MockConsumer) -> protos::TraceStats {
    let replies = consumer.call(shell, Request::GetTraceStats(Default::default()));
    let bytes = replies[0].response.clone().unwrap();
    protos::GetTraceStatsResponse::decode(&bytes).unwrap().trace_stats.unwrap()
}

#[test]
fn trace_writer_stats() {
    let mut shell = Shell::new();
    let mut config = config(&["a", "b"]);
    config.buffers = vec![buffer(128), buffer(128), buffer(128)];
    for (source, target) in config.data_sources.iter_mut().zip([1, 2]) {
        source.config.as_mut().unwrap().target_buffer = Some(target);
    }
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "a");
    producer.register_name(&mut shell, "b");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    for (writer, buffer, len) in [(1, 2, 4), (1, 2, 100), (1, 2, 2000), (2, 3, 100)] {
        let packet = payload(&"x".repeat(len));
        producer.write(&mut shell, WriterId::new(writer), BufferId::new(buffer), &[packet]);
    }
    consumer.read(&mut shell);
    let stats = stats(&mut shell, &consumer);
    // One less than there are buckets: the last bucket has no bound.
    let def = &stats.chunk_payload_histogram_def;
    assert_eq!(def[..], [8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384]);
    assert_eq!(stats.writer_stats[0].chunk_payload_histogram_counts.len(), def.len() + 1);
    let told: Vec<_> = stats
        .writer_stats
        .iter()
        .map(|w| {
            (w.sequence_id.unwrap(), w.buffer.unwrap(), &w.chunk_payload_histogram_counts[..7])
        })
        .collect();
    assert_eq!(told, [(2, 1, &[0, 1, 1, 0, 0, 1, 0][..]), (3, 2, &[0, 0, 1, 0, 0, 0, 0][..])]);
    let sums = &stats.writer_stats[1].chunk_payload_histogram_sum;
    assert!(sums[2] > 100 && sums.iter().sum::<i64>() == sums[2]);
}

#[test]
fn statistics_of_thousands_of_writers_fit_into_a_frame() {
    use protozero::Message as _;
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    for writer in 1..=10_000 {
        producer.write(&mut shell, WriterId::new(writer), BUFFER, &[payload("a")]);
    }
    let request = protos::consumer_port::Request::GetTraceStats(Default::default());
    let replies = consumer.call(&mut shell, request);
    let bytes = replies[0].response.as_ref().unwrap();
    assert!(bytes.len() <= abi::limits::IPC_FRAME_BYTES_MAX);
    let response = protos::GetTraceStatsResponse::decode(bytes).unwrap();
    let stats = &response.trace_stats.unwrap().buffer_stats[0];
    assert!(stats.chunks_written.unwrap() >= 10_000);
}

/// A producer chooses how many writers it has. What the statistics of a session take does not depend on it.
#[test]
fn a_trace_tells_of_so_many_writers() {
    let mut shell = Shell::new();
    let v2 = TraceConfigBufferConfig {
        experimental_mode: Some(protos::TraceConfigBufferConfigExperimentalMode::TRACE_BUFFER_V2),
        ..buffer(8 * 1024)
    };
    let config = TraceConfig { buffers: vec![v2.clone(), v2], ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    for writer in 1..=4096 + 10 {
        producer.write(&mut shell, WriterId::new(writer), BUFFER, &[payload("a")]);
    }
    let packets = consumer.read(&mut shell);
    let of_stats = find(&packets, |data| match data {
        TracePacketData::TraceStats(stats) => Some(stats.writer_stats.len()),
        _ => None,
    });
    let of_provenance = find(&packets, |data| match data {
        TracePacketData::TraceProvenance(all) => {
            Some(all.buffers.iter().map(|buffer| buffer.sequences.len()).sum::<usize>())
        }
        _ => None,
    });
    assert_eq!((of_stats, of_provenance), (vec![4096], vec![4096]));
}

/// Readers refuse a snapshot that is older than the one before.
#[test]
fn clock_snapshots_from_before_the_start_come_first() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let deferred = TraceConfig { deferred_start: Some(true), ..config(&[]) };
    consumer.enable(&mut shell, deferred, None);
    let other = MockConsumer::connect(&mut shell, 0);
    let clone = protos::CloneSessionRequest {
        selector: Some(protos::CloneSessionRequestSelector::SessionId(1)),
        ..Default::default()
    };
    other.clone_session(&mut shell, clone, None);
    shell.advance_ms(1000);
    consumer.start(&mut shell);
    let times = find(&consumer.read(&mut shell), |data| match data {
        TracePacketData::ClockSnapshot(snapshot) => snapshot.clocks.first()?.timestamp,
        _ => None,
    });
    assert_eq!(times, [START_NS, START_NS + 1_000_000_000]);
}
