//! A scrape in pieces, while its writer goes on: nothing comes into the buffer before what was written earlier.

use std::collections::BTreeSet;

use crate::turns::{holding_some, large_buffer, register_writer};
use crate::{BUFFER, MockConsumer, MockProducer, Shell, WRITER, payload, payloads, sequence};
use abi::ids::WriterId;
use protos::{TraceConfigBufferConfigExperimentalMode as Mode, TracePacket};

/// How often a sequence lost something before one of its packets. The first packet of a sequence says so always.
fn gaps(packets: &[TracePacket]) -> usize {
    let mut known = BTreeSet::new();
    let is_gap = |packet: &&TracePacket| {
        let is_first = known.insert(sequence(packet));
        packet.previous_packet_dropped.is_some_and(|why| why != 0) && !is_first
    };
    packets.iter().filter(is_gap).count()
}

/// Between two pieces the writer takes a page that the scrape has looked at, and then one that it has not.
#[test]
fn a_writer_that_takes_pages_during_a_scrape_loses_nothing() {
    for mode in [Mode::MODE_UNSPECIFIED, Mode::TRACE_BUFFER_V2] {
        take_pages_during_a_scrape(mode);
    }
}

fn take_pages_during_a_scrape(mode: Mode) {
    const PAGES: usize = 128;
    let mut shell = Shell::new();
    let (mut producer, mut commits) = holding_some(&mut shell, "ds", (PAGES, PAGES - 1));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = large_buffer(&["ds"]);
    config.buffers[0].experimental_mode = Some(mode);
    consumer.enable(&mut shell, config, None);
    shell.work_waits = true;
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(consumer.flushed(&mut shell, call), None);

    producer.commit(&mut shell, commits.remove(0));
    let late = ["first page", "last page"]
        .map(|text| producer.fill_chunk(WRITER, BUFFER, &[payload(text)]));
    assert_eq!(late.each_ref().map(|chunk| chunk.page), [Some(0), Some(PAGES as u32 - 1)]);
    while shell.service.has_work() {
        shell.turn();
    }
    shell.work_waits = false;
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));

    let mut packets = consumer.read(&mut shell);
    for chunk in commits.into_iter().chain(late) {
        producer.commit(&mut shell, chunk);
    }
    packets.extend(consumer.read(&mut shell));
    let texts = payloads(&packets);
    assert_eq!(texts.len(), PAGES + 1);
    assert_eq!(texts[PAGES - 1..], ["first page", "last page"]);
    assert_eq!(gaps(&packets), 0);
}

/// A producer leaves. The consumer reads between two pieces of the scrape of its memory, in which the pages of a
/// writer are not in the order of its chunks.
#[test]
fn what_is_read_during_a_scrape_is_in_order() {
    const PAGES: usize = 128;
    const OTHER: WriterId = WriterId::new(2);
    let mut shell = Shell::new();
    let (mut producer, mut commits) = holding_some(&mut shell, "ds", (PAGES, PAGES - 1));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    register_writer(&mut shell, &producer, OTHER);
    let mut numbers = 0..;
    let mut write = |producer: &mut MockProducer| {
        let text = format!("other {}", numbers.next().unwrap());
        producer.fill_chunk(OTHER, BUFFER, &[payload(&text)])
    };
    write(&mut producer);
    // The first page is free again: the second chunk lies before the first one.
    producer.commit(&mut shell, commits.remove(0));
    write(&mut producer);
    shell.work_waits = true;
    producer.disconnect(&mut shell);
    let mut packets = Vec::new();
    while shell.service.has_work() {
        packets.extend(consumer.read(&mut shell));
        shell.turn();
    }
    shell.work_waits = false;
    packets.extend(consumer.read(&mut shell));
    let texts = payloads(&packets);
    assert_eq!(texts.len(), PAGES + 1);
    assert_eq!(texts[PAGES - 1..], ["other 0", "other 1"]);
    assert_eq!(gaps(&packets), 0);
}
