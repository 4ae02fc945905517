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
    times: Varints,
    values: [Varints; N],
}

/// Packed varints. Clearing keeps the memory.
#[derive(Debug, Default)]
struct Varints {
    /// Zeros, or what an earlier bundle left, from `at` on.
    bytes: Vec<u8>,
    at: usize,
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
            scope.bytes::<1>(self.switch.times.written());
            scope.bytes::<3>(pid.written());
            scope.bytes::<2>(state.written());
            scope.bytes::<4>(prio.written());
            scope.bytes::<6>(comm.written());
        }
        if !self.waking.times.is_empty() {
            let [pid, cpu, prio, comm, flags] = &self.waking.values;
            scope.bytes::<7>(self.waking.times.written());
            scope.bytes::<8>(pid.written());
            scope.bytes::<9>(cpu.written());
            scope.bytes::<10>(prio.written());
            scope.bytes::<11>(comm.written());
            scope.bytes::<12>(flags.written());
        }
    }
}

impl<const N: usize> Default for Column<N> {
    fn default() -> Self {
        let values = std::array::from_fn(|_| Varints::default());
        Self { last: 0, times: Varints::default(), values }
    }
}

impl<const N: usize> Column<N> {
    fn clear(&mut self) {
        self.last = 0;
        self.times.at = 0;
        self.values.iter_mut().for_each(|values| values.at = 0);
    }

    #[inline]
    fn add(&mut self, time: u64, values: [u64; N]) {
        // Nested interrupts may be recorded in another order than their times; a reader wraps, too.
        self.times.push(time.wrapping_sub(self.last));
        self.last = time;
        for (column, value) in self.values.iter_mut().zip(values) {
            column.push(value);
        }
    }
}

impl Varints {
    fn is_empty(&self) -> bool {
        self.at == 0
    }

    fn written(&self) -> &[u8] {
        self.bytes.get(..self.at).unwrap_or_default()
    }

    #[inline]
    fn push(&mut self, value: u64) {
        let free = self.bytes.get_mut(self.at..).and_then(|free| free.first_chunk_mut());
        let Some(to) = free.filter(|_| value < 1 << 56) else { return self.push_slow(value) };
        // Eight bytes are stored, of which the next values overwrite those that do not count. Most values are short.
        let (word, len) = if value < 0x80 { (value, 1) } else { varint::word(value) };
        *to = word.to_le_bytes();
        self.at += len;
    }

    /// A value that takes nine or ten bytes, such as a negative one, or one that needs more memory.
    #[cold]
    #[inline(never)]
    fn push_slow(&mut self, value: u64) {
        let (bytes, len) = if value < 1 << 56 {
            let (word, len) = varint::word(value);
            (u128::from(word), len)
        } else {
            let (word, end, len) = varint::wide(value);
            (u128::from(end) << 64 | u128::from(word), len)
        };
        let end = self.at + size_of::<u128>();
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two().max(4096), 0);
        }
        let free = self.bytes.get_mut(self.at..).and_then(|free| free.first_chunk_mut());
        if let Some(to) = free {
            *to = bytes.to_le_bytes();
            self.at += len;
        }
    }
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
