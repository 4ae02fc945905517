//! Numbers of generic events in `FtraceEvent`, one owner for all tables of a daemon.
//!
//! A number has one meaning in a trace: a reader takes the first descriptor that it sees with it. So two tables never
//! give one number to two events; they give the same number to the same event.

use std::collections::BTreeMap;

use protozero::wire::write::{append_head, append_tag, append_varint};

/// The first number; the schema has none as high.
const FIRST: u32 = 65536;

/// Numbers that are given. Each is an event that somebody with the rights of root made.
const COUNT_MAX: usize = 65536;

/// Numbers of generic events.
#[derive(Debug, Default)]
pub(crate) struct FieldIds {
    /// By group and `DescriptorProto`.
    known: BTreeMap<(Box<str>, Box<[u8]>), u32>,
}

impl FieldIds {
    /// The number of an event of `group` with this `DescriptorProto`; the same one for the same event. `None` if all
    /// numbers are taken.
    pub(super) fn of(&mut self, group: &str, descriptor: &[u8]) -> Option<u32> {
        let key = (group.into(), descriptor.into());
        if let Some(id) = self.known.get(&key) {
            return Some(*id);
        }
        let count = self.known.len();
        if count >= COUNT_MAX {
            return None;
        }
        let id = FIRST.checked_add(u32::try_from(count).ok()?)?;
        self.known.insert(key, id);
        Some(id)
    }
}

/// An encoded `GenericEventDescriptor`.
pub(super) fn describe(group: &str, id: u32, descriptor: &[u8]) -> Box<[u8]> {
    let mut message = Vec::with_capacity(descriptor.len() + group.len() + 16);
    append_tag(&mut message, 1, 0);
    append_varint(&mut message, u64::from(id));
    append_head(&mut message, 2, descriptor.len());
    message.extend_from_slice(descriptor);
    append_head(&mut message, 3, group.len());
    message.extend_from_slice(group.as_bytes());
    message.into()
}
