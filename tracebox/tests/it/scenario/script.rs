//! The script: its sessions, and what happens in each.

use protos::{CloneSessionRequest, CloneSessionRequestSelector};
use tracing_core::client::consumer::Waited;
use tracing_core::client::write::TraceWriter;

use super::script_producer::{ScriptProducer, UNRESPONSIVE, packet};
use super::{Scenario, ScriptClient, config};

/// Fields of `TracePacket` that only a service may write, and some that producers may write.
const FORGED: [u32; 12] = [3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133];
const ALLOWED: [u32; 7] = [6, 45, 46, 72, 89, 107, 134];

/// The period of a session that must not write into its file before its end: a day.
const AT_THE_END: &str = "write_into_file: true file_write_period_ms: 86400000";

pub fn play(scenario: &Scenario<'_>) {
    let one = ScriptProducer::new(
        scenario.world,
        "producer.one",
        &["main", "full", "wrap", "new", "idle", UNRESPONSIVE],
    );
    let mut watcher = scenario.client();
    watcher.begin(
        "buffers { size_kb: 64 } builtin_data_sources { enable_concurrent_session_events: true }
         data_sources { config { name: 'idle' } } unique_session_name: 'watcher'",
        None,
    );
    buffers(scenario, &one);
    into_a_file(scenario, &one);
    stopped_by_a_trigger(scenario, &one);
    snapshots(scenario, &one);
    started_by_a_trigger(scenario, &one);
    switched_off(scenario, &one);
    unresponsive(scenario, &one);
    without_data(scenario);
    passed_on(scenario, &one);
    changed(scenario, &one);
    compressed(scenario, &one);
    refused(scenario);
    watcher.stop();
    watcher.read("watcher");
    watcher.leave();
}

/// Buffers of all kinds, clones, reading twice, a producer that disconnects.
fn buffers(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let two = ScriptProducer::new(scenario.world, "producer.two", &["second"]);
    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 512 name: 'main' }
         buffers { size_kb: 8 fill_policy: DISCARD name: 'full' }
         buffers { size_kb: 8 fill_policy: RING_BUFFER name: 'wrap' }
         buffers { size_kb: 8 experimental_mode: TRACE_BUFFER_V2 name: 'new' }
         data_sources { config { name: 'main' } }
         data_sources { config { name: 'full' target_buffer: 1 } }
         data_sources { config { name: 'wrap' target_buffer: 2 } }
         data_sources { config { name: 'new' target_buffer_name: 'new' } }
         data_sources { config { name: 'second' } producer_name_filter: 'producer.two' }
         data_sources { config { name: 'nobody has it' } }
         producers { producer_name: 'producer.one' shm_size_kb: 128 page_size_kb: 4 }
         unique_session_name: 'buffers' bugreport_score: 7
         trace_attributes { attribute { key: 'a' string_value: 'b' } }
         statsd_metadata { triggering_alert_id: 5 }",
        None,
    );
    one.number("main", 0..3, 0);
    one.write("main", odd_packets);
    for source in ["full", "wrap", "new"] {
        one.number(source, 0..20, 1000);
    }
    two.number("second", 0..3, 10);
    client.flush();
    let mut other = scenario.client();
    other.clone_of("buffers", "buffers.clone");
    other.leave();
    let stats = client.consumer.get_trace_stats().unwrap();
    scenario.keep("buffers.TraceStats", &stats);
    scenario.keep("buffers.TracingServiceState", &client.state());
    client.read("buffers.first");
    for source in ["main", "full", "wrap", "new"] {
        one.number(source, 20..22, 1000);
    }
    two.number("second", 3..4, 10);
    drop(two);
    client.wait_until_gone("producer.two");
    client.stop();
    client.read("buffers.last");
    client.read("buffers.again");
    client.leave();
}

/// Packets that are hard for a validator and a reader.
fn odd_packets(writer: &mut TraceWriter) {
    let field = |number: u32, text: &str| {
        let varint = |value: u32| {
            let (low, high) = (value as u8 & 0x7f | 0x80, (value >> 7) as u8);
            [low, high]
        };
        let value: Vec<u8> = match number {
            3 | 10 | 69 | 79 | 98 if number != 69 => [&varint(number << 3)[..], &[1]].concat(),
            _ => [&varint(number << 3 | 2)[..], &[0]].concat(),
        };
        // TracePacket.for_testing (900) { str (1): text }
        let event = [&[0x0a, text.len() as u8], text.as_bytes()].concat();
        [&value[..], &varint(900 << 3 | 2), &[event.len() as u8], &event].concat()
    };
    for number in FORGED {
        writer.write_raw(&field(number, &format!("forged {number}")));
    }
    for number in ALLOWED {
        writer.write_raw(&field(number, &format!("allowed {number}")));
    }
    drop(writer.new_packet());
    // A truncated field, a group, and a length whose varint does not end.
    for broken in
        [&b"\x08"[..], b"\x0b\x08\x01\x0c", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
    {
        writer.write_raw(broken);
    }
    // A packet in several chunks, the first of which is patched.
    writer.new_packet().for_testing().str(&"large".repeat(4000));
    packet(writer, "behind it");
}

/// A session that is started later and writes into a file, and its clone.
fn into_a_file(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    let source = format!(
        "buffers {{ size_kb: 256 }} data_sources {{ config {{ name: 'main' }} }} {AT_THE_END}
         deferred_start: true unique_session_name: 'file'"
    );
    client.ask(&source, Some(scenario.file("file")));
    client.consumer.start_tracing().unwrap();
    client.all_started();
    one.number("main", 0..4, 5000);
    let mut other = scenario.client();
    other.clone_of("file", "file.clone");
    other.leave();
    one.number("main", 4..6, 5000);
    client.stop();
    scenario.keep("file.TraceStats", &client.consumer.get_trace_stats().unwrap());
    client.read("file.after");
    client.leave();
}

/// One of several triggers ends the session. It is cloned before, and cannot be read before.
fn stopped_by_a_trigger(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 64 } data_sources { config { name: 'main' } }
         unique_session_name: 'stopped'
         trigger_config {
           trigger_mode: STOP_TRACING trigger_timeout_ms: 86400000
           triggers { name: 'not mine' producer_name_regex: 'producer.two' stop_delay_ms: 1 }
           triggers { name: 'never' skip_probability: 1 stop_delay_ms: 1 }
           triggers { name: 'end' producer_name_regex: 'producer.o.*' stop_delay_ms: 86400000 }
           triggers { name: 'late' stop_delay_ms: 1 }
         }",
        None,
    );
    one.number("main", 0..2, 0);
    for trigger in ["unknown", "not mine", "never"] {
        one.fire(trigger);
    }
    client.read("stopped.before");
    let mut other = scenario.client();
    other.clone_of("stopped", "stopped.clone");
    other.leave();
    for trigger in ["end", "late", "end"] {
        one.fire(trigger);
    }
    client.stop();
    client.read("stopped");
    client.leave();

    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 64 } data_sources { config { name: 'main' } }
         trigger_config {
           trigger_mode: STOP_TRACING trigger_timeout_ms: 86400000
           triggers { name: 'end' stop_delay_ms: 1 }
         }",
        None,
    );
    one.number("main", 0..2, 0);
    one.fire("end");
    client.ended();
    client.read("ended");
    client.leave();
}

/// Two snapshots, of buffers that are copied, moved and cleared before.
fn snapshots(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 64 }
         buffers { size_kb: 64 transfer_on_clone: true }
         buffers { size_kb: 64 clear_before_clone: true }
         data_sources { config { name: 'main' } }
         data_sources { config { name: 'full' target_buffer: 1 } }
         data_sources { config { name: 'wrap' target_buffer: 2 } }
         unique_session_name: 'snapshots'
         trigger_config {
           trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 86400000
           triggers { name: 'snap' stop_delay_ms: 1 }
         }",
        None,
    );
    for round in 0..2 {
        for source in ["main", "full", "wrap"] {
            one.number(source, round * 3..round * 3 + 3, 100);
        }
        one.fire("snap");
        let hit = loop {
            if let Waited::Event(event) = client.wait()
                && let Some(hit) = event.clone_trigger_hit
            {
                break hit;
            }
        };
        let request = CloneSessionRequest {
            selector: hit
                .tracing_session_id
                .map(|id| CloneSessionRequestSelector::SessionId(u64::try_from(id).unwrap())),
            clone_trigger_name: hit.trigger_name,
            clone_trigger_producer_name: hit.producer_name,
            clone_trigger_trusted_producer_uid: hit.producer_uid.map(u32::cast_signed),
            clone_trigger_boot_time_ns: hit.boot_time_ns,
            clone_trigger_delay_ms: hit.trigger_delay_ms,
            ..CloneSessionRequest::default()
        };
        let mut other = scenario.client();
        other.clone_with(request, &format!("snapshots.{round}"));
        other.leave();
    }
    client.stop();
    client.read("snapshots");
    client.leave();
}

fn started_by_a_trigger(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    client.ask(
        "buffers { size_kb: 64 } data_sources { config { name: 'main' } }
         trigger_config {
           trigger_mode: START_TRACING trigger_timeout_ms: 86400000
           triggers { name: 'begin' stop_delay_ms: 86400000 }
         }",
        None,
    );
    // The service has created the snapshot session by now.
    while client.state().tracing_sessions.len() != 2 {}
    client.read("begun.before");
    one.fire("begin");
    client.all_started();
    one.fire("begin");
    one.number("main", 0..3, 0);
    client.stop();
    client.read("begun");
    client.leave();
}

/// A session without the packets of the service that a config can switch off.
fn switched_off(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 64 } data_sources { config { name: 'main' } }
         builtin_data_sources {
           disable_clock_snapshotting: true disable_trace_config: true disable_system_info: true
           disable_service_events: true disable_chunk_usage_histograms: true
           disable_extension_descriptors: true
         }",
        None,
    );
    one.number("main", 0..3, 0);
    client.stop();
    client.read("off");
    client.leave();
}

/// A data source that does not acknowledge.
fn unresponsive(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut client = scenario.client();
    client.begin(
        "buffers { size_kb: 64 } data_sources { config { name: 'unresponsive' } }
         data_sources { config { name: 'main' } }
         flush_timeout_ms: 50 data_source_stop_timeout_ms: 50
         builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }",
        None,
    );
    one.number("main", 0..3, 0);
    assert!(client.consumer.flush(std::time::Duration::from_millis(50)).is_err());
    client.stop();
    client.read("unresponsive");
    client.leave();
}

fn without_data(scenario: &Scenario<'_>) {
    let mut client = scenario.client();
    client.ask(
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } duration_ms: 1",
        None,
    );
    client.ended();
    client.read("empty");
    client.read("empty.again");
    client.leave();
}

/// A session that is detached, and read by another consumer that attaches.
fn passed_on(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let mut first = scenario.client();
    first.begin("buffers { size_kb: 64 } data_sources { config { name: 'main' } }", None);
    one.number("main", 0..3, 0);
    first.consumer.detach("key").unwrap();
    let mut second = scenario.client();
    second.consumer.attach("key").unwrap();
    one.number("main", 3..5, 0);
    second.stop();
    second.read("passed");
    second.leave();
}

/// The filter of a data source is widened while the session runs. No other data source of that producer may be
/// in the session: the C++ service would ignore it.
fn changed(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let source = |filter: &str| {
        format!(
            "buffers {{ size_kb: 64 }}
             data_sources {{ config {{ name: 'main' }} producer_name_filter: '{filter}' }}"
        )
    };
    let mut client = scenario.client();
    client.begin(&source("producer.two"), None);
    client.consumer.change_trace_config(&config(&source("producer.one"))).unwrap();
    while !one.runs("main") {
        one.sync();
    }
    one.number("main", 0..3, 0);
    client.stop();
    client.read("changed");
    client.leave();
}

/// Compression of traces that are read over the socket, and of files.
fn compressed(scenario: &Scenario<'_>, one: &ScriptProducer) {
    let codecs = [
        ("legacy", "compression_type: COMPRESSION_TYPE_DEFLATE"),
        ("deflate", "compression { deflate {} }"),
    ];
    for (name, codec) in codecs {
        let mut client = scenario.client();
        let source = format!(
            "buffers {{ size_kb: 256 }} data_sources {{ config {{ name: 'main' }} }} {codec}"
        );
        client.begin(&source, None);
        one.number("main", 0..4, 20000);
        client.stop();
        client.read(name);
        client.leave();
        let mut client = scenario.client();
        client
            .begin(&format!("{source} {AT_THE_END}"), Some(scenario.file(&format!("{name}.file"))));
        one.number("main", 0..4, 20000);
        client.stop();
        client.leave();
    }
}

/// Configs with one wrong or unusual field each: the service accepts or refuses them.
fn refused(scenario: &Scenario<'_>) {
    const CONFIGS: [&str; 24] = [
        "",
        "buffers { size_kb: 64 }",
        "buffers { size_kb: 0 } data_sources { config { name: 'none' } }",
        "data_sources { config { name: 'none' } }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' target_buffer: 1 } }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' target_buffer_name: 'x' } }",
        "buffers { size_kb: 64 name: 'x' } buffers { size_kb: 64 name: 'x' }
         data_sources { config { name: 'none' } }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } unique_session_name: 'watcher'",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } write_into_file: true",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } output_path: '/x'",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         trigger_config { trigger_mode: START_TRACING }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 1 }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         trigger_config { trigger_mode: STOP_TRACING triggers { name: 'x' } }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 1 triggers {} }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } duration_ms: 4294967295",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } flush_period_ms: 1",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } trace_filter { bytecode: 'x' }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } trace_filter {}",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         session_semaphores { name: 'x' max_other_session_count: 0 }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } enable_extra_guardrails: true
         duration_ms: 86400001",
        "buffers { size_kb: 300000 } data_sources { config { name: 'none' } } enable_extra_guardrails: true",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } } exclusive_prio: 0",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         priority_boost { policy: POLICY_UNSPECIFIED priority: 1 }",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         trigger_config { trigger_mode: UNSPECIFIED trigger_timeout_ms: 1 }",
    ];
    let mut answers = String::new();
    for source in CONFIGS {
        let mut client = scenario.client();
        // Accepted sessions end at once, unless the duration is what the config tests.
        let source = match source.contains("duration_ms") || source.contains("trigger_mode") {
            true => source.to_owned(),
            false => format!("{source} duration_ms: 1"),
        };
        client.consumer.enable_tracing(&config(&source), None).unwrap();
        let answer = client.answer();
        let line: Vec<&str> = source.split_whitespace().collect();
        answers.push_str(&format!("{answer}: {}\n", line.join(" ")));
        client.leave();
    }
    std::fs::write(scenario.out.join("answers"), answers).unwrap();
}

impl ScriptClient<'_> {
    /// Whether the service has refused the session.
    fn answer(&mut self) -> &'static str {
        // A flush of an accepted session succeeds. A refusal has arrived before the answer to the flush.
        self.consumer.disable_tracing().unwrap();
        match self.consumer.wait(Some(super::FOREVER)) {
            Ok(_) => "taken",
            Err(_) => "refused",
        }
    }
}
