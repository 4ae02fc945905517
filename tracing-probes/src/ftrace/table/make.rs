//! Plans, from a format and what the schema says.

use protozero::wire::write::{append_head, append_tag, append_varint};

use crate::ftrace::format::{Field, Format};
use crate::ftrace::schema;

use super::convert;
use super::kind::{Kind, Pointers};
use super::plan::{Body, Fact, Number, Plan, Step, Tag, What};

/// Fields of a generic event that are written: readers refuse a descriptor with a higher number.
pub(super) const DESCRIBED_MAX: u32 = 31;

/// `FtraceEvent.kprobe_event`.
const KPROBE: u32 = 542;

const VARINT: u32 = 0;
const DELIMITED: u32 = 2;

/// What a table is made with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// What is written of addresses of the kernel.
    pub(crate) pointers: Pointers,
    /// System calls of this machine that return a new descriptor.
    pub(crate) opens: &'static [u16],
}

/// A generic event before it has a number.
pub(super) struct Generic {
    /// A `DescriptorProto`.
    pub(super) descriptor: Vec<u8>,
    steps: Vec<Step>,
    size: u16,
    /// As `FtraceEvent.generic`.
    pub(super) legacy: Plan,
}

/// The plan of an event of the schema.
pub(super) fn known(event: &schema::Event, format: &Format<'_>, options: &Options) -> Option<Plan> {
    let mut size = common_end(format);
    let mut steps = Vec::with_capacity(format.fields.len());
    for field in event.fields() {
        let Some(from) = format.fields.iter().find(|from| from.name == field.name) else {
            continue;
        };
        let Some(kind) = kind_of(from, event, options.pointers) else { continue };
        let Some(what) = convert::known(kind, field.kind) else { continue };
        let Some(step) = step(from, what, field.number) else { continue };
        size = size.max(from.end());
        steps.push(step);
    }
    let fact = match (event.group(), event.name()) {
        ("task", "task_rename") => Fact::Renamed,
        ("task", "task_newtask") => started(format, "pid").unwrap_or(Fact::None),
        ("sched", "sched_process_fork") => started(format, "child_pid").unwrap_or(Fact::None),
        ("raw_syscalls", "sys_exit") => returned(format, options).unwrap_or(Fact::None),
        _ => Fact::None,
    };
    let body = Body::Message(Tag::new(event.number(), DELIMITED)?);
    Some(Plan { body, size, fact, descriptor: None, steps: steps.into() })
}

/// What a field of the kernel is. `func` of a function graph is an address, whatever its declaration and the option
/// say.
fn kind_of(from: &Field<'_>, event: &schema::Event, pointers: Pointers) -> Option<Kind> {
    let is_graph = event.group() == "ftrace" && event.name().starts_with("funcgraph_");
    match Kind::of(from, event.group(), pointers)? {
        Kind::Integer(_) if is_graph && from.name == "func" && matches!(from.len, 4 | 8) => {
            Some(Kind::Address { is_wide: from.len == 8 })
        }
        kind => Some(kind),
    }
}

/// `id` and `ret`, if both are numbers of four or eight bytes.
fn returned(format: &Format<'_>, options: &Options) -> Option<Fact> {
    let (id, ret) = (number(format, "id")?, number(format, "ret")?);
    Some(Fact::Returned { id, ret, opens: options.opens })
}

/// The field that names a new thread.
fn started(format: &Format<'_>, name: &str) -> Option<Fact> {
    number(format, name).map(|pid| Fact::Started { pid })
}

/// A field, if it is a number of four or eight bytes.
fn number(format: &Format<'_>, name: &str) -> Option<Number> {
    let field = format.fields.iter().find(|field| field.name == name)?;
    let is_wide = field.len == 8;
    (is_wide || field.len == 4).then_some(Number { offset: field.offset, is_wide })
}

/// An event that the schema does not know: fields 1, 2, ... in the order of the format.
pub(super) fn generic(
    group: &str,
    name: &str,
    format: &Format<'_>,
    options: &Options,
) -> Option<Generic> {
    let mut descriptor = Vec::new();
    append_head(&mut descriptor, 1, name.len());
    descriptor.extend_from_slice(name.as_bytes());
    let (mut steps, mut size) = (Vec::new(), common_end(format));
    let (mut legacy_steps, mut legacy_names, mut legacy_size) = (Vec::new(), Vec::new(), size);
    for (at, from) in format.fields.iter().enumerate() {
        // Two fields of one name would make a descriptor that readers refuse.
        if format.fields[..at].iter().any(|other| other.name == from.name) {
            continue;
        }
        let kind = Kind::of(from, group, options.pointers);
        let Some((what, kind)) = kind.and_then(convert::generic) else { continue };
        let number = u32::try_from(steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        if number <= DESCRIBED_MAX {
            size = size.max(from.end());
            steps.push(step(from, what, number)?);
            describe(&mut descriptor, from.name, number, kind);
        }
        let value = match kind {
            convert::GenericType::String => 3,
            convert::GenericType::I64 => 4,
            convert::GenericType::U64 => 5,
            convert::GenericType::Bytes => continue,
        };
        legacy_size = legacy_size.max(from.end());
        legacy_steps.push(step(from, what, value)?);
        legacy_names.push(from.name.into());
    }
    let body = Body::Legacy { name: name.into(), fields: legacy_names.into() };
    let legacy = Plan {
        body,
        size: legacy_size,
        fact: Fact::None,
        descriptor: None,
        steps: legacy_steps.into(),
    };
    Some(Generic { descriptor, steps, size, legacy })
}

impl Generic {
    /// The plan with a number of `FtraceEvent` and a `GenericEventDescriptor`, and that of older readers.
    pub(super) fn with(self, number: u32, descriptor: Box<[u8]>) -> Option<(Plan, Plan)> {
        let body = Body::Message(Tag::new(number, DELIMITED)?);
        let descriptor = Some(descriptor);
        let (size, steps) = (self.size, self.steps.into());
        let plan = Plan { body, size, fact: Fact::None, descriptor, steps };
        Some((plan, self.legacy))
    }
}

/// Appends a field to a `DescriptorProto`.
fn describe(descriptor: &mut Vec<u8>, name: &str, number: u32, kind: convert::GenericType) {
    let mut field = Vec::new();
    append_head(&mut field, 1, name.len());
    field.extend_from_slice(name.as_bytes());
    append_tag(&mut field, 3, VARINT);
    append_varint(&mut field, u64::from(number));
    append_tag(&mut field, 5, VARINT);
    append_varint(&mut field, kind as u64);
    append_head(descriptor, 2, field.len());
    descriptor.extend_from_slice(&field);
}

/// The plan of a kprobe. `kind` is a `KprobeType`.
pub(super) fn kprobe(name: &str, kind: u8, format: &Format<'_>) -> Option<Plan> {
    let mut body = Vec::new();
    append_head(&mut body, 1, name.len());
    body.extend_from_slice(name.as_bytes());
    append_tag(&mut body, 2, VARINT);
    append_varint(&mut body, u64::from(kind));
    let body = Body::Fixed { tag: Tag::new(KPROBE, DELIMITED)?, body: body.into() };
    Some(Plan {
        body,
        size: common_end(format),
        fact: Fact::None,
        descriptor: None,
        steps: Box::default(),
    })
}

/// Where the fields end that all events have.
pub(super) fn common_end(format: &Format<'_>) -> u16 {
    format.common.iter().map(Field::end).max().unwrap_or(0)
}

fn step(from: &Field<'_>, what: What, number: u32) -> Option<Step> {
    let wire_type = match what {
        What::Text(_)
        | What::TextToEnd
        | What::TextAt
        | What::TextAfter
        | What::Bytes(_)
        | What::BytesAt
        | What::BytesAfter
        | What::Printk32
        | What::Printk64 => DELIMITED,
        _ => VARINT,
    };
    Some(Step { tag: Tag::new(number, wire_type)?, offset: from.offset, what })
}
