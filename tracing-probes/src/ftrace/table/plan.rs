//! How the record of an event becomes a message: a list of steps, each of which turns bytes of the record into a field.
//!
//! ```text
//! record   id u16 │ flags u8 │ preempt u8 │ pid i32 │ fields of the event, at the offsets that `format` says
//! message  FtraceEvent { timestamp 1, pid 2, EVENT: { steps, in order } }
//! ```
//!
//! A plan is made once, from a format and the schema, and followed for each record without a lookup by name.

use protozero::wire::varint;

/// The encoded tag of a field: number and wire type as a varint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The varint, little-endian; zero behind it.
    pub(crate) bytes: u32,
    /// Bytes of it, 1 to 4.
    pub(crate) len: u8,
}

impl Tag {
    /// The tag of a field whose number is known when this is compiled.
    ///
    /// # Panics
    /// If [`Tag::new`] gives `None`: as a constant, it does not compile.
    pub(crate) const fn of(number: u32, wire_type: u32) -> Self {
        match Self::new(number, wire_type) {
            Some(tag) => tag,
            None => panic!("no number of a field"),
        }
    }

    /// `None` if the number is 0 or above 2^25 - 1, whose tags have more than four bytes.
    pub(crate) const fn new(number: u32, wire_type: u32) -> Option<Self> {
        if number == 0 || number >= 1 << 25 {
            return None;
        }
        let (word, len) = varint::word((number << 3 | wire_type) as u64);
        Some(Self { bytes: word as u32, len: len as u8 })
    }
}

/// The event that a record of an id becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What of `FtraceEvent` is written.
    pub(crate) body: Body,
    /// Bytes that a record must have: the end of the last field of the steps and of the common fields.
    pub(crate) size: u16,
    /// What the event tells beside its fields.
    pub(crate) fact: Fact,
    /// The encoded `GenericEventDescriptor` that readers of the message need; of a generic event.
    pub(crate) descriptor: Option<Box<[u8]>>,
    /// The fields of the message, in the order of their numbers.
    pub(crate) steps: Box<[Step]>,
}

/// What of `FtraceEvent` is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A message with the steps' fields: an event of the schema, or a generic event with a descriptor.
    Message(Tag),
    /// `generic` (327), with the name of the event; each step becomes a `Field` with the name of the same index. The
    /// tag of a step is that of the value in its `Field`: `str_value` 3, `int_value` 4 or `uint_value` 5.
    Legacy { name: Box<str>, fields: Box<[Box<str>]> },
    /// `kprobe_event` (542), whose body is encoded already. There are no steps.
    Fixed { tag: Tag, body: Box<[u8]> },
}

/// What an event tells to other data sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// Nothing but its pids and inodes.
    None,
    /// `task_rename`: the process of the record has another name now.
    Renamed,
    /// The thread with this number is new.
    Started { pid: Number },
    /// `raw_syscalls/sys_exit`: a system call returned `ret`, a descriptor if `id` is one of `opens`.
    Returned { id: Number, ret: Number, opens: &'static [u16] },
}

/// An integer of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Where it begins.
    pub(crate) offset: u16,
    /// Four bytes, or eight.
    pub(crate) is_wide: bool,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The tag of the field, with its wire type.
    pub(crate) tag: Tag,
    /// Where in the record it begins.
    pub(crate) offset: u16,
    /// What is there.
    pub(crate) what: What,
}

/// The bytes of a field, and what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Unsigned integers, as varints. A `bool` is a [`What::U8`].
    U8,
    U16,
    U32,
    U64,
    /// Signed integers, as varints of 64 bits.
    I8,
    I16,
    I32,
    I64,
    /// An integer whose field in the schema has another type. It is written if that type has its value, and left out
    /// otherwise: a field that does not fit is missing, never another number.
    Within {
        from: Integer,
        to: Range,
    },
    /// An `i32` that names a thread.
    Pid,
    /// An inode number, of four or eight bytes.
    Inode32,
    Inode64,
    /// A device, as the kernel stores it; written as user space knows it.
    Device32,
    Device64,
    /// An address in the kernel; written as an index into the kernel symbols of the session, never as it is.
    Address32,
    Address64,
    /// The address of a string of `printk_formats`; written as that string.
    Printk32,
    Printk64,
    /// A string in so many bytes; it ends before its first NUL.
    Text(u16),
    /// A string up to the end of the record; it ends before its first NUL.
    TextToEnd,
    /// So many bytes, all of them.
    Bytes(u16),
    /// Four bytes that hold an offset, from the begin of the record, and a length: a string before its first NUL.
    TextAt,
    /// The same: bytes.
    BytesAt,
    /// As [`What::TextAt`] and [`What::BytesAt`], with the offset counted from the end of the four bytes (`__rel_loc`).
    TextAfter,
    BytesAfter,
    /// Six integers of four or eight bytes, each a field with this tag.
    Six32,
    Six64,
}

/// An integer of the kernel: its bytes, little-endian or big-endian as the machine is, and its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
}

/// The integers that a field of the schema can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    U32,
    U64,
    I32,
    I64,
}
