use std::time::Duration;

use client::data_source::Instance;
use protos::TracePacketOptionalTrustedPacketSequenceId as Sequence;
use protos::{
    DataSourceConfig, LossLedger, LossLedgerEntry, LossLedgerReason, TraceStats,
    TraceStatsBufferStats,
};
use protos::{TestEvent, Trace, TracePacket, TracePacketData, TracePacketOptionalTrustedUid};
use protozero::Message as _;

use super::asker::{half_most_and_all, parse_ready_time};
use super::kind::{Kind, Recorded};
use super::leaver::received;
use super::{Lost, Report, WRITERS, check, check_told, content, is_own, own_config};

const UID: u32 = 7;

fn packet(writer: usize, number: u64) -> TracePacket {
    let event = TestEvent {
        seq_value: Some(writer as u32),
        counter: Some(number),
        str: Some(content(number)),
        ..Default::default()
    };
    mark(writer, Some(TracePacketData::ForTesting(event)), false)
}

fn mark(writer: usize, data: Option<TracePacketData>, dropped: bool) -> TracePacket {
    TracePacket {
        data,
        optional_trusted_uid: Some(TracePacketOptionalTrustedUid::TrustedUid(UID as i32)),
        optional_trusted_packet_sequence_id: Some(Sequence::TrustedPacketSequenceId(
            writer as u32 + 1,
        )),
        previous_packet_dropped: dropped.then_some(1),
        ..Default::default()
    }
}

fn losses(packets: Vec<TracePacket>, written: [u64; WRITERS]) -> Result<Lost, String> {
    let trace = Trace { packet: packets, ..Default::default() };
    let recorded = Recorded { trace: trace.encode_to_vec(), ..Recorded::default() };
    check(&recorded, UID, &written)
}

fn checked(packets: Vec<TracePacket>, written: [u64; WRITERS]) -> Result<u64, String> {
    losses(packets, written).map(|lost| lost.packets)
}

#[test]
fn gaps_need_a_mark() {
    let both = || vec![packet(0, 0), packet(1, 0), packet(0, 1), packet(1, 1), packet(1, 2)];
    assert_eq!(checked(both(), [2, 3]), Ok(0));
    assert!(checked(both(), [2, 4]).unwrap_err().contains("no mark"), "the end is missing");
    let mut told = both();
    told.push(mark(1, None, true));
    assert_eq!(checked(told, [2, 9]), Ok(6));

    let gap = |dropped| {
        let mut last = packet(0, 5);
        last.previous_packet_dropped = Some(u32::from(dropped));
        checked(vec![packet(0, 0), last], [6, 0])
    };
    assert_eq!(gap(true), Ok(4));
    assert!(gap(false).unwrap_err().contains("no mark"));
    assert!(checked(vec![packet(0, 1), packet(0, 0)], [2, 0]).is_err(), "out of order");
    assert!(checked(vec![packet(0, 0), packet(0, 0)], [1, 0]).is_err(), "twice");
}

#[test]
fn each_gap_has_one_mark() {
    let packets = vec![packet(0, 0), mark(0, None, true), packet(0, 5), mark(0, None, true)];
    let lost = losses(packets, [9, 0]).unwrap();
    assert_eq!(lost, Lost { packets: 4 + 3, gaps: 2, marks: 2 });
    let stats = |counted, pid| {
        let buffer =
            TraceStatsBufferStats { trace_writer_packet_loss: Some(counted), ..Default::default() };
        let own = LossLedgerEntry {
            pid: Some(std::process::id().cast_signed()),
            reason: Some(LossLedgerReason::REASON_DROPPED),
            count: Some(4 + 3),
            ..Default::default()
        };
        let other = LossLedgerEntry { pid: Some(pid), ..Default::default() };
        let ledger = LossLedger { entries: vec![own, other], ..Default::default() };
        TraceStats { buffer_stats: vec![buffer], loss_ledger: Some(ledger), ..Default::default() }
    };
    let own = std::process::id().cast_signed();
    assert_eq!(check_told(&lost, 2, false, &stats(2, own + 1)), Ok(()));
    assert!(check_told(&lost, 2, false, &stats(1, own + 1)).is_err(), "not counted");
    assert!(check_told(&lost, 2, false, &stats(2, own)).is_err(), "told, but not lost");
    for packets in [6, 8] {
        let other = Lost { packets, ..lost };
        assert!(check_told(&other, 2, false, &stats(2, own + 1)).is_err(), "{packets} packets");
    }
    assert!(
        check_told(&lost, 1, false, &stats(2, own + 1)).is_err(),
        "a gap where nothing was dropped"
    );
    let unmarked = Lost { marks: 1, ..lost };
    assert!(check_told(&unmarked, 2, false, &stats(2, own + 1)).is_err(), "no mark");
    assert_eq!(check_told(&unmarked, 2, true, &stats(0, own + 1)), Ok(()), "it was overwritten");
    assert!(check_told(&unmarked, 2, true, &stats(0, own)).is_err(), "told, but not lost");
}

#[test]
fn gaps_of_a_process_that_was_killed_need_a_mark() {
    const PID: i32 = 77;
    let of_pid = |packet: TracePacket| TracePacket { trusted_pid: Some(PID), ..packet };
    let received = |packets: Vec<TracePacket>| {
        let trace = Trace { packet: packets, ..Default::default() };
        received(&trace.encode_to_vec(), PID.cast_unsigned())
    };
    let [first, third] = [0, 2].map(|number| of_pid(packet(0, number)));
    let marked = TracePacket { previous_packet_dropped: Some(1), ..third.clone() };
    let mark = of_pid(mark(0, None, true));
    assert_eq!(received(vec![first.clone(), marked]), Ok(2));
    assert_eq!(received(vec![first.clone(), mark.clone(), third.clone()]), Ok(2));
    assert!(received(vec![first.clone(), third.clone()]).is_err());
    let others = TracePacket { trusted_pid: Some(PID + 1), ..mark.clone() };
    assert!(received(vec![first.clone(), others, third.clone()]).is_err());
    assert!(received(vec![third, mark, first]).is_err(), "out of order");
}

#[test]
fn bytes_follow_from_the_number() {
    let mut other = packet(0, 0);
    let Some(TracePacketData::ForTesting(event)) = &mut other.data else { unreachable!() };
    event.str = Some(content(1));
    assert!(checked(vec![other], [1, 0]).unwrap_err().contains("other bytes"));
    let mut hostile = packet(0, 77);
    hostile.optional_trusted_uid = Some(TracePacketOptionalTrustedUid::TrustedUid(8));
    assert_eq!(checked(vec![hostile, packet(0, 0)], [1, 0]), Ok(0), "of another user");
}

/// The daemon stood still 60 times in some 260 seconds, for a second each.
#[test]
fn a_daemon_that_stands_still_is_seen_in_999_of_1000() {
    let quick = Duration::from_micros(100);
    let mut answers = vec![quick; 100_000];
    assert_eq!(half_most_and_all(answers.clone()), [quick; 3]);
    answers.extend([Duration::from_secs(1); 60]);
    let [half, most, all] = half_most_and_all(answers);
    assert_eq!((half, all), (quick, Duration::from_secs(1)));
    assert!(most > Duration::from_millis(900), "{most:?}");
    assert_eq!(half_most_and_all(Vec::new()), [Duration::ZERO; 3]);
}

#[test]
fn the_kernel_tells_how_long_a_thread_was_ready() {
    assert_eq!(parse_ready_time("123 4567 8\n"), Some(Duration::from_nanos(4567)));
    assert_eq!(parse_ready_time("123"), None);
    assert_eq!(parse_ready_time("123 x 8"), None);
}

#[test]
fn reports_survive_a_pipe() {
    let counts = Report { rounds: 1, written: 2, lost: 3, answers: 4, ..Report::default() };
    let [p50, p999, seen_p999] = [1, 2, 3].map(Duration::from_micros);
    let report = Report { p50, p999, seen_p999, ..counts };
    let parsed = Report::parse(&report.line()).unwrap();
    assert_eq!(parsed.line(), report.line());
    assert!(Report::parse("1 2 3").is_none());
    assert!(Report::parse("").is_none());
}

#[test]
fn compressed_packets_and_clones_are_checked() {
    use std::io::Write as _;
    let encoded = |packet| Trace { packet, ..Default::default() }.encode_to_vec();
    let compressed = |packet| {
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
        writer.write_all(&encoded(packet)).unwrap();
        let data = Some(TracePacketData::CompressedPackets(writer.finish().unwrap()));
        encoded(vec![TracePacket { data, ..Default::default() }])
    };
    let check = |trace, clone: Option<_>, is_compressed| {
        let recorded = Recorded { trace, clone, is_compressed, ..Recorded::default() };
        check(&recorded, UID, &[2, 0]).map(|lost| lost.packets)
    };
    let both = || vec![packet(0, 0), packet(0, 1)];
    assert_eq!(check(compressed(both()), None, true), Ok(0));
    assert!(check(compressed(vec![packet(0, 1)]), None, true).is_err(), "a packet is missing");
    assert!(check(encoded(both()), None, true).is_err(), "not compressed");
    let cloned =
        |packets, flushed| check(encoded(both()), Some((encoded(packets), flushed)), false);
    assert_eq!(cloned(vec![packet(0, 0)], [1, 0]), Ok(0));
    assert_eq!(cloned(Vec::new(), [0, 0]), Ok(0));
    assert!(cloned(vec![packet(0, 1)], [0, 0]).is_err(), "a gap in the clone");
    assert!(cloned(Vec::new(), [1, 0]).is_err(), "nothing is in the clone");
    assert!(cloned(vec![packet(0, 0)], [2, 0]).is_err(), "the end is missing in the clone");
    let gap = TracePacket { previous_packet_dropped: Some(1), ..packet(0, 1) };
    assert!(cloned(vec![gap], [2, 0]).is_err(), "the service had what is missing in the clone");
}

#[test]
fn chunks_of_hostile_producers_may_overwrite_those_of_an_open_session() {
    let check = |packets, is_open, overwritten| {
        let trace = Trace { packet: packets, ..Default::default() }.encode_to_vec();
        let buffer =
            TraceStatsBufferStats { chunks_overwritten: Some(overwritten), ..Default::default() };
        let stats = TraceStats { buffer_stats: vec![buffer], ..Default::default() };
        let recorded = Recorded { trace, is_open, stats, ..Recorded::default() };
        check(&recorded, UID, &[2, 0]).map(|lost| lost.packets)
    };
    assert_eq!(check(vec![packet(0, 0)], true, 1), Ok(1));
    assert!(check(vec![packet(0, 0)], true, 0).is_err(), "nothing was overwritten");
    assert!(check(vec![packet(0, 0)], false, 1).is_err(), "its buffer is its own");
    assert!(check(vec![packet(0, 1)], true, 1).is_err(), "no mark");
    let more = vec![packet(0, 0), packet(0, 1), packet(0, 2)];
    assert!(check(more, true, 1).is_err(), "more than was written");
}

/// Packets of hostile producers have anything in them, also where an honest one has its text.
#[test]
fn packets_of_hostile_producers_are_not_read() {
    let mut of_another = packet(0, 7);
    of_another.optional_trusted_uid = Some(TracePacketOptionalTrustedUid::TrustedUid(8));
    let mut trace =
        Trace { packet: vec![packet(0, 0), of_another], ..Default::default() }.encode_to_vec();
    let text = trace.windows(6).rposition(|bytes| bytes == &content(7).as_bytes()[..6]).unwrap();
    trace[text] = 0xff;
    let recorded = Recorded { trace, ..Recorded::default() };
    assert_eq!(check(&recorded, UID, &[1, 0]).map(|lost| lost.packets), Ok(0));
}

#[test]
fn all_kinds_of_sessions_come() {
    let kinds: Vec<_> = (0..6).map(|round| Kind::of(round, true)).collect();
    assert!((1..6).all(|at| !kinds[..at].contains(&kinds[at])), "{kinds:?}");
    assert_eq!(Kind::of(3, false), Kind::Read);
}

#[test]
fn only_producers_of_its_name_are_in_a_session() {
    let config = own_config("siege.7", 8);
    let source = &config.data_sources[0];
    assert_eq!(source.producer_name_filter, ["siege.7"]);
    let of =
        |config: &DataSourceConfig| is_own(&Instance::detached(Default::default(), config.clone()));
    assert!(of(source.config.as_ref().unwrap()));
    assert!(!of(&DataSourceConfig::default()));
}
