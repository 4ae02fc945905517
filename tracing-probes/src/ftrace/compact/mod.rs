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
//! (`FtraceEventBundle.CompactSched`; spec ftrace, 6.3.)

#[cfg(test)]
pub(super) mod tests;

use protos::FtraceEventBundleCompactSchedWriter;
use protozero::Writer;
use protozero::wire::varint;

use super::event::Invalid;
use super::facts::Facts;
use super::page::Record;
use super::table::plan::Number;

/// Bytes of a name.
const COMM: usize = 16;

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
    switch: Column<4>,
    waking: Column<5>,
}

/// Times, and columns of other values.
#[derive(Debug)]
struct Column<const N: usize> {
    last: u64,
    times: Vec<u8>,
    values: [Vec<u8>; N],
}

impl Columns {
    pub(crate) fn clear(&mut self) {
        self.comms.clear();
        self.switch.clear();
        self.waking.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.switch.times.is_empty() && self.waking.times.is_empty()
    }

    /// How many different names there are.
    pub(crate) fn comms(&self) -> usize {
        self.comms.names.len()
    }

    /// Adds a record of `sched_switch`.
    ///
    /// # Errors
    /// [`Invalid`] if the record is too short.
    #[inline]
    pub(crate) fn switch(
        &mut self,
        record: &Record<'_>,
        at: &Switch,
        facts: &mut Facts,
    ) -> Result<(), Invalid> {
        let bytes = record.bytes;
        let state = match at.prev_state.is_wide {
            true => u64_at(bytes, at.prev_state.offset).map(u64::cast_signed),
            false => i32_at(bytes, at.prev_state.offset).map(i64::from),
        };
        let (state, pid) = (state.ok_or(Invalid)?, i32_at(bytes, at.next_pid).ok_or(Invalid)?);
        let prio = i32_at(bytes, at.next_prio).ok_or(Invalid)?;
        let comm = comm_at(bytes, at.next_comm).ok_or(Invalid)?;
        facts.pid(pid);
        let comm = self.comms.index(comm);
        self.switch.add(record.time, [signed(state), signed(pid), signed(prio), comm]);
        Ok(())
    }

    /// Adds a record of `sched_waking`.
    ///
    /// # Errors
    /// [`Invalid`] if the record is too short.
    #[inline]
    pub(crate) fn waking(
        &mut self,
        record: &Record<'_>,
        at: &Waking,
        facts: &mut Facts,
    ) -> Result<(), Invalid> {
        let bytes = record.bytes;
        let pid = i32_at(bytes, at.pid).ok_or(Invalid)?;
        let cpu = i32_at(bytes, at.target_cpu).ok_or(Invalid)?;
        let prio = i32_at(bytes, at.prio).ok_or(Invalid)?;
        let comm = comm_at(bytes, at.comm).ok_or(Invalid)?;
        let flags = *bytes.get(usize::from(at.common_flags)).ok_or(Invalid)?;
        facts.pid(pid);
        let comm = self.comms.index(comm);
        let values = [signed(pid), signed(cpu), signed(prio), comm, flags.into()];
        self.waking.add(record.time, values);
        Ok(())
    }

    /// Writes everything. A kind without events has no columns.
    pub(crate) fn write(&self, to: &mut FtraceEventBundleCompactSchedWriter<'_>) {
        let scope = to.scope_mut();
        for comm in &self.comms.names {
            scope.bytes::<5>(comm.to_le_bytes().get(..comm_len(*comm)).unwrap_or_default());
        }
        if !self.switch.times.is_empty() {
            let [state, pid, prio, comm] = &self.switch.values;
            scope.bytes::<1>(&self.switch.times);
            scope.bytes::<3>(pid);
            scope.bytes::<2>(state);
            scope.bytes::<4>(prio);
            scope.bytes::<6>(comm);
        }
        if !self.waking.times.is_empty() {
            let [pid, cpu, prio, comm, flags] = &self.waking.values;
            scope.bytes::<7>(&self.waking.times);
            scope.bytes::<8>(pid);
            scope.bytes::<9>(cpu);
            scope.bytes::<10>(prio);
            scope.bytes::<11>(comm);
            scope.bytes::<12>(flags);
        }
    }
}

impl<const N: usize> Default for Column<N> {
    fn default() -> Self {
        Self { last: 0, times: Vec::new(), values: std::array::from_fn(|_| Vec::new()) }
    }
}

impl<const N: usize> Column<N> {
    fn clear(&mut self) {
        self.last = 0;
        self.times.clear();
        self.values.iter_mut().for_each(Vec::clear);
    }

    #[inline]
    fn add(&mut self, time: u64, values: [u64; N]) {
        // Nested interrupts may be recorded in another order than their times; a reader wraps, too.
        push(&mut self.times, time.wrapping_sub(self.last));
        self.last = time;
        for (column, value) in self.values.iter_mut().zip(values) {
            push(column, value);
        }
    }
}

/// Appends a varint.
#[inline]
fn push(column: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        return column.push(value as u8);
    }
    if value < 1 << 56 {
        let (word, len) = varint::word(value);
        return column.extend_from_slice(word.to_le_bytes().get(..len).unwrap_or_default());
    }
    let (word, end, len) = varint::wide(value);
    let bytes = u128::from(end) << 64 | u128::from(word);
    column.extend_from_slice(bytes.to_le_bytes().get(..len).unwrap_or_default());
}

/// The names of a bundle, by first appearance.
#[derive(Debug)]
struct Comms {
    /// Names as little-endian numbers, with zeros behind the name.
    names: Vec<u128>,
    /// Where a name of this hash was found last.
    recent: [u8; 64],
}

impl Default for Comms {
    fn default() -> Self {
        Self { names: Vec::new(), recent: [0; 64] }
    }
}

impl Comms {
    fn clear(&mut self) {
        // What `recent` says is checked against `names`.
        self.names.clear();
    }

    #[inline]
    fn index(&mut self, comm: u128) -> u64 {
        let mixed = (comm as u64 ^ (comm >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        let Some(recent) = self.recent.get_mut(mixed as usize) else { return 0 };
        if self.names.get(usize::from(*recent)) == Some(&comm) {
            return (*recent).into();
        }
        let index = match self.names.iter().position(|name| *name == comm) {
            Some(index) => index,
            None => {
                self.names.push(comm);
                self.names.len() - 1
            }
        };
        // There are a few more than 64 names: as many as appear in a page.
        *recent = u8::try_from(index).unwrap_or(0);
        index as u64
    }
}

/// The name at `offset`, sixteen bytes, without what is behind its first NUL.
#[inline]
fn comm_at(record: &[u8], offset: u16) -> Option<u128> {
    let bytes: &[u8; COMM] = record.get(usize::from(offset)..)?.first_chunk()?;
    let comm = u128::from_le_bytes(*bytes);
    let len = comm_len(comm);
    Some(if len == COMM { comm } else { comm & ((1 << (8 * len)) - 1) })
}

/// The bytes before the first zero byte.
#[inline]
fn comm_len(comm: u128) -> usize {
    const LOW: u128 = u128::from_le_bytes([1; COMM]);
    const HIGH: u128 = u128::from_le_bytes([0x80; COMM]);
    // The lowest zero byte is the lowest one whose top bit is set here.
    let zeros = comm.wrapping_sub(LOW) & !comm & HIGH;
    zeros.trailing_zeros() as usize / 8
}

#[inline]
fn signed(value: impl Into<i64>) -> u64 {
    value.into().cast_unsigned()
}

#[inline]
fn i32_at(record: &[u8], offset: u16) -> Option<i32> {
    Some(i32::from_le_bytes(*record.get(usize::from(offset)..)?.first_chunk()?))
}

#[inline]
fn u64_at(record: &[u8], offset: u16) -> Option<u64> {
    Some(u64::from_le_bytes(*record.get(usize::from(offset)..)?.first_chunk()?))
}
