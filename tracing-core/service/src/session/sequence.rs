//! Whose packet it is: the numbers of sequences, and the fields that vouch for them.

use std::collections::BTreeMap;

use crate::limits;
use abi::ids::{ProducerId, WriterId};

/// What makes two packets of one sequence, and who wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SequenceKey {
    pub(crate) machine: u32,
    pub(crate) producer: ProducerId,
    pub(crate) writer: WriterId,
}

/// The numbers of the sequences of one session, from 2 in the order they are first met; 1 is the service.
#[derive(Clone, Debug)]
pub(crate) struct SequenceIds {
    ids: BTreeMap<SequenceKey, u32>,
    next: u32,
}

impl Default for SequenceIds {
    fn default() -> Self {
        Self { ids: BTreeMap::new(), next: 2 }
    }
}

impl SequenceIds {
    pub(crate) fn id(&mut self, key: SequenceKey) -> u32 {
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.ids.len() >= limits::SEQUENCES_PER_SESSION_MAX {
            self.ids.clear();
        }
        let id = self.next;
        self.next = self.next.checked_add(1).unwrap_or(2);
        self.ids.insert(key, id);
        id
    }
}

/// Bytes that fit behind a packet in any case: five fields of at most 2 + 10 bytes, rounded up.
pub(crate) const SUFFIX_BYTES: usize = 64;

/// Bytes of a short one, at most.
pub(crate) const SUFFIX_SHORT_BYTES: usize = 32;

/// Fields that are put behind those of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Suffix {
    bytes: [u8; SUFFIX_BYTES],
    len: usize,
}

impl Suffix {
    /// None.
    pub(crate) const EMPTY: Self = Self { bytes: [0; SUFFIX_BYTES], len: 0 };

    /// All the bytes there could be, so that a copy of them has a fixed length.
    #[inline]
    pub(crate) fn padded(&self) -> &[u8; SUFFIX_BYTES] {
        &self.bytes
    }

    /// The same of a short one, which nearly all are: only users and machines with very large numbers have
    /// longer ones.
    #[inline(always)]
    pub(crate) fn short(&self) -> Option<&[u8; SUFFIX_SHORT_BYTES]> {
        if self.len > SUFFIX_SHORT_BYTES { None } else { self.bytes.first_chunk() }
    }

    /// Bytes of it that count.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, field: u64, value: u64) {
        for mut value in [field << 3, value] {
            while value >= 0x80 {
                self.bytes[self.len] = value as u8 | 0x80;
                self.len += 1;
                value >>= 7;
            }
            self.bytes[self.len] = value as u8;
            self.len += 1;
        }
    }
}

/// Whose packet: the sequence, and the user and process behind it.
type Author = (SequenceKey, u32, Option<i32>);

/// The trusted fields of a packet, appended so that they win over what a producer may have written.
/// Encoded once for all packets of a sequence that follow each other.
pub(crate) struct Trusted {
    author: Option<Author>,
    plain: Suffix,
    marked: Suffix,
}

impl Trusted {
    pub(crate) const fn new() -> Self {
        Self { author: None, plain: Suffix::EMPTY, marked: Suffix::EMPTY }
    }

    /// The fields for a packet of `author`; `dropped` says what was lost before it, if not zero.
    #[inline(always)]
    pub(crate) fn of(&mut self, ids: &mut SequenceIds, author: Author, dropped: u32) -> &Suffix {
        if self.author != Some(author) {
            self.encode(ids, author);
        }
        if dropped == 0 { &self.plain } else { self.marked(dropped) }
    }

    #[cold]
    fn marked(&mut self, dropped: u32) -> &Suffix {
        self.marked = self.plain.clone();
        self.marked.put(42, dropped.into());
        &self.marked
    }

    #[cold]
    fn encode(&mut self, ids: &mut SequenceIds, author: Author) {
        let (key, uid, pid) = author;
        self.author = Some(author);
        self.plain = Suffix::EMPTY;
        // Negative int32 take ten bytes, as the wire format sign-extends them.
        self.plain.put(3, i64::from(uid as i32) as u64);
        self.plain.put(10, ids.id(key).into());
        if let Some(pid) = pid {
            self.plain.put(79, i64::from(pid) as u64);
        }
        if key.machine != 0 {
            self.plain.put(98, key.machine.into());
        }
    }
}
