//! Compact sched: switches and wakings of a bundle as columns, a fifth of their size as events.
//!
//! ```text
//! sched_switch   time │ prev_state │ next_pid │ next_prio │ next_comm ──────┐
//! sched_waking   time │ pid │ target_cpu │ prio │ common_flags │ comm ──────┤
//!                                                                 intern_table
//! ```
//!
//! A time is the difference to the one before it in its column; the first is whole. Integers are packed varints,
//! negative ones with ten bytes. A reader takes `prev_pid`, `prev_comm` and `prev_prio` from the switch before.
//! (`FtraceEventBundle.CompactSched`.)

mod rows;
#[cfg(test)]
pub(super) mod tests;

use protos::FtraceEventBundleCompactSchedWriter;
use protozero::Writer;

use self::rows::Rows;
use super::comm::{COMM, comm_len};
use super::event::{self, Invalid};
use super::facts::Facts;
use super::page::Record;
use super::table::plan::Number;

/// Where the fields of `sched_switch` are, in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) id: u16,
    /// The end of the fields that are matched.
    pub(crate) size: u16,
    pub(crate) prev_state: Number,
    pub(crate) next_pid: u16,
    pub(crate) next_prio: u16,
    pub(crate) next_comm: u16,
}

/// Where the fields of `sched_waking` are, in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waking {
    pub(crate) id: u16,
    /// The end of the fields that are matched.
    pub(crate) size: u16,
    pub(crate) pid: u16,
    pub(crate) target_cpu: u16,
    pub(crate) prio: u16,
    pub(crate) comm: u16,
    pub(crate) common_flags: u16,
}

/// Where Linux has the fields on machines of 64 bits, since its `sched_waking` has no `success`. Places that are
/// constants need no checks.
const USUAL: Layout = Layout {
    switch: Switch {
        id: 0,
        size: 64,
        prev_state: Number { offset: 32, is_wide: true },
        next_pid: 56,
        next_prio: 60,
        next_comm: 40,
    },
    waking: Waking { id: 0, size: 36, pid: 24, target_cpu: 32, prio: 28, comm: 8, common_flags: 2 },
};

impl Switch {
    /// Are the fields where most kernels have them?
    pub(crate) fn is_usual(&self) -> bool {
        Self { id: 0, ..*self } == USUAL.switch
    }
}

impl Waking {
    /// The same.
    pub(crate) fn is_usual(&self) -> bool {
        Self { id: 0, ..*self } == USUAL.waking
    }
}

/// Both kinds, if the kernel has them as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) switch: Switch,
    pub(crate) waking: Waking,
}

/// The columns of a bundle. Clearing keeps their memory.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    comms: Comms,
    switch: Timed<5>,
    waking: Timed<6>,
}

/// Rows that begin with a time.
#[derive(Debug, Default)]
struct Timed<const N: usize> {
    last: u64,
    rows: Rows<N>,
}

/// What of a `sched_switch` becomes a row.
struct Switched {
    prev_state: i64,
    next_pid: i32,
    next_prio: i32,
    next_comm: u128,
}

/// What of a `sched_waking` becomes a row.
struct Woken {
    pid: i32,
    target_cpu: i32,
    prio: i32,
    comm: u128,
    common_flags: u8,
}

impl Columns {
    pub(crate) fn clear(&mut self) {
        self.comms.clear();
        self.switch.clear();
        self.waking.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.switch.rows.is_empty() && self.waking.rows.is_empty()
    }

    /// How many different names there are.
    pub(crate) fn comms(&self) -> usize {
        self.comms.names.len()
    }

    /// Adds a record of `sched_switch`. `is_usual`: [`Switch::is_usual`] of `at`.
    ///
    /// # Errors
    /// [`Invalid`] if the record is too short.
    #[inline]
    pub(crate) fn switch(
        &mut self,
        record: &Record<'_>,
        at: &Switch,
        is_usual: bool,
        facts: &mut Facts,
    ) -> Result<(), Invalid> {
        let fields = match record.bytes.first_chunk() {
            Some(bytes) if is_usual => Switched::usual(bytes),
            _ => Switched::of(record.bytes, at).ok_or(Invalid)?,
        };
        let Switched { prev_state, next_pid, next_prio, next_comm } = fields;
        facts.pid(next_pid);
        let comm = self.comms.index(next_comm);
        let delta = self.switch.delta(record.time);
        self.switch.rows.add([
            delta,
            signed(next_pid),
            signed(prev_state),
            signed(next_prio),
            comm,
        ]);
        Ok(())
    }

    /// Adds a record of `sched_waking`. `is_usual`: [`Waking::is_usual`] of `at`.
    ///
    /// # Errors
    /// [`Invalid`] if the record is too short.
    #[inline]
    pub(crate) fn waking(
        &mut self,
        record: &Record<'_>,
        at: &Waking,
        is_usual: bool,
        facts: &mut Facts,
    ) -> Result<(), Invalid> {
        let fields = match record.bytes.first_chunk() {
            Some(bytes) if is_usual => Woken::usual(bytes),
            _ => Woken::of(record.bytes, at).ok_or(Invalid)?,
        };
        let Woken { pid, target_cpu, prio, comm, common_flags } = fields;
        facts.pid(pid);
        let comm = self.comms.index(comm);
        let delta = self.waking.delta(record.time);
        self.waking.rows.add([
            delta,
            signed(pid),
            signed(target_cpu),
            signed(prio),
            comm,
            common_flags.into(),
        ]);
        Ok(())
    }

    /// Writes everything. A kind without events has no columns.
    pub(crate) fn write(&mut self, to: &mut FtraceEventBundleCompactSchedWriter<'_>) {
        let scope = to.scope_mut();
        for comm in &self.comms.names {
            scope.bytes::<5>(comm.to_le_bytes().get(..comm_len(*comm)).unwrap_or_default());
        }
        if !self.switch.rows.is_empty() {
            let [time, pid, state, prio, comm] = self.switch.rows.columns();
            scope.bytes::<1>(time);
            scope.bytes::<3>(pid);
            scope.bytes::<2>(state);
            scope.bytes::<4>(prio);
            scope.bytes::<6>(comm);
        }
        if !self.waking.rows.is_empty() {
            let [time, pid, cpu, prio, comm, flags] = self.waking.rows.columns();
            scope.bytes::<7>(time);
            scope.bytes::<8>(pid);
            scope.bytes::<9>(cpu);
            scope.bytes::<10>(prio);
            scope.bytes::<11>(comm);
            scope.bytes::<12>(flags);
        }
    }
}

impl<const N: usize> Timed<N> {
    fn clear(&mut self) {
        self.last = 0;
        self.rows.clear();
    }

    /// The difference to the time before. Nested interrupts may be recorded in another order than their times; a reader
    /// wraps, too.
    #[inline]
    fn delta(&mut self, time: u64) -> u64 {
        time.wrapping_sub(std::mem::replace(&mut self.last, time))
    }
}

impl Switched {
    #[inline]
    fn usual(record: &[u8; 64]) -> Self {
        Self {
            prev_state: i64::from_le_bytes(part::<32, 8>(record)),
            next_comm: u128::from_le_bytes(part::<40, COMM>(record)),
            next_pid: i32::from_le_bytes(part::<56, 4>(record)),
            next_prio: i32::from_le_bytes(part::<60, 4>(record)),
        }
    }

    #[inline(never)]
    fn of(record: &[u8], at: &Switch) -> Option<Self> {
        let prev_state = event::number(record, at.prev_state)?;
        let next_pid = i32_at(record, at.next_pid)?;
        let next_prio = i32_at(record, at.next_prio)?;
        let next_comm = comm_at(record, at.next_comm)?;
        Some(Self { prev_state, next_pid, next_prio, next_comm })
    }
}

impl Woken {
    #[inline]
    fn usual(record: &[u8; 36]) -> Self {
        let [common_flags] = part::<2, 1>(record);
        Self {
            common_flags,
            comm: u128::from_le_bytes(part::<8, COMM>(record)),
            pid: i32::from_le_bytes(part::<24, 4>(record)),
            prio: i32::from_le_bytes(part::<28, 4>(record)),
            target_cpu: i32::from_le_bytes(part::<32, 4>(record)),
        }
    }

    #[inline(never)]
    fn of(record: &[u8], at: &Waking) -> Option<Self> {
        let pid = i32_at(record, at.pid)?;
        let target_cpu = i32_at(record, at.target_cpu)?;
        let prio = i32_at(record, at.prio)?;
        let comm = comm_at(record, at.comm)?;
        let common_flags = *record.get(usize::from(at.common_flags))?;
        Some(Self { pid, target_cpu, prio, comm, common_flags })
    }
}

/// `LEN` bytes at `AT`, which the compiler checks.
#[inline]
fn part<const AT: usize, const LEN: usize>(record: &[u8]) -> [u8; LEN] {
    let mut part = [0; LEN];
    part.copy_from_slice(&record[AT..AT + LEN]);
    part
}

/// The names of a bundle, by first appearance.
#[derive(Debug)]
struct Comms {
    /// Names as little-endian numbers, with zeros behind the name.
    names: Vec<u128>,
    /// For each hash the field of a record that had it last, with what was behind its name.
    fields: [u128; RECENT],
    /// The index of the name of each, or [`NONE`].
    indices: [u8; RECENT],
}

/// Fields that are found without a search.
const RECENT: usize = 64;

/// No index. There are a few more than 64 names: as many as appear in a page.
const NONE: u8 = u8::MAX;

impl Default for Comms {
    fn default() -> Self {
        Self { names: Vec::new(), fields: [0; RECENT], indices: [NONE; RECENT] }
    }
}

impl Comms {
    fn clear(&mut self) {
        self.names.clear();
        self.indices = [NONE; RECENT];
    }

    /// The index of the name that the field begins with.
    #[inline]
    fn index(&mut self, field: u128) -> u64 {
        let mixed = (field as u64 ^ (field >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (mixed >> 58) as usize % RECENT;
        match self.indices[at] {
            NONE => self.search(field, at),
            index if self.fields[at] == field => index.into(),
            _ => self.search(field, at),
        }
    }

    #[inline(never)]
    fn search(&mut self, field: u128, at: usize) -> u64 {
        let comm = comm_of(field);
        let index = match self.names.iter().position(|name| *name == comm) {
            Some(index) => index,
            None => {
                self.names.push(comm);
                self.names.len() - 1
            }
        };
        self.fields[at] = field;
        self.indices[at] = u8::try_from(index).unwrap_or(NONE);
        index as u64
    }
}

/// The sixteen bytes at `offset`.
#[inline]
fn comm_at(record: &[u8], offset: u16) -> Option<u128> {
    let bytes: &[u8; COMM] = record.get(usize::from(offset)..)?.first_chunk()?;
    Some(u128::from_le_bytes(*bytes))
}

/// A field without what is behind the first NUL.
fn comm_of(field: u128) -> u128 {
    let len = comm_len(field);
    if len == COMM { field } else { field & ((1 << (8 * len)) - 1) }
}

#[inline]
fn signed(value: impl Into<i64>) -> u64 {
    value.into().cast_unsigned()
}

#[inline]
fn i32_at(record: &[u8], offset: u16) -> Option<i32> {
    Some(i32::from_le_bytes(*record.get(usize::from(offset)..)?.first_chunk()?))
}
