//! What `with_memory` allows is what a reader takes, whatever a trace has. There is one test, as the memory of the
//! whole process is measured.
#![cfg(target_os = "linux")]

use std::io::Read;

use tracing_file::lint::lint_within;
use tracing_file::read::{Problem, TraceReader};

const MIB: usize = 1 << 20;

/// The most memory that the process ever had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// A field with this tag.
fn field(tag: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = tag.to_vec();
    let mut len = body.len();
    while len > 0x7f {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend(body);
    out
}

/// A packet of sequence 1 with flag 1 and this `InternedData`.
fn interned(data: &[u8]) -> Vec<u8> {
    field(b"\x0a", &[b"\x50\x01\x68\x01".to_vec(), field(b"\x62", data)].concat())
}

/// A packet that describes a track: its uuid, and further fields.
fn track(uuid: u32, fields: &[u8]) -> Vec<u8> {
    let uuid = 0x0800_0000 | uuid;
    let digits = (0..4).map(|at| (uuid >> (7 * at)) as u8 | 0x80).chain([1]);
    let descriptor = [vec![0x08], digits.collect(), fields.to_vec()].concat();
    field(b"\x0a", &field(b"\xe2\x03", &descriptor))
}

/// Packets that are made when they are read.
struct Made<F> {
    make: F,
    at: u32,
    count: u32,
    rest: Vec<u8>,
}

impl<F: FnMut(u32) -> Vec<u8>> Read for Made<F> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() && self.at < self.count {
            self.rest = (self.make)(self.at);
            self.at += 1;
        }
        let len = out.len().min(self.rest.len());
        out[..len].copy_from_slice(&self.rest[..len]);
        self.rest.drain(..len);
        Ok(len)
    }
}

/// How many MiB reading takes at most beside what the process had before.
#[track_caller]
fn check(what: &str, mib: usize, count: u32, make: impl FnMut(u32) -> Vec<u8>) -> u64 {
    let before = peak();
    let mut reader = TraceReader::with_memory(Made { make, at: 0, count, rest: Vec::new() }, MIB);
    while reader.next_event().unwrap().is_some() {}
    let refused = reader.counts().get(&Problem::LimitReached).copied().unwrap_or(0);
    let grown = (peak() - before) / MIB;
    assert!(grown <= mib, "{what}: {grown} MiB");
    refused
}

#[test]
fn a_reader_takes_what_it_may() {
    const COUNT: u32 = 20_000;
    let text = |tag: &[u8]| field(tag, &[b'x'; 4000]);
    // Blocks of the file, and a MiB for all tables.
    let named = text(b"\x12");
    assert!(check("names", 8, COUNT, |at| track(at, &named)) > 0);
    let merged = text(b"\x82\x01");
    assert!(check("merge keys", 8, COUNT, |at| track(at, &merged)) > 0);
    let unit = field(b"\x42", &text(b"\x32"));
    assert!(check("units", 8, COUNT, |at| track(at, &unit)) > 0);
    let later = |at| if at < 3_000 { track(at, &[]) } else { track(at - 3_000, &named) };
    assert!(check("later names", 8, 6_000, later) > 0);
    assert!(check("tracks", 8, COUNT, |at| track(at, &[])) > 0);
    let entries = |_| {
        let entry =
            |iid: u32| field(b"\x12", &[0x08, iid as u8 | 0x80, (iid >> 7) as u8 | 0x80, 1]);
        interned(&(0..16_384).flat_map(entry).collect::<Vec<_>>())
    };
    assert!(check("entries", 8, 4, entries) > 0);
    // A packet of 8 MiB is there two or three times.
    let bytes = 8 * MIB;
    let broken = interned(&field(
        b"\x12",
        &[b"\x08\x01".to_vec(), field(b"\x12", &vec![0xff; bytes])].concat(),
    ));
    assert_eq!(check("no UTF-8", 40, 1, |_| broken.clone()), 1);
    let zeros = interned(&b"\x0a\x00".repeat(bytes / 2));
    assert_eq!(check("iids of zero", 40, 1, |_| zeros.clone()), 0);
    let before = peak();
    let report = lint_within(zeros.as_slice(), MIB, |_, _| {});
    assert_eq!(report.counts[&Problem::ZeroIid], bytes as u64 / 2);
    assert!(peak() - before < 40 * MIB);
}
