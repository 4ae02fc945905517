use abi::map::SortedMap;
use proptest::prelude::*;
use protos::{FtraceClock, FtraceEventBundle, FtraceParseStatus as Status};
use protozero::wire::tag::{LEN, VARINT};
use protozero::{FixedSink, Message, Reader, Writer};

use super::super::addresses::Addresses;
use super::super::compact::tests::LAYOUT;
use super::super::event::Around;
use super::super::facts::Facts;
use super::super::page::made::Made;
use super::super::page::{Commit, Lost};
use super::super::table::plan::{Body, Fact, Plan, Step, Tag, What};
use super::super::table::plans::Plans;
use super::{Bundle, Clocks, Filter, Keep, Progress, Readings};

/// A page of Linux 6.18, and what upstream's probes made of it: sched_switch, print and task_rename.
const PAGE: &[u8] = include_bytes!("sample.page");
const BUNDLE: &[u8] = include_bytes!("sample.bundle");

const SWITCH: u16 = 372;
const WAKING: u16 = 374;
const PRINT: u16 = 5;
const RENAME: u16 = 204;
const GENERIC: u16 = 999;

fn plan(number: u32, size: u16, steps: &[(u32, u16, What)]) -> Plan {
    let steps = steps.iter().map(|(number, offset, what)| {
        let is_text = matches!(what, What::Text(_) | What::TextToEnd);
        let tag = Tag::of(*number, if is_text { LEN } else { VARINT });
        Step { tag, offset: *offset, what: *what }
    });
    let body = Body::Message(Tag::of(number, LEN));
    Plan { body, size, fact: Fact::None, descriptor: None, steps: steps.collect() }
}

/// Those of the events of the sample, and of some more, that have these ids.
fn plans(ids: &[u16], is_compact: bool) -> Plans {
    let mut plans = Plans::new(4, is_compact.then_some(LAYOUT));
    let mut insert = |id, plan| {
        if ids.contains(&id) {
            plans.insert(id, plan);
        }
    };
    let switch = [
        (1, 8, What::Text(16)),
        (2, 24, What::Pid),
        (3, 28, What::I32),
        (4, 32, What::I64),
        (5, 40, What::Text(16)),
        (6, 56, What::Pid),
        (7, 60, What::I32),
    ];
    insert(SWITCH, plan(4, 64, &switch));
    let waking =
        [(1, 8, What::Text(16)), (2, 24, What::Pid), (3, 28, What::I32), (5, 32, What::I32)];
    insert(WAKING, plan(20, 36, &waking));
    insert(PRINT, plan(3, 16, &[(2, 16, What::TextToEnd)]));
    let rename =
        [(1, 8, What::Pid), (2, 12, What::Text(16)), (3, 28, What::Text(16)), (4, 44, What::I16)];
    insert(RENAME, plan(236, 46, &rename));
    let generic = Plan { descriptor: Some(Box::from(&b"\x08\x01"[..])), ..plan(65536, 8, &[]) };
    insert(GENERIC, generic);
    plans
}

/// A session with these events.
struct Session {
    plans: Plans,
    printk: SortedMap<u64, Box<[u8]>>,
    addresses: Addresses,
    facts: Facts,
    progress: Progress,
    bundle: Bundle,
}

impl Session {
    fn new(ids: &[u16], is_compact: bool) -> Self {
        Self {
            plans: plans(ids, is_compact),
            printk: SortedMap::new(),
            addresses: Addresses::default(),
            facts: Facts::default(),
            progress: Progress::default(),
            bundle: Bundle::default(),
        }
    }

    fn add(&mut self, page: &[u8]) {
        self.add_if(page, None);
    }

    fn add_if(&mut self, page: &[u8], filter: Option<&Filter<'_>>) {
        let keep = Keep { commit: Commit::Eight, plans: &self.plans, filter };
        let mut around = Around {
            printk: &self.printk,
            addresses: &mut self.addresses,
            facts: &mut self.facts,
            own_threads: &[],
        };
        self.bundle.add(page, &keep, &mut around, &mut self.progress);
    }

    /// The body of the bundle.
    fn write(&mut self, clocks: Option<Clocks>) -> Vec<u8> {
        // Space for all, as in a chunk: a length that leaves the writer's memory early takes four bytes.
        let mut memory = vec![0; 64 * 1024];
        let mut stream = FixedSink::stream(&mut memory[..]);
        let mut packet = protos::TracePacketWriter::from_scope(stream.root());
        self.bundle.write(&mut packet, 0, clocks, &self.plans);
        drop(packet);
        let bytes = stream.finish().unwrap_or_else(|error| panic!("{error}"));
        fields(bytes)
            .into_iter()
            .find(|(number, _)| *number == 1)
            .map(|(_, body)| body)
            .unwrap_or_default()
    }

    fn decoded(&mut self) -> FtraceEventBundle {
        let bytes = self.write(None);
        FtraceEventBundle::decode(&bytes).unwrap_or_else(|error| panic!("{error}"))
    }
}

type Fields = Vec<(u32, Vec<u8>)>;

/// Numbers and values; a varint as its eight bytes.
fn fields(bytes: &[u8]) -> Fields {
    let (mut reader, mut found) = (Reader::new(bytes), Vec::new());
    while let Some(field) = reader.next_field().unwrap_or_else(|error| panic!("{error}")) {
        let value = match field.value.bytes() {
            Ok(bytes) => bytes.to_vec(),
            Err(_) => field.value.uint64().unwrap_or_default().to_le_bytes().to_vec(),
        };
        found.push((field.number, value));
    }
    found
}

/// Time, thread, number and fields of each event of a bundle.
fn events(bundle: &[u8]) -> Vec<(u64, u64, u32, Fields)> {
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let event = |body: &[u8]| match fields(body).as_slice() {
        [(1, time), (2, pid), (message, body)] => {
            (number(time), number(pid), *message, fields(body))
        }
        other => panic!("no event: {other:?}"),
    };
    fields(bundle).iter().filter(|(number, _)| *number == 2).map(|(_, body)| event(body)).collect()
}

#[test]
fn a_page_of_a_kernel() {
    let mut session = Session::new(&[SWITCH, PRINT, RENAME], true);
    session.add(PAGE);
    let bundle = session.write(None);
    // Upstream's lengths have four bytes where a packet lies in two chunks.
    assert_eq!(events(&bundle), events(BUNDLE));
    let without_events = |bytes: &[u8]| {
        fields(bytes).into_iter().filter(|(number, _)| *number != 2).collect::<Vec<_>>()
    };
    assert_eq!(without_events(&bundle), without_events(BUNDLE));
    assert_eq!(bundle.len(), BUNDLE.len() - 2);
    assert_eq!((session.progress.invalid, session.progress.errors.len()), (0, 0));
    assert!(session.bundle.is_empty());
}

#[test]
fn columns_hold_what_events_hold() {
    let mut alone = Session::new(&[SWITCH, PRINT, RENAME], false);
    alone.add(PAGE);
    let events = events(&alone.write(None));
    let switches: Vec<_> = events.iter().filter(|(_, _, number, _)| *number == 4).collect();
    let times: Vec<u64> = switches.iter().map(|(time, ..)| *time).collect();
    let mut session = Session::new(&[SWITCH], true);
    session.add(PAGE);
    let columns = session.decoded().compact_sched.unwrap_or_default();
    let mut now = 0;
    let summed: Vec<u64> = columns
        .switch_timestamp
        .iter()
        .map(|delta| {
            now += delta;
            now
        })
        .collect();
    assert_eq!(summed, times);
    for ((_, _, _, fields), comm) in switches.iter().zip(&columns.switch_next_comm_index) {
        let name = columns.intern_table.get(*comm as usize).map(|name| name.as_bytes().to_vec());
        assert_eq!(
            fields.iter().find(|(number, _)| *number == 5).map(|(_, name)| name.clone()),
            name
        );
    }
}

/// The kernel records both when another session has the other one.
#[test]
fn columns_are_of_the_events_of_the_session() {
    let record = |id: u16, len| [&id.to_le_bytes()[..], &[0; 64][..len]].concat();
    let made = Made::new(1).event(1, &record(SWITCH, 62)).event(1, &record(WAKING, 34));
    for (ids, switches, wakings) in
        [(&[SWITCH][..], 1, 0), (&[WAKING], 0, 1), (&[SWITCH, WAKING], 1, 1)]
    {
        let mut session = Session::new(ids, true);
        session.add(&made.page(4096, Commit::Eight));
        let columns = session.decoded().compact_sched.unwrap_or_default();
        let got = (columns.switch_timestamp.len(), columns.waking_timestamp.len());
        assert_eq!(got, (switches, wakings));
    }
}

#[test]
fn a_page_cut_anywhere_ends() {
    for len in 0..PAGE.len() {
        let mut session = Session::new(&[SWITCH, PRINT, RENAME], len % 2 == 0);
        // As if the kernel had written so much.
        let mut page = PAGE[..len].to_vec();
        if let Some(commit) = page.get_mut(8..12) {
            commit.copy_from_slice(&(len.saturating_sub(16) as u32).to_le_bytes());
        }
        session.add(&page);
        // Where records end, seen from the begin of the page.
        let is_whole = [84, 108, 176, 184, 252, 304, 452, 520].contains(&len);
        assert_eq!(session.progress.errors.is_empty(), is_whole, "{len}");
        assert_eq!(session.progress.invalid, 0, "{len}");
        let _ = session.decoded();
    }
}

#[test]
fn what_is_wrong_with_a_page_is_told_and_the_rest_is_kept() {
    let bad = Made::new(50).event(1, &[5, 0]).pair(0, 1, 0).page(4096, Commit::Eight);
    let good = Made::new(90).event(1, &print("after")).page(4096, Commit::Eight);
    let mut session = Session::new(&[PRINT], false);
    session.add(
        &Made::new(10).event(1, &print("before")).event(1, &[5, 0, 0]).page(4096, Commit::Eight),
    );
    session.add(&bad);
    session.add(&good);
    // A record that is too short is left out. It is no error of the page.
    assert_eq!(session.progress.invalid, 2);
    assert_eq!(session.progress.errors.iter().copied().collect::<Vec<_>>(), [12]);
    let bundle = session.write(None);
    assert_eq!(events(&bundle).iter().map(|(time, ..)| *time).collect::<Vec<_>>(), [11, 91]);
    let decoded = FtraceEventBundle::decode(&bundle).unwrap_or_default();
    let error = decoded.error.first().map(|error| (error.timestamp, error.status));
    assert_eq!(error, Some((Some(50), Some(Status::FTRACE_STATUS_ABI_ZERO_DATA_LENGTH))));
    assert_eq!(
        fields(&bundle).iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        [1, 10, 2, 8, 2]
    );
}

/// A record of `print` of thread 7.
fn print(text: &str) -> Vec<u8> {
    [&[5, 0, 0, 0, 7, 0, 0, 0][..], &[0x11; 8], text.as_bytes(), b"\0"].concat()
}

#[test]
fn bundles_follow_each_other() {
    let mut session = Session::new(&[PRINT], true);
    let page = |time: u64| Made::new(time).event(0, &print("x")).page(4096, Commit::Eight);
    // Nothing that the session has: no bundle.
    session.add(&Made::new(3).event(0, &[9, 9, 0, 0]).page(4096, Commit::Eight));
    assert!(session.bundle.is_empty());
    session.add(&page(100));
    session.add(&page(200));
    assert_eq!(session.decoded().previous_bundle_end_timestamp, Some(0));
    session.add(&page(300));
    let second = session.decoded();
    assert_eq!((second.previous_bundle_end_timestamp, second.lost_events), (Some(200), None));

    // A page behind a gap begins a bundle.
    let mut behind = Made::new(400).event(0, &print("x"));
    behind.lost = Lost::Count(5);
    let behind = behind.page(4096, Commit::Eight);
    assert!(!session.bundle.ends_before(&behind, Commit::Eight), "there is none to end");
    session.add(&page(350));
    assert!(!session.bundle.ends_before(&page(360), Commit::Eight));
    assert!(session.bundle.ends_before(&behind, Commit::Eight));
    let _ = session.decoded();
    session.add(&behind);
    let third = session.decoded();
    assert_eq!((third.previous_bundle_end_timestamp, third.lost_events), (Some(350), Some(true)));

    // A page without events of the session is a bundle if events were lost before it.
    let mut empty = Made::new(500).event(0, &[9, 9, 0, 0]);
    empty.lost = Lost::Some;
    session.add(&empty.page(4096, Commit::Eight));
    assert!(!session.bundle.is_empty());
    assert_eq!(session.decoded().lost_events, Some(true));
}

#[test]
fn clocks_and_descriptors() {
    let mut session = Session::new(&[GENERIC, PRINT], false);
    let generic = [0xe7, 3, 0, 0, 7, 0, 0, 0];
    session.add(&Made::new(1).event(0, &generic).event(0, &generic).page(4096, Commit::Eight));
    let readings = Readings { ftrace: 5, boot_ns: -6 };
    let clocks = Clocks { clock: FtraceClock::FTRACE_CLOCK_GLOBAL, readings: Some(readings) };
    let bytes = session.write(Some(clocks));
    let bundle = FtraceEventBundle::decode(&bytes).unwrap_or_default();
    assert_eq!(bundle.generic_event_descriptors.len(), 1, "one for each event");
    assert_eq!(bundle.ftrace_clock, Some(FtraceClock::FTRACE_CLOCK_GLOBAL));
    assert_eq!((bundle.ftrace_timestamp, bundle.boot_timestamp), (Some(5), Some(-6)));
    assert_eq!(
        events(&bytes).iter().map(|(_, _, number, _)| *number).collect::<Vec<_>>(),
        [65536; 2]
    );
    session.add(&Made::new(9).event(0, &print("x")).page(4096, Commit::Eight));
    assert_eq!(session.decoded().generic_event_descriptors.len(), 0);
}

#[test]
fn a_bundle_with_many_names_ends() {
    let mut session = Session::new(&[SWITCH], true);
    for page in 0..13_u64 {
        let mut made = Made::new(page);
        for n in 0..5 {
            let mut record = [0; 64];
            record[..2].copy_from_slice(&SWITCH.to_le_bytes());
            record[40..42].copy_from_slice(&[b'a' + n, b'a' + page as u8]);
            made = made.event(1, &record);
        }
        let page_bytes = made.page(4096, Commit::Eight);
        assert!(!session.bundle.ends_before(&page_bytes, Commit::Eight), "{page}");
        session.add(&page_bytes);
    }
    assert_eq!(session.bundle.columns.comms(), 65);
    assert!(session.bundle.ends_before(PAGE, Commit::Eight));
}

#[test]
fn a_session_filters_records() {
    let mut session = Session::new(&[PRINT, RENAME], false);
    let keeps = |id: u16, record: &[u8]| id != PRINT || record.get(16) != Some(&b'd');
    let made = Made::new(1).event(0, &print("drop")).event(0, &print("keep"));
    session.add_if(&made.page(4096, Commit::Eight), Some(&keeps));
    let bytes = session.write(None);
    let texts: Vec<_> = events(&bytes).iter().map(|(_, _, _, fields)| fields.clone()).collect();
    assert_eq!(texts, [[(2, b"keep".to_vec())]]);
}

#[test]
fn plans_by_id() {
    let mut plans = Plans::new(4, None);
    assert_eq!(plans.get(0), None);
    for id in [3, u16::MAX, 64] {
        plans.insert(id, plan(id.into(), 8, &[]));
    }
    plans.insert(64, plan(7, 9, &[]));
    let found: Vec<u16> = (0..=u16::MAX).filter(|id| plans.get(*id).is_some()).collect();
    assert_eq!(found, [3, 64, u16::MAX]);
    assert_eq!(plans.get(64).map(|plan| plan.size), Some(9));
    assert_eq!(plans.get(3), Some(&plan(3, 8, &[])));
}

proptest! {
    /// Whatever a page holds: it ends, and what is written is a message.
    #[test]
    fn hostile_pages(
        mut page in prop::collection::vec(any::<u8>(), 16..2000),
        ids in prop::collection::vec(prop::sample::select(vec![0, 1, 2, 3, 4]), 0..40),
        is_compact in any::<bool>(),
    ) {
        // Few random bytes are a record of an event that there is.
        let size = page.len() as u32 - 16;
        page[8..12].copy_from_slice(&size.to_le_bytes());
        let mut at = 16;
        for id in ids {
            let Some(record) = page.get_mut(at..at + 6) else { break };
            record[0] = record[0] & !31 | 16;
            let id = [SWITCH, WAKING, PRINT, RENAME, GENERIC][id];
            record[4..].copy_from_slice(&id.to_le_bytes());
            at += 68;
        }
        let mut session = Session::new(&[SWITCH, WAKING, PRINT, RENAME, GENERIC], is_compact);
        session.add(&page);
        session.add(PAGE);
        let bytes = session.write(None);
        prop_assert!(FtraceEventBundle::decode(&bytes).is_ok());
        let others = events(&bytes).iter().filter(|(_, _, number, _)| *number != 4).count();
        prop_assert!(others >= 3, "the events of the good page");
    }
}
