//! Compact sched: switches and wakings as columns.

use super::event::Known;
use super::field::{Bad, Field, unsigned};
use super::{Switch, Told, Waking};

pub(super) const SWITCH: [&str; 4] = ["prev_state", "next_pid", "next_prio", "next_comm"];

pub(super) const WAKING: [&str; 5] = ["pid", "target_cpu", "prio", "comm", "common_flags"];

/// The field of a column, if it is of the known type.
pub(super) fn column_of<'k>(event: &'k Known, name: &str) -> Option<&'k Field> {
    let is_known = |field: &&Field| match name {
        "prev_state" => field.is_signed && matches!(field.len, 4 | 8),
        "next_pid" | "pid" => field.declaration.starts_with("pid_t ") && field.len == 4,
        "common_flags" => field.len == 1 && !field.is_signed,
        "next_comm" | "comm" => field.declaration.starts_with("char ") && field.len == 16,
        _ => field.is_signed && field.len == 4,
    };
    event.common.iter().chain(&event.fields).filter(|field| field.name == name).find(is_known)
}

pub(super) fn compact(event: &Known, time: u64, record: &[u8], told: &mut Told) -> Result<(), Bad> {
    let bytes = |name: &str| {
        let field = column_of(event, name).ok_or(Bad)?;
        record.get(field.at..field.at + field.len).ok_or(Bad)
    };
    let number = |name: &str| {
        let bytes = bytes(name)?;
        Ok(match bytes.len() {
            1 => bytes[0].into(),
            4 => i64::from(unsigned(bytes) as u32 as i32) as u64,
            _ => unsigned(bytes),
        })
    };
    let name =
        |name: &str| Ok(bytes(name)?.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec());
    if event.name == "sched_switch" {
        told.switches.push(Switch {
            time,
            prev_state: number("prev_state")?,
            next_pid: number("next_pid")?,
            next_prio: number("next_prio")?,
            next_comm: name("next_comm")?,
        });
    } else {
        told.wakings.push(Waking {
            time,
            pid: number("pid")?,
            target_cpu: number("target_cpu")?,
            prio: number("prio")?,
            comm: name("comm")?,
            common_flags: number("common_flags")?,
        });
    }
    Ok(())
}
