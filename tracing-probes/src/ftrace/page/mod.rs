//! A page of the kernel's ring buffer, and the records in it.
//!
//! ```text
//! time u64 │ commit: 4 or 8 bytes │ records                    │ lost u64 │ stale bytes
//!            bits 0..26  bytes of records ───────────────────┘       ^
//!            bit 30      a count of lost events is there ────────────┘
//!            bit 31      events were lost before this page
//!            32..        the kernel's sign extension, no meaning
//!
//! record     u32: type, 5 bits │ delta, 27 bits
//!   1..28    4 * type bytes of an event follow
//!   0        u32 length, which counts itself; the event follows
//!   29       padding: u32 length, which counts itself; delta 0 has no length and ends nothing that is valid
//!   30       u32 e: time moves on by delta + (e << 27)
//!   31       u32 e: time is delta + (e << 27), the low 59 bits of it
//! ```
//!
//! The time of a record is the time of the page and all deltas so far. (`ring_buffer.h` and `ring_buffer.c` of the
//! kernel.)

#[cfg(test)]
pub(super) mod made;
#[cfg(test)]
mod tests;

use protos::FtraceParseStatus as Status;

/// Bits of `commit`.
const SIZE: u32 = (1 << 27) - 1;
const HAS_COUNT: u32 = 1 << 30;
const LOST: u32 = 1 << 31;

/// Types of records.
const LONG: u32 = 0;
const PADDING: u32 = 29;
const EXTEND: u32 = 30;
const STAMP: u32 = 31;

/// The bits of a time that a stamp does not have.
const ABOVE_STAMP: u64 = 0xf8 << 56;

/// How wide `commit` is, as `events/header_page` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// A kernel of 32 bits.
    Four,
    /// A kernel of 64 bits.
    Eight,
}

/// A page without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page<'p> {
    /// Time of the first record, without its delta, in units of the instance's clock.
    pub(crate) time: u64,
    /// Events that were overwritten, or found no space, between the page before and this one.
    pub(crate) lost: Lost,
    /// All records.
    pub(crate) records: &'p [u8],
}

/// What a page says about events before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// None were lost.
    Nothing,
    /// Some; the page has no space for their count.
    Some,
    /// So many.
    Count(u64),
}

/// An event, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'p> {
    pub(crate) time: u64,
    /// What identifies the event, the first two bytes.
    pub(crate) id: u16,
    /// The whole event, id included. Padding and stale bytes may stand behind its fields.
    pub(crate) bytes: &'p [u8],
}

impl<'p> Page<'p> {
    /// Reads the header of `bytes`, one read of `trace_pipe_raw`.
    ///
    /// # Errors
    /// [`Status::FTRACE_STATUS_ABI_INVALID_PAGE_HEADER`] if there are no records, or more than bytes.
    pub(crate) fn parse(bytes: &'p [u8], commit: Commit) -> Result<Self, Status> {
        Self::header(bytes, commit).ok_or(Status::FTRACE_STATUS_ABI_INVALID_PAGE_HEADER)
    }

    fn header(bytes: &'p [u8], commit: Commit) -> Option<Self> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (word, rest) = rest.split_first_chunk()?;
        let rest = match commit {
            Commit::Four => rest,
            Commit::Eight => rest.get(4..)?,
        };
        let word = u32::from_le_bytes(*word);
        let size = usize::try_from(word & SIZE).ok().filter(|size| *size > 0)?;
        let (records, behind) = rest.split_at_checked(size)?;
        let lost = match behind.first_chunk() {
            _ if word & LOST == 0 => Lost::Nothing,
            Some(count) if word & HAS_COUNT != 0 => Lost::Count(u64::from_le_bytes(*count)),
            _ => Lost::Some,
        };
        Some(Self { time: u64::from_le_bytes(*time), lost, records })
    }

    /// The events, in the order in which they were written. After an error there are no more.
    pub(crate) fn events(&self) -> Events<'p> {
        Events { rest: self.records, time: self.time }
    }
}

/// The events of a page.
#[derive(Clone, Debug)]
pub(crate) struct Events<'p> {
    rest: &'p [u8],
    time: u64,
}

impl<'p> Iterator for Events<'p> {
    type Item = Result<Record<'p>, Status>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.short_event() {
            Some(record) => Some(Ok(record)),
            None => {
                let (after, next) = self.clone().next_of_any_type();
                *self = after;
                next
            }
        }
    }
}

impl<'p> Events<'p> {
    /// Reads the next record, if that is an event whose type says its length: nearly all are.
    #[inline(always)]
    fn short_event(&mut self) -> Option<Record<'p>> {
        let (head, rest) = self.rest.split_first_chunk()?;
        let head = u32::from_le_bytes(*head);
        let words = head & 31;
        if !(1..PADDING).contains(&words) {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(4 * words as usize)?;
        let id = u16::from_le_bytes(*bytes.first_chunk()?);
        self.rest = rest;
        self.pass(u64::from(head >> 5));
        Some(Record { time: self.time, id, bytes })
    }

    /// The next event of any record, and what follows it. By value, so that a loop keeps the others in registers.
    #[inline(never)]
    fn next_of_any_type(mut self) -> (Self, Option<Result<Record<'p>, Status>>) {
        while !self.rest.is_empty() {
            match self.step() {
                Ok(None) => {}
                Ok(Some(record)) => return (self, Some(Ok(record))),
                Err(status) => {
                    self.rest = &[];
                    return (self, Some(Err(status)));
                }
            }
        }
        (self, None)
    }

    /// Reads a record; `None` if it is no event.
    fn step(&mut self) -> Result<Option<Record<'p>>, Status> {
        let head = self.word().ok_or(Status::FTRACE_STATUS_ABI_SHORT_EVENT_HEADER)?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let len = match kind {
            PADDING => return self.padding(delta).map(|()| None),
            EXTEND => {
                let high = self.word().ok_or(Status::FTRACE_STATUS_ABI_SHORT_TIME_EXTEND)?;
                self.pass(delta.wrapping_add(u64::from(high) << 27));
                return Ok(None);
            }
            STAMP => {
                let high = self.word().ok_or(Status::FTRACE_STATUS_ABI_SHORT_TIME_STAMP)?;
                self.time = whole_time(delta | u64::from(high) << 27, self.time);
                return Ok(None);
            }
            LONG => {
                let len = self.word().ok_or(Status::FTRACE_STATUS_ABI_SHORT_DATA_LENGTH)?;
                match len {
                    0 => return Err(Status::FTRACE_STATUS_ABI_ZERO_DATA_LENGTH),
                    1..4 => return Err(Status::FTRACE_STATUS_ABI_INVALID_DATA_LENGTH),
                    _ => len - 4,
                }
            }
            words => words * 4,
        };
        self.pass(delta);
        let bytes = self.take(len).ok_or(Status::FTRACE_STATUS_ABI_END_OVERFLOW)?;
        let id = bytes.first_chunk().ok_or(Status::FTRACE_STATUS_ABI_SHORT_EVENT_ID)?;
        Ok(Some(Record { time: self.time, id: u16::from_le_bytes(*id), bytes }))
    }

    #[cold]
    fn padding(&mut self, delta: u64) -> Result<(), Status> {
        if delta == 0 {
            return Err(Status::FTRACE_STATUS_ABI_NULL_PADDING);
        }
        let len = self.word().ok_or(Status::FTRACE_STATUS_ABI_SHORT_PADDING_LENGTH)?;
        let len = len.checked_sub(4).ok_or(Status::FTRACE_STATUS_ABI_INVALID_PADDING_LENGTH)?;
        self.pass(delta);
        // Padding may be meant to fill the page. It ends it, then.
        if self.take(len).is_none() {
            self.rest = &[];
        }
        Ok(())
    }

    #[inline]
    fn pass(&mut self, delta: u64) {
        self.time = self.time.wrapping_add(delta);
    }

    #[inline]
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*word))
    }

    #[inline]
    fn take(&mut self, len: u32) -> Option<&'p [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }
}

/// The time of a stamp, which lacks five bits: those of the time before, one more if it would lie before that.
fn whole_time(stamp: u64, before: u64) -> u64 {
    let time = stamp | before & ABOVE_STAMP;
    // Without these bits a stamp is whole. It may lie before the time of the page.
    if before & ABOVE_STAMP != 0 && time < before { time.wrapping_add(1 << 59) } else { time }
}
