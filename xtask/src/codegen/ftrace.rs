//! The events of ftrace, as `tracing-probes` needs them: a table of names, numbers and types. The messages of these
//! events are more than half of the schema; a program that knows the table need not compile them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use protozero_codegen::{FieldRow, Rows};

/// Where the table is, below the root of the repository.
pub const PATH: &str = "tracing-probes/src/ftrace/schema/events.rs";

const EVENT: &str = "perfetto.protos.FtraceEvent";

/// Fields of `FtraceEvent` that are no event of the kernel's: a generic event and a kprobe have names of their own.
const NO_EVENTS: [&str; 2] = ["generic", "kprobe_event"];

/// Groups whose events have the name of the group in front of theirs in the schema, and not in the kernel.
const PREFIXED: [&str; 8] = ["sde", "g2d", "dpu", "mali", "lwis", "samsung", "kgsl", "hypervisor"];

/// Fields that the kernel has and nobody writes: an address in the kernel, and a field that changed its meaning.
const NOT_WRITTEN: [(&str, &str); 2] = [
    ("perfetto.protos.PrintFtraceEvent", "ip"),
    ("perfetto.protos.F2fsTruncatePartialNodesFtraceEvent", "nid"),
];

/// Field numbers whose tag has four bytes at most.
const NUMBERS: std::ops::Range<u32> = 1..1 << 25;

/// The text of the file.
///
/// # Errors
/// The schema has what the table cannot say: a field of another type, or an event of a file without a group.
pub fn table(rows: &Rows, command: &str) -> Result<String, String> {
    let mut messages: BTreeMap<&str, Vec<&FieldRow>> = BTreeMap::new();
    for row in &rows.fields {
        messages.entry(&row.message).or_default().push(row);
    }
    let mut events = Vec::new();
    for row in messages.get(EVENT).ok_or_else(|| format!("{EVENT} is missing"))? {
        let Some((number, name, _, kind)) = &row.field else { continue };
        let Some(message) = kind.strip_prefix("message ") else { continue };
        if NO_EVENTS.contains(&name.as_str()) {
            continue;
        }
        let rows = messages.get(message).ok_or_else(|| format!("{message} is missing"))?;
        events.push(event(*number, name, rows)?);
    }
    events.sort();
    let mut text = format!(
        "//! Written by `{command}` from `protos/perfetto/trace/ftrace`. `Event::fields` reads the last column.\n\
         \n\
         use super::event::Event;\n\
         use super::event::Event as E;\n\
         \n\
         /// By group, then by number.\n\
         pub(in super::super) static EVENTS: [Event; {}] = [\n",
        events.len()
    );
    for (group, number, name, fields) in events {
        let _ = writeln!(text, "    E({group:?}, {name:?}, {number}, {fields:?}),");
    }
    text.push_str("];\n");
    Ok(text)
}

/// Group, number, name and fields of an event. `rows` are those of its message, at least one.
fn event(
    number: u32,
    name: &str,
    rows: &[&FieldRow],
) -> Result<(String, u32, String, String), String> {
    let file = rows.first().map_or("", |row| &row.file);
    let base = file.rsplit('/').next().unwrap_or(file);
    let group = base.strip_suffix(".proto").ok_or_else(|| format!("{file}: no group"))?;
    let name = match PREFIXED.contains(&group) {
        true => name.strip_prefix(group).and_then(|n| n.strip_prefix('_')).unwrap_or(name),
        false => name,
    };
    let name = if (group, name) == ("systrace", "zero") { "0" } else { name };
    let mut fields = Vec::new();
    for row in rows {
        let Some((number, field, _, kind)) = &row.field else { continue };
        if NOT_WRITTEN.contains(&(&row.message, field)) {
            continue;
        }
        let letter = match kind.as_str() {
            "uint32" => 'u',
            "uint64" => 'U',
            "int32" => 'i',
            "int64" => 'I',
            "string" => 's',
            "bytes" => 'b',
            other => return Err(format!("{}.{field}: a field of type {other}", row.message)),
        };
        if !NUMBERS.contains(number) {
            return Err(format!("{}.{field}: the number {number} is too high", row.message));
        }
        fields.push((*number, format!("{field}={number}{letter}")));
    }
    if !NUMBERS.contains(&number) {
        return Err(format!("{EVENT}.{name}: the number {number} is too high"));
    }
    fields.sort();
    let fields: Vec<String> = fields.into_iter().map(|(_, text)| text).collect();
    Ok((group.to_owned(), number, name.to_owned(), fields.join(" ")))
}
