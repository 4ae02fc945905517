use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use abi::ids::InstanceId;
use client::data_source::{Ack, Instance};
use protos::{DataSourceConfig, TracePacketData, TracePacketWriter};

use super::{Scheduler, until_tick_ns};
use crate::facts::Facts;
use crate::inbox::{Inbox, Key, Order};
use crate::limits::CHUNK_HOLDERS_MAX;
use crate::output::Output;
use crate::probe::{Probe, Shared};
use crate::tests::{Packets, World};
use abi::sync::{Arc, Mutex, lock};

thread_local! {
    /// The virtual clock, ms.
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// How many `Batches` there are.
    static SHARED: Cell<usize> = const { Cell::new(0) };
}

fn clock() -> u64 {
    NOW.get() * 1_000_000
}

/// Counts batches.
struct Batches(u64);

impl Shared for Batches {
    fn new(_: &crate::Root) -> Self {
        SHARED.set(SHARED.get() + 1);
        Self(0)
    }

    fn begin_batch(&mut self) {
        self.0 += 1;
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        SHARED.set(SHARED.get() - 1);
    }
}

/// Its packets name what it was called for. A tick takes a time.
struct Fake {
    period_ms: u64,
    tick_takes_ms: u64,
}

fn note(out: &mut dyn Output, text: &str) {
    out.packet(&mut |packet| {
        packet.for_testing().str(text);
    });
}

impl Probe for Fake {
    const NAME: &'static str = "test.fake";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = Batches;

    fn new(_: &mut Batches, config: &DataSourceConfig) -> Self {
        Self {
            period_ms: config.trace_duration_ms.unwrap_or(0).into(),
            tick_takes_ms: config.stop_timeout_ms.unwrap_or(0).into(),
        }
    }

    fn start(&mut self, _: &mut Batches, out: &mut dyn Output) {
        note(out, "start");
    }

    fn period(&self) -> Option<Duration> {
        (self.period_ms > 0).then(|| Duration::from_millis(self.period_ms))
    }

    fn tick(&mut self, batches: &mut Batches, out: &mut dyn Output) {
        note(out, &format!("batch {}", batches.0));
        NOW.set(NOW.get() + self.tick_takes_ms);
    }

    /// The first one is its period from now on.
    fn facts(&mut self, _: &mut Batches, facts: &Facts, out: &mut dyn Output) {
        note(out, &format!("facts {:?}", facts.pids));
        self.period_ms = facts.pids.first().map_or(0, |pid| pid.unsigned_abs().into());
    }

    fn clear_incremental_state(&mut self, _: &mut Batches, out: &mut dyn Output) {
        note(out, "clear");
    }
}

type Log = Rc<RefCell<Vec<String>>>;

/// Logs what is done with it, by its name, with the time.
struct Recorder {
    name: &'static str,
    log: Log,
}

impl Recorder {
    fn log(&self, what: &str) {
        self.log.borrow_mut().push(format!("{} {} {what}", NOW.get(), self.name));
    }
}

impl Output for Recorder {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut packets = Packets::default();
        packets.packet(fill);
        let Some(TracePacketData::ForTesting(event)) = packets.one().data else { panic!() };
        self.log(&event.str.unwrap());
    }

    fn commit(&mut self) {
        self.log("commit");
    }

    fn clock(&self) -> fn() -> u64 {
        clock
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.log("end");
    }
}

struct Test {
    scheduler: Scheduler<Fake, Recorder>,
    keys: Inbox<()>,
    log: Log,
}

impl Test {
    fn new() -> Self {
        NOW.set(0);
        let scheduler = Scheduler::new(&World::new().root);
        Self { scheduler, keys: Inbox::default(), log: Log::default() }
    }

    fn at(&mut self, now_ms: u64) -> &mut Self {
        NOW.set(now_ms);
        self
    }

    fn start_order(
        &self,
        name: &'static str,
        period_ms: u32,
        tick_takes_ms: u32,
    ) -> Order<Recorder> {
        let config = DataSourceConfig {
            trace_duration_ms: Some(period_ms),
            stop_timeout_ms: Some(tick_takes_ms),
            ..Default::default()
        };
        let instance = Instance::detached(InstanceId::new(1), config);
        let out = Recorder { name, log: Rc::clone(&self.log) };
        Order { start: Some((instance, out)), ..Order::default() }
    }

    /// True if it has stopped.
    fn carry_out(&mut self, key: Key, order: Order<Recorder>) -> bool {
        self.scheduler.carry_out(key, order, &clock).is_some()
    }

    fn key(&self) -> Key {
        // One session may have only a few.
        self.keys.admit(NOW.get()).unwrap()
    }

    fn start(&mut self, name: &'static str, period_ms: u32, tick_takes_ms: u32) -> Key {
        let key = self.key();
        let order = self.start_order(name, period_ms, tick_takes_ms);
        assert!(!self.carry_out(key, order));
        key
    }

    /// Makes all ticks that are due until then.
    fn run(&mut self, until_ms: u64) -> &mut Self {
        while let Some(due_ns) = self.scheduler.due_ns()
            && due_ns <= until_ms * 1_000_000
        {
            NOW.set(NOW.get().max(due_ns / 1_000_000));
            assert!(self.scheduler.tick(&clock));
        }
        self
    }

    fn log(&self) -> Vec<String> {
        self.log.take()
    }
}

#[test]
fn ticks_fall_on_multiples_of_the_period() {
    assert_eq!(until_tick_ns(0, Duration::from_millis(100)), 100_000_000);
    assert_eq!(until_tick_ns(30_000_000, Duration::from_millis(100)), 70_000_000);
    assert_eq!(until_tick_ns(99_999_999, Duration::from_millis(100)), 1);
    assert_eq!(until_tick_ns(7, Duration::ZERO), 1);

    let mut test = Test::new();
    test.at(30).start("a", 100, 0);
    test.run(310);
    assert_eq!(
        test.log(),
        ["30 a start", "30 a batch 1", "100 a batch 2", "200 a batch 3", "300 a batch 4"]
    );
    assert!(!test.at(399).scheduler.tick(&clock), "nothing is due");
    assert_eq!(test.log(), [""; 0]);
}

#[test]
fn ticks_that_pass_meanwhile_are_left_out() {
    let mut test = Test::new();
    test.start("a", 100, 150);
    test.run(500);
    assert_eq!(test.log(), ["0 a start", "0 a batch 1", "200 a batch 2", "400 a batch 3"]);
}

#[test]
fn without_a_period_there_are_no_ticks() {
    let mut test = Test::new();
    test.start("a", 0, 0);
    assert_eq!(test.scheduler.due_ns(), None);
    assert!(!test.at(1_000_000).scheduler.tick(&clock));
    assert_eq!(test.log(), ["0 a start"]);
}

#[test]
fn an_instance_that_is_always_late_does_not_hold_others_back() {
    let mut test = Test::new();
    test.start("slow", 10, 255);
    test.start("other", 100, 0);
    test.log();
    test.run(800);
    let who: Vec<_> =
        test.log().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(who, ["slow", "other", "slow", "other", "slow", "other"]);
}

#[test]
fn what_is_due_at_one_time_shares_what_is_read() {
    let mut test = Test::new();
    test.start("a", 100, 0);
    test.start("b", 100, 0);
    test.start("c", 200, 0);
    test.log();
    test.run(200);
    assert_eq!(
        test.log(),
        ["100 a batch 4", "100 b batch 4", "200 a batch 5", "200 b batch 5", "200 c batch 5"]
    );
    // A start begins its own: nothing in the trace is older than its session.
    test.start("d", 100, 0);
    assert_eq!(test.log(), ["200 d start", "200 d batch 6"]);
}

#[test]
fn what_was_read_long_ago_is_read_again() {
    let mut test = Test::new();
    test.start("a", 100, 9);
    test.start("b", 100, 1);
    test.start("c", 100, 0);
    test.log();
    test.run(100);
    assert_eq!(test.log(), ["100 a batch 4", "109 b batch 4", "110 c batch 5"]);
}

#[test]
fn few_instances_keep_a_chunk() {
    const NAMES: [&str; CHUNK_HOLDERS_MAX + 2] = ["a", "b", "c", "d", "e", "f"];
    let mut test = Test::new();
    let keys = NAMES.map(|name| test.start(name, 100, 0));
    let commits = |test: &Test| -> Vec<String> {
        let log = test.log();
        let commits = log.iter().filter_map(|line| line.strip_suffix(" commit"));
        commits.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(commits(&test), ["e", "f"]);
    test.run(100);
    assert_eq!(commits(&test), ["e", "f"]);
    let stop = Order { stop: Some(Ack::ignored()), ..Order::default() };
    assert!(test.carry_out(keys[0], stop));
    test.run(200);
    assert_eq!(commits(&test), ["f"]);
}

#[test]
fn an_order_is_carried_out_in_the_order_of_its_parts() {
    let mut test = Test::new();
    let acks: Arc<Mutex<Vec<&str>>> = Arc::default();
    let ack = |name: &'static str| {
        let acks = Arc::clone(&acks);
        Some(Ack::new(move || lock(&acks).push(name)))
    };
    // All of a session, while the thread did something else.
    let order = Order {
        clear: true,
        flush: ack("flush"),
        stop: ack("stop"),
        ..test.start_order("a", 100, 0)
    };
    let key = test.key();
    assert!(test.carry_out(key, order));
    let expected = ["0 a start", "0 a batch 1", "0 a clear", "0 a commit", "0 a end"];
    assert_eq!(test.log(), expected);
    assert_eq!(*lock(&acks), ["flush", "stop"]);
    assert_eq!(test.scheduler.due_ns(), None);
    // The instance is gone: an order that comes late is acknowledged.
    assert!(!test.carry_out(key, Order { flush: ack("late"), clear: true, ..Order::default() }));
    assert_eq!((test.log(), lock(&acks).len()), (Vec::new(), 3));
}

#[test]
fn files_are_open_while_there_are_instances() {
    let mut test = Test::new();
    let keys = ["a", "b"].map(|name| test.start(name, 100, 0));
    assert_eq!(SHARED.get(), 1);
    for (key, left) in keys.into_iter().zip([1, 0]) {
        test.carry_out(key, Order { stop: Some(Ack::ignored()), ..Order::default() });
        assert_eq!(SHARED.get(), left);
    }
}

#[test]
fn the_longest_period() {
    let mut test = Test::new();
    test.at(u64::MAX / 1_000_000).start("a", u32::MAX, 0);
    assert!(test.scheduler.due_ns().is_some());
    assert!(!test.scheduler.tick(&clock));
}

#[test]
fn facts_come_before_the_flush_and_may_begin_ticks() {
    let mut test = Test::new();
    let key = test.start("a", 0, 0);
    test.log();
    let facts = |pid| Facts { pids: vec![pid], ..Facts::default() };
    let order =
        Order { clear: true, facts: facts(40), flush: Some(Ack::ignored()), ..Order::default() };
    test.at(25).carry_out(key, order);
    assert_eq!(test.log(), ["25 a clear", "25 a facts [40]", "25 a commit"]);
    // The first tick comes after the whole period, the next at a multiple.
    assert_eq!(test.scheduler.due_ns(), Some(65_000_000));
    test.at(30).carry_out(key, Order { facts: facts(40), ..Order::default() });
    assert_eq!(test.scheduler.due_ns(), Some(65_000_000), "it was planned already");
    test.log();
    test.run(80);
    let ticks: Vec<_> = test.log().iter().map(|line| line[..4].to_owned()).collect();
    assert_eq!(ticks, ["65 a", "80 a"]);
    // Without a period there is no further tick.
    test.carry_out(key, Order { facts: facts(0), ..Order::default() });
    test.run(120);
    assert_eq!(test.scheduler.due_ns(), None);
}
