use protos::{FtraceEventBundleCompactSched, FtraceEventBundleCompactSchedWriter};
use protozero::wire::varint;
use protozero::{AppendSink, Message, Writer};

use super::super::comm::comm_len;
use super::super::event::Invalid;
use super::super::facts::Facts;
use super::super::page::Record;
use super::super::table::plan::Number;
use super::rows::Rows;
use super::{Columns, Layout, Switch, Waking};

/// Where Linux 6.18 has the fields.
pub(in crate::ftrace) const LAYOUT: Layout = Layout {
    switch: Switch {
        id: 372,
        size: 64,
        prev_state: Number { offset: 32, is_wide: true },
        next_pid: 56,
        next_prio: 60,
        next_comm: 40,
    },
    waking: Waking {
        id: 374,
        size: 36,
        pid: 24,
        target_cpu: 32,
        prio: 28,
        comm: 8,
        common_flags: 2,
    },
};

fn switch(comm: &[u8; 16], pid: i32, prio: i32, state: i64) -> Vec<u8> {
    let mut record = vec![0xee; 64];
    record[32..40].copy_from_slice(&state.to_le_bytes());
    record[40..56].copy_from_slice(comm);
    record[56..60].copy_from_slice(&pid.to_le_bytes());
    record[60..64].copy_from_slice(&prio.to_le_bytes());
    record
}

fn waking(comm: &[u8; 16], pid: i32, prio: i32, cpu: i32, flags: u8) -> Vec<u8> {
    let mut record = vec![0xee; 36];
    record[2] = flags;
    record[8..24].copy_from_slice(comm);
    record[24..28].copy_from_slice(&pid.to_le_bytes());
    record[28..32].copy_from_slice(&prio.to_le_bytes());
    record[32..36].copy_from_slice(&cpu.to_le_bytes());
    record
}

fn name(text: &str, filling: u8) -> [u8; 16] {
    let mut comm = [filling; 16];
    comm[..text.len()].copy_from_slice(text.as_bytes());
    if let Some(end) = comm.get_mut(text.len()) {
        *end = 0;
    }
    comm
}

fn at<'p>(time: u64, bytes: &'p [u8]) -> Record<'p> {
    Record { time, id: 0, bytes }
}

fn written(columns: &mut Columns) -> FtraceEventBundleCompactSched {
    let mut bytes = Vec::new();
    let mut stream = AppendSink::stream(&mut bytes);
    columns.write(&mut FtraceEventBundleCompactSchedWriter::from_scope(stream.root()));
    assert!(stream.finish().is_ok());
    FtraceEventBundleCompactSched::decode(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Upstream: a name without NUL went on in the fields behind it.
#[test]
fn columns() {
    let (mut columns, mut facts) = (Columns::default(), Facts::default());
    // Once with places that are constants, and once with those of the layout.
    for is_usual in [true, false] {
        columns.clear();
        // Stale bytes behind a name are no part of it; sixteen bytes need no NUL.
        let (short, same, long) = (name("ab", 7), name("ab", 9), *b"0123456789abcdef");
        let mut switch = |time, record: &[u8]| {
            columns.switch(&at(time, record), &LAYOUT.switch, is_usual, &mut facts)
        };
        assert_eq!(switch(1 << 40, &self::switch(&short, 5, 120, 1)), Ok(()));
        assert_eq!(switch((1 << 40) + 3, &self::switch(&long, -1, -5, -2)), Ok(()));
        // Time may go back.
        assert_eq!(switch((1 << 40) + 2, &self::switch(&same, 0, 0, 0)), Ok(()));
        let mut waking = |time, record: &[u8]| {
            columns.waking(&at(time, record), &LAYOUT.waking, is_usual, &mut facts)
        };
        assert_eq!(waking(50, &self::waking(&long, 77, 98, -1, 0xff)), Ok(()));
        assert_eq!(waking(60, &self::waking(&name("", 1), 78, 99, 1, 1)), Ok(()));
        let got = written(&mut columns);
        assert_eq!(got.intern_table, ["ab", "0123456789abcdef", ""]);
        assert_eq!(got.switch_timestamp, [1 << 40, 3, u64::MAX]);
        assert_eq!(got.switch_prev_state, [1, -2, 0]);
        assert_eq!(got.switch_next_pid, [5, -1, 0]);
        assert_eq!(got.switch_next_prio, [120, -5, 0]);
        assert_eq!(got.switch_next_comm_index, [0, 1, 0]);
        assert_eq!(got.waking_timestamp, [50, 10]);
        assert_eq!(got.waking_pid, [77, 78]);
        assert_eq!(got.waking_target_cpu, [-1, 1]);
        assert_eq!(got.waking_prio, [98, 99]);
        assert_eq!(got.waking_comm_index, [1, 2]);
        assert_eq!(got.waking_common_flags, [255, 1]);
    }
    assert_eq!(facts.pids.iter().copied().collect::<Vec<_>>(), [-1, 0, 5, 77, 78]);
}

/// Another kernel: the fields in another order, and a state of four bytes.
#[test]
fn layouts_of_other_kernels() {
    assert!(LAYOUT.switch.is_usual() && LAYOUT.waking.is_usual());
    let other = Switch { prev_state: Number { offset: 60, is_wide: false }, ..LAYOUT.switch };
    let other = Switch { next_pid: 32, next_prio: 36, ..other };
    let flags = Waking { common_flags: 3, ..LAYOUT.waking };
    assert!(!other.is_usual() && !flags.is_usual());
    let (mut columns, mut facts) = (Columns::default(), Facts::default());
    let mut record = switch(&name("ab", 0), 0, -7, 5 | 6 << 32);
    assert_eq!(columns.switch(&at(1, &record), &other, false, &mut facts), Ok(()));
    record.truncate(63);
    assert_eq!(columns.switch(&at(1, &record), &other, false, &mut facts), Err(Invalid));
    let mut record = waking(&name("ab", 0), 1, 2, 3, 4);
    record[3] = 9;
    assert_eq!(columns.waking(&at(1, &record), &flags, false, &mut facts), Ok(()));
    let got = written(&mut columns);
    assert_eq!((got.switch_next_pid, got.switch_next_prio), (vec![5], vec![6]));
    assert_eq!((got.switch_prev_state, got.waking_common_flags), (vec![-7], vec![9]));
}

/// Columns are encoded in parts, by the largest value of each.
#[test]
fn columns_of_any_length_and_size() {
    let values = [0, 127, 128, (1 << 28) - 1, 1 << 28, (1 << 56) - 1, 1 << 56, u64::MAX];
    for len in (0..200).chain([1000]) {
        for largest in values {
            let mut rows = Rows::<2>::default();
            let column: Vec<u64> = (0..len).map(|at| largest >> (at % 64)).collect();
            column.iter().for_each(|value| rows.add([*value, 1]));
            assert_eq!(rows.is_empty(), len == 0);
            let mut want = Vec::new();
            for value in &column {
                let mut bytes = [0; varint::LEN_MAX];
                let len = varint::encode(*value, &mut bytes);
                want.extend_from_slice(&bytes[..len]);
            }
            let ones = vec![1; column.len()];
            assert_eq!(rows.columns(), &[want, ones], "{len} of {largest}");
            rows.clear();
            assert!(rows.is_empty());
            rows.add([2, 3]);
            assert_eq!(rows.columns(), &[vec![2], vec![3]]);
        }
    }
}

#[test]
fn many_names_keep_their_indices() {
    let (mut columns, mut facts) = (Columns::default(), Facts::default());
    for round in 0..2 {
        for n in 0..400_u32 {
            let record = switch(&name(&format!("thread {n}"), 0), 1, 1, 1);
            assert_eq!(
                columns.switch(&at(0, &record), &LAYOUT.switch, true, &mut facts),
                Ok(()),
                "{round}"
            );
        }
    }
    assert_eq!(columns.comms(), 400);
    let got = written(&mut columns);
    let want: Vec<u32> = (0..400).chain(0..400).collect();
    assert_eq!(got.switch_next_comm_index, want);
    assert_eq!(got.waking_timestamp, [0; 0], "a kind without events has no columns");
}

#[test]
fn short_records_change_nothing() {
    let (mut columns, mut facts) = (Columns::default(), Facts::default());
    let (switch, waking) = (switch(&[1; 16], 1, 1, 1), waking(&[1; 16], 1, 1, 1, 1));
    for is_usual in [true, false] {
        for len in 0..64 {
            let record = at(1, &switch[..len]);
            assert_eq!(columns.switch(&record, &LAYOUT.switch, is_usual, &mut facts), Err(Invalid));
        }
        for len in 0..36 {
            let record = at(1, &waking[..len]);
            assert_eq!(columns.waking(&record, &LAYOUT.waking, is_usual, &mut facts), Err(Invalid));
        }
    }
    assert!(columns.is_empty() && columns.comms() == 0);
    assert_eq!(facts.pids.iter().next(), None);
}

#[test]
fn lengths_of_names() {
    for len in 0..=16 {
        for filling in [1, 0x7f, 0x80, 0xff] {
            let mut comm = [filling; 16];
            if let Some(end) = comm.get_mut(len) {
                *end = 0;
            }
            assert_eq!(comm_len(u128::from_le_bytes(comm)), len, "{comm:?}");
        }
    }
}
