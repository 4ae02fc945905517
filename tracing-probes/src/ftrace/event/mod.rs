//! A record becomes an `FtraceEvent`, by the plan of its id.
//!
//! Records are little-endian: other machines are not supported.

mod buffer;
#[cfg(test)]
mod tests;

pub(crate) use buffer::Buffer;

use std::ffi::CStr;

use abi::map::SortedMap;
use protozero::wire::tag;

use super::addresses::Addresses;
use super::facts::Facts;
use super::page::Record;
use super::table::plan::{Body, Fact, Integer, Number, Plan, Range, Step, Tag, What};

/// Offset of `common_pid` where the table does not know better.
pub(crate) const COMMON_PID: u16 = 4;

/// `FtraceEvent.generic`.
const GENERIC: Tag = Tag::of(327, tag::LEN);
/// Fields of `GenericFtraceEvent`, and of its `Field`.
const EVENT_NAME: Tag = Tag::of(1, tag::LEN);
const FIELD: Tag = Tag::of(2, tag::LEN);
const FIELD_NAME: Tag = Tag::of(1, tag::LEN);

/// The record is not what its plan says: shorter, or its strings lie outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invalid;

/// What records refer to, and what they tell.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    /// Strings by the address that the kernel prints for them (`printk_formats`).
    pub(crate) printk: &'a SortedMap<u64, Box<[u8]>>,
    pub(crate) addresses: &'a mut Addresses,
    pub(crate) facts: &'a mut Facts,
    /// The threads of this program, sorted: files that they use are of no interest.
    pub(crate) own_threads: &'a [i32],
}

/// The thread that a record is about.
#[inline]
pub(crate) fn common_pid(record: &[u8], offset: u16) -> Option<i32> {
    Some(u32_at(record, offset.into())?.cast_signed())
}

/// Appends `record` to `out`, as field `event` of a bundle.
///
/// # Errors
/// [`Invalid`]; nothing is appended, then.
#[inline]
pub(crate) fn write(
    out: &mut Buffer,
    record: &Record<'_>,
    plan: &Plan,
    pid_offset: u16,
    around: &mut Around<'_>,
) -> Result<(), Invalid> {
    let before = out.len();
    let done = write_event(out, record, plan, pid_offset, around);
    if done.is_none() {
        out.truncate(before);
    }
    done.ok_or(Invalid)
}

#[inline]
fn write_event(
    out: &mut Buffer,
    record: &Record<'_>,
    plan: &Plan,
    pid_offset: u16,
    around: &mut Around<'_>,
) -> Option<()> {
    let bytes = record.bytes;
    if bytes.len() < plan.size.into() {
        return None;
    }
    let pid = common_pid(bytes, pid_offset)?;
    let message = match &plan.body {
        Body::Message(tag) | Body::Fixed { tag, .. } => *tag,
        Body::Legacy { .. } => GENERIC,
    };
    let event = out.begin_event(record.time, pid, message);
    match &plan.body {
        Body::Message(_) => write_fields(out, bytes, pid, &plan.steps, around)?,
        Body::Legacy { name, fields } => {
            out.bytes(EVENT_NAME, name.as_bytes());
            for (step, name) in plan.steps.iter().zip(fields) {
                let field = out.begin(FIELD);
                out.bytes(FIELD_NAME, name.as_bytes());
                write_any_fields(out, bytes, pid, std::slice::from_ref(step), around)?;
                out.end(field);
            }
        }
        Body::Fixed { body, .. } => out.raw(body),
    }
    out.end_event(event);
    around.facts.pid(pid);
    note(plan.fact, bytes, pid, around.facts);
    Some(())
}

/// Notes what an event tells beside its fields.
#[inline]
fn note(fact: Fact, record: &[u8], pid: i32, facts: &mut Facts) {
    match fact {
        Fact::None => {}
        Fact::Renamed => facts.renamed(pid),
        // The kernel may have given the number to another thread before.
        Fact::Started { pid } => {
            let new = number(record, pid).and_then(|pid| i32::try_from(pid).ok());
            new.into_iter().for_each(|new| facts.renamed(new));
        }
        Fact::Returned { id, ret, opens } => {
            let id = number(record, id).and_then(|id| u16::try_from(id).ok());
            let is_opening = id.is_some_and(|id| opens.contains(&id));
            let fd = number(record, ret).and_then(|fd| u64::try_from(fd).ok());
            if let Some(fd) = fd.filter(|fd| is_opening && *fd <= i32::MAX as u64) {
                facts.fd(pid, fd);
            }
        }
    }
}

/// A signed integer of a record.
pub(crate) fn number(record: &[u8], Number { offset, is_wide }: Number) -> Option<i64> {
    match is_wide {
        true => Some(u64_at(record, offset.into())?.cast_signed()),
        false => Some(u32_at(record, offset.into())?.cast_signed().into()),
    }
}

/// Writes the fields of a message. Numbers of eight bytes, such as those of system calls, are written here, and what
/// begins with another field in a function of its own.
#[inline]
fn write_fields(
    out: &mut Buffer,
    record: &[u8],
    pid: i32,
    steps: &[Step],
    around: &mut Around<'_>,
) -> Option<()> {
    let mut left = steps;
    while let [step, behind @ ..] = left {
        let at = usize::from(step.offset);
        match step.what {
            What::I64 | What::U64 => out.uint(step.tag, u64_at(record, at)?),
            What::Six64 => {
                let words = record.get(at..at + 6 * 8)?.as_chunks().0.first_chunk()?;
                out.six(step.tag, words.map(u64::from_le_bytes));
            }
            _ => return write_any_fields(out, record, pid, left, around),
        }
        left = behind;
    }
    Some(())
}

#[inline(never)]
fn write_any_fields(
    out: &mut Buffer,
    record: &[u8],
    pid: i32,
    steps: &[Step],
    around: &mut Around<'_>,
) -> Option<()> {
    // The last device before an inode is where that lies.
    let mut device = 0;
    for step in steps {
        let (tag, at) = (step.tag, usize::from(step.offset));
        match step.what {
            What::U8 => out.uint(tag, (*record.get(at)?).into()),
            What::U16 => out.uint(tag, u16_at(record, at)?.into()),
            What::U32 => out.uint(tag, u32_at(record, at)?.into()),
            What::U64 => out.uint(tag, u64_at(record, at)?),
            What::I8 => out.uint(tag, signed((*record.get(at)?).cast_signed())),
            What::I16 => out.uint(tag, signed(u16_at(record, at)?.cast_signed())),
            What::I32 => out.uint(tag, signed(u32_at(record, at)?.cast_signed())),
            What::I64 => out.uint(tag, u64_at(record, at)?),
            What::Within { from, to } => {
                let value = integer_at(record, at, from)?;
                if let Some(value) = within(value, to) {
                    out.uint(tag, value);
                }
            }
            What::Pid => {
                let named = u32_at(record, at)?.cast_signed();
                around.facts.pid(named);
                out.uint(tag, signed(named));
            }
            What::Inode32 | What::Inode64 => {
                let inode = word_at(record, at, step.what == What::Inode64)?;
                if around.own_threads.binary_search(&pid).is_err() {
                    around.facts.inode(device, inode);
                }
                out.uint(tag, inode);
            }
            What::Device32 | What::Device64 => {
                device = device_number(word_at(record, at, step.what == What::Device64)?);
                out.uint(tag, device);
            }
            What::Address32 | What::Address64 => {
                let address = word_at(record, at, step.what == What::Address64)?;
                out.uint(tag, around.addresses.index(address));
            }
            What::Printk32 | What::Printk64 => {
                let address = word_at(record, at, step.what == What::Printk64)?;
                out.bytes(tag, around.printk.get(&address).map_or(&[], |text| text));
            }
            What::Text(16) => out.comm(tag, *record.get(at..at + 16)?.first_chunk()?),
            What::Text(len) => out.bytes(tag, text(record.get(at..at + usize::from(len))?)),
            What::TextToEnd => out.bytes(tag, text(record.get(at..)?)),
            What::Bytes(len) => out.bytes(tag, record.get(at..at + usize::from(len))?),
            What::TextAt => out.bytes(tag, text(located(record, at, 0)?)),
            What::BytesAt => out.bytes(tag, located(record, at, 0)?),
            What::TextAfter => out.bytes(tag, text(located(record, at, at + 4)?)),
            What::BytesAfter => out.bytes(tag, located(record, at, at + 4)?),
            What::Six32 => {
                let words = record.get(at..at + 6 * 4)?.as_chunks().0.first_chunk()?;
                out.six(tag, words.map(|word| u32::from_le_bytes(word).into()));
            }
            What::Six64 => {
                let words = record.get(at..at + 6 * 8)?.as_chunks().0.first_chunk()?;
                out.six(tag, words.map(u64::from_le_bytes));
            }
        }
    }
    Some(())
}

/// The number of a device, as `stat` gives it. The kernel has the minor number in the low 20 bits.
fn device_number(kernel: u64) -> u64 {
    let (major, minor) = (kernel >> 20, kernel & 0xf_ffff);
    (major & !0xfff) << 32 | (major & 0xfff) << 8 | (minor & !0xff) << 12 | minor & 0xff
}

/// An integer of the kernel. All of them fit.
fn integer_at(record: &[u8], at: usize, integer: Integer) -> Option<i128> {
    Some(match integer {
        Integer::U8 => (*record.get(at)?).into(),
        Integer::U16 => u16_at(record, at)?.into(),
        Integer::U32 => u32_at(record, at)?.into(),
        Integer::U64 => u64_at(record, at)?.into(),
        Integer::I8 => (*record.get(at)?).cast_signed().into(),
        Integer::I16 => u16_at(record, at)?.cast_signed().into(),
        Integer::I32 => u32_at(record, at)?.cast_signed().into(),
        Integer::I64 => u64_at(record, at)?.cast_signed().into(),
    })
}

/// The varint of `value`, if a field of this type has it.
fn within(value: i128, range: Range) -> Option<u64> {
    match range {
        Range::U32 => u32::try_from(value).ok().map(u64::from),
        Range::U64 => u64::try_from(value).ok(),
        Range::I32 => i32::try_from(value).ok().map(signed),
        Range::I64 => i64::try_from(value).ok().map(signed),
    }
}

#[inline]
fn signed(value: impl Into<i64>) -> u64 {
    value.into().cast_unsigned()
}

/// The bytes before the first NUL.
#[inline]
fn text(bytes: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes)
}

/// What the four bytes at `at` locate: an offset from `base`, and a length. Nothing may be anywhere.
fn located(record: &[u8], at: usize, base: usize) -> Option<&[u8]> {
    let word = u32_at(record, at)?;
    let (offset, len) = (word & 0xffff, word >> 16);
    if len == 0 {
        return Some(&[]);
    }
    record.get(base + offset as usize..)?.get(..len as usize)
}

#[inline]
fn u16_at(record: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*record.get(at..at + 2)?.first_chunk()?))
}

#[inline]
fn u32_at(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*record.get(at..at + 4)?.first_chunk()?))
}

#[inline]
fn u64_at(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*record.get(at..at + 8)?.first_chunk()?))
}

#[inline]
fn word_at(record: &[u8], at: usize, is_wide: bool) -> Option<u64> {
    if is_wide { u64_at(record, at) } else { u32_at(record, at).map(u64::from) }
}
