//! A line for programs: one JSON object.

use std::fmt::Write;

use super::details::push_value;
use super::labels::Label;
use super::row::{Key, Note, Row, RowKind};
use crate::escape;

/// Adds the line of `row`. `begin` is the row of the slice that ends.
pub(super) fn push(
    out: &mut String,
    since_start_ns: i128,
    row: &Row,
    begin: Option<&Row>,
    note: Note,
    label: &Label,
) {
    let Key { ts_ns, packet, .. } = row.key;
    let _ = write!(out, "{{\"time_ns\":{since_start_ns},\"timestamp_ns\":{ts_ns}");
    if row.kind != RowKind::Lost {
        let _ = write!(out, ",\"packet\":{packet}");
    }
    let _ = write!(out, ",\"sequence\":{}", row.sequence);
    if row.machine != 0 {
        let _ = write!(out, ",\"machine\":{}", row.machine);
    }
    push_label(out, row.track, label);
    text(out, "kind", Some(row.kind.name()));
    if let RowKind::Legacy(phase) = row.kind {
        text(out, "phase", Some(char::from(phase).encode_utf8(&mut [0; 4])));
    }
    let name = row.name.as_deref().or_else(|| begin?.name.as_deref());
    let is_counter = matches!(row.kind, RowKind::Counter(_));
    text(out, "name", if is_counter { label.name() } else { name });
    let categories = if row.categories.is_empty() {
        begin.map_or("", |begin| &*begin.categories)
    } else {
        &*row.categories
    };
    if !categories.is_empty() {
        let _ = write!(out, ",\"categories\":[{categories}]");
    }
    if !matches!(row.kind, RowKind::Counter(_) | RowKind::State | RowKind::Lost) {
        let _ = write!(out, ",\"depth\":{}", note.depth);
    }
    if let Some(ns) = note.duration_ns {
        let _ = write!(out, ",\"duration_ns\":{ns}");
    }
    if let RowKind::Counter(value) = row.kind {
        out.push_str(",\"value\":");
        push_value(out, value, true);
        text(out, "unit", label.unit.as_deref());
    }
    out.push_str(&row.details);
    out.push_str("}\n");
}

fn push_label(out: &mut String, uuid: u64, label: &Label) {
    if let Some(process) = &label.process {
        let _ = write!(out, ",\"pid\":{}", process.id);
        text(out, "process", process.name.as_deref());
    }
    if let Some(thread) = &label.thread {
        let _ = write!(out, ",\"tid\":{}", thread.id);
        text(out, "thread", thread.name.as_deref());
    }
    // A number of 64 bits loses digits in programs that only have doubles.
    let _ = write!(out, ",\"track_uuid\":\"{uuid}\"");
    for (at, name) in label.path.iter().enumerate() {
        out.push_str(if at == 0 { ",\"track\":[" } else { "," });
        escape::quoted(out, name);
    }
    if !label.path.is_empty() {
        out.push(']');
    }
}

fn text(out: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = write!(out, ",\"{key}\":");
        escape::quoted(out, value);
    }
}
