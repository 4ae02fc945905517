//! Shared by the tests of the probes: a directory in place of `/`, and an output that decodes packets.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protos::{DataSourceConfig, TracePacket, TracePacketWriter};
use protozero::{HeapSink, Message, Writer};

use crate::Root;
use crate::facts::Facts;
use crate::output::Output;
use crate::parse::{hex_or_decimal, key_value, number, signed};
use crate::probe::{Probe, Shared};
use crate::root::{Warnings, plain};

/// A directory to fill with files, and the warnings about them.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) root: Root,
    log: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let root = Root::at(dir.path(), move |line| lines.lock().unwrap().push(line.to_owned()));
        Self { dir, root, log }
    }

    pub(crate) fn put(&self, path: &str, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a directory");
        fs::write(path, contents).expect("a file");
        self
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_dir_all(self.dir.path().join(path)).expect("it was there");
    }

    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

/// Packets, decoded; the clock stands still.
#[derive(Default)]
pub(crate) struct Packets(pub(crate) Vec<TracePacket>);

impl Packets {
    pub(crate) fn take(&mut self) -> Vec<TracePacket> {
        std::mem::take(&mut self.0)
    }

    /// The only packet.
    #[track_caller]
    pub(crate) fn one(&mut self) -> TracePacket {
        let mut packets = self.take();
        assert_eq!(packets.len(), 1, "{packets:?}");
        packets.remove(0)
    }
}

impl Output for Packets {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut stream = HeapSink::stream();
        fill(&mut TracePacketWriter::from_scope(stream.root()));
        let bytes = stream.finish().expect("the heap takes all");
        self.0.push(TracePacket::decode(&bytes).expect("what we wrote"));
    }

    fn commit(&mut self) {}

    fn clock(&self) -> fn() -> u64 {
        || 1000
    }
}

/// The only instance of its kind. Each step is a batch of its own.
pub(crate) struct Alone<P: Probe> {
    shared: P::Shared,
    probe: P,
}

impl<P: Probe> Alone<P> {
    pub(crate) fn new(root: &Root, config: &DataSourceConfig) -> Self {
        let mut shared = P::Shared::new(root);
        let probe = P::new(&mut shared, config);
        Self { shared, probe }
    }

    pub(crate) fn period(&self) -> Option<Duration> {
        self.probe.period()
    }

    pub(crate) fn start(&mut self, out: &mut dyn Output) {
        self.shared.begin_batch();
        self.probe.start(&mut self.shared, out);
    }

    pub(crate) fn tick(&mut self, out: &mut dyn Output) {
        self.shared.begin_batch();
        self.probe.tick(&mut self.shared, out);
    }

    pub(crate) fn facts(&mut self, facts: &Facts, out: &mut dyn Output) {
        self.shared.begin_batch();
        self.probe.facts(&mut self.shared, facts, out);
    }

    pub(crate) fn probe(&mut self) -> &mut P {
        &mut self.probe
    }

    pub(crate) fn clear_incremental_state(&mut self, out: &mut dyn Output) {
        self.shared.begin_batch();
        self.probe.clear_incremental_state(&mut self.shared, out);
    }
}

#[test]
fn numbers() {
    assert_eq!(number(b"0"), Some(0));
    assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
    for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b"1k", b" 1", b"\xff"] {
        assert_eq!(number(bad), None, "{bad:?}");
    }
    assert_eq!(signed(b"-1000"), Some(-1000));
    assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
    assert_eq!(signed(b"9223372036854775808"), None);
    assert_eq!(signed(b"--1"), None);
    assert_eq!(hex_or_decimal(b"0xd4b"), Some(0xd4b));
    assert_eq!(hex_or_decimal(b"8"), Some(8));
    assert_eq!(hex_or_decimal(b"0x"), None);
    assert_eq!(key_value(b"a b\t: c: d "), Some((&b"a b"[..], &b"c: d"[..])));
    assert_eq!(key_value(b"none"), None);
}

#[test]
fn warnings_are_bounded() {
    let world = World::new();
    for _ in 0..3 {
        world.root.warn("a");
    }
    assert_eq!(world.log(), ["a"]);
    (0..10_000).for_each(|i| world.root.warn(&i.to_string()));
    // The first one counts, too.
    assert_eq!(world.log().len(), crate::limits::WARNINGS_MAX - 1);
    let world = World::new();
    world.root.warn(&"é".repeat(100_000));
    world.root.warn(&format!("{}é", "e".repeat(crate::limits::WARNING_BYTES_MAX - 1)));
    let lens: Vec<_> = world.log().iter().map(String::len).collect();
    let most = crate::limits::WARNING_BYTES_MAX;
    assert_eq!(lens, [most, most - 1], "and no half of a character");
}

#[test]
fn warnings_have_no_control_characters() {
    assert_eq!(plain("a\x1b[2J\nprobes: \u{9b}b\r\té"), "a?[2J?probes: ?b??é");
}

/// A daemon that runs for weeks says the same again.
#[test]
fn warnings_come_again_after_a_time() {
    use crate::limits::{WARNING_REPEAT_NS as AGAIN, WARNINGS_MAX};
    let mut warnings = Warnings::default();
    assert_eq!(warnings.admit("a", 5), Some(0));
    assert_eq!(warnings.admit("a", 5 + AGAIN - 1), None);
    assert_eq!(warnings.admit("a", 5 + AGAIN), Some(0));
    // Many different ones do not end the log.
    let mut warnings = Warnings::default();
    for i in 0..WARNINGS_MAX {
        assert_eq!(warnings.admit(&i.to_string(), 0), Some(0));
    }
    assert_eq!(warnings.admit("more", 1), None);
    assert_eq!(warnings.admit("and more", 1), None);
    assert_eq!(warnings.admit("more", AGAIN), Some(2), "the two that were left out");
    assert_eq!(warnings.admit("and more", AGAIN), Some(0));
}

/// A data source that no table has is found by nobody.
#[test]
fn tables_have_all_data_sources() {
    let tables = [
        include_str!("lib.rs").split_once("//! Each source but").unwrap().0,
        include_str!("../README.md"),
    ];
    for name in crate::NAMES {
        let code = format!("`{name}`");
        assert!(tables.iter().all(|table| table.contains(&code)), "{name}");
    }
}

#[test]
fn names_of_numbers_only() {
    let world = World::new();
    for name in ["cpu0", "cpu10", "cpu2", "cpufreq", "cpu", "cpu+3", "cpu99999999999"] {
        world.put(&format!("d/{name}/x"), "");
    }
    assert_eq!(world.root.numbers("d", "cpu"), Some(vec![0, 2, 10]));
    assert_eq!(world.root.numbers("nowhere", ""), None);
}
