//! Where the fields are that compact sched writes as columns.

use std::fmt;

use crate::ftrace::compact::{Switch, Waking};
use crate::ftrace::format::{Field, Format};

use super::make::common_end;
use super::plan::Number;

/// Bytes of a `comm`.
const COMM_LEN: u16 = 16;

/// Why events of the scheduler cannot be written as columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The kernel does not have the event.
    Missing { event: &'static str },
    /// The event has no such field, or one of another type.
    Field { event: &'static str, field: &'static str },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { event } => write!(f, "the kernel has no {event}"),
            Self::Field { event, field } => write!(f, "{event} has no {field} of the known type"),
        }
    }
}

pub(super) const GROUP: &str = "sched";
pub(super) const SWITCH: &str = "sched_switch";
pub(super) const WAKING: &str = "sched_waking";

/// The layout of `sched_switch`.
pub(super) fn switch(format: &Format<'_>) -> Result<Switch, Unfit> {
    let mut fields = Fields { event: SWITCH, format, size: common_end(format) };
    let prev_state = fields.take("prev_state", |f| f.is_signed && matches!(f.len, 4 | 8))?;
    Ok(Switch {
        prev_state: Number { offset: prev_state.offset, is_wide: prev_state.len == 8 },
        next_pid: fields.take("next_pid", is_pid)?.offset,
        next_prio: fields.take("next_prio", is_i32)?.offset,
        next_comm: fields.take("next_comm", is_comm)?.offset,
        id: format.id,
        size: fields.size,
    })
}

/// The layout of `sched_waking`.
pub(super) fn waking(format: &Format<'_>) -> Result<Waking, Unfit> {
    let mut fields = Fields { event: WAKING, format, size: common_end(format) };
    Ok(Waking {
        pid: fields.take("pid", is_pid)?.offset,
        target_cpu: fields.take("target_cpu", is_i32)?.offset,
        prio: fields.take("prio", is_i32)?.offset,
        comm: fields.take("comm", is_comm)?.offset,
        common_flags: fields.take("common_flags", |f| f.len == 1 && !f.is_signed)?.offset,
        id: format.id,
        size: fields.size,
    })
}

/// Fields of one event, and where the last one ends that was taken; all common fields are.
struct Fields<'f> {
    event: &'static str,
    format: &'f Format<'f>,
    size: u16,
}

impl<'f> Fields<'f> {
    fn take(
        &mut self,
        name: &'static str,
        fits: impl Fn(&Field<'_>) -> bool,
    ) -> Result<Field<'f>, Unfit> {
        let mut all = self.format.common.iter().chain(&self.format.fields);
        let field = all.find(|field| field.name == name && fits(field));
        let field = field.ok_or(Unfit::Field { event: self.event, field: name })?;
        self.size = self.size.max(field.end());
        Ok(*field)
    }
}

fn is_pid(field: &Field<'_>) -> bool {
    field.declaration.starts_with("pid_t ") && field.len == 4
}

fn is_i32(field: &Field<'_>) -> bool {
    field.is_signed && field.len == 4
}

fn is_comm(field: &Field<'_>) -> bool {
    field.declaration.starts_with("char ") && field.len == COMM_LEN
}
