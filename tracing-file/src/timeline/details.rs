//! What an event carries beside its name: arguments, flows, values of further counters, places in the source.

use std::fmt::Write;

use super::labels::Labels;
use crate::escape;
use crate::limits::{DETAILS_BYTES_MAX, DETAILS_DEPTH_MAX};
use crate::read::{
    Annotation, Annotations, CounterValue, Event, LogMessage, SourceLocation, Tracks, Value,
};

/// What an event carries, for a line of text or of JSON.
pub(super) struct Details<'t> {
    out: String,
    is_json: bool,
    is_cut: bool,
    tracks: &'t Tracks,
    labels: &'t mut Labels,
}

/// ` key=value ->flow ...`, or `,"args":{...},"flows":[...]`.
pub(super) fn details(
    event: &Event<'_>,
    is_json: bool,
    tracks: &Tracks,
    labels: &mut Labels,
) -> String {
    let mut details = Details { out: String::new(), is_json, is_cut: false, tracks, labels };
    details.add(event);
    details.out
}

/// Categories, as they stand in a line.
pub(super) fn categories(event: &Event<'_>, is_json: bool) -> String {
    let mut out = String::new();
    for name in event.categories() {
        if out.len() > DETAILS_BYTES_MAX {
            break;
        }
        if !out.is_empty() {
            out.push(',');
        }
        if is_json { escape::quoted(&mut out, &name) } else { escape::plain(&mut out, &name) }
    }
    out
}

/// A value of a counter. JSON has no number for one that is infinite.
pub(super) fn push_value(out: &mut String, value: CounterValue, is_json: bool) {
    // A `String` takes everything, here and below.
    let _ = match value {
        CounterValue::Int(value) => write!(out, "{value}"),
        CounterValue::Double(value) if is_json && !value.is_finite() => write!(out, "\"{value}\""),
        CounterValue::Double(value) => write!(out, "{value}"),
    };
}

impl Details<'_> {
    fn add(&mut self, event: &Event<'_>) {
        let log = event.log_message();
        if let Some(log) = &log {
            self.log(log);
        }
        self.args(event.annotations());
        self.counters(event.extra_counters());
        self.flows("->", "flows", event.flows());
        self.flows("->|", "end_flows", event.ended_flows());
        // A line of a log has a place of its own.
        let has_place = log.is_some_and(|log| log.location.is_some());
        if let Some(location) = event.source_location().filter(|_| !has_place) {
            self.location(&location);
        }
        if let Some(id) = event.correlation_id() {
            self.field(" correlation=", "correlation_id");
            escape::quoted(&mut self.out, &id);
        }
        if self.is_cut {
            self.out.push_str(if self.is_json { ",\"is_cut\":true" } else { " …" });
        }
    }

    fn field(&mut self, text: &str, json: &str) {
        if self.is_json {
            let _ = write!(self.out, ",\"{json}\":");
        } else {
            self.out.push_str(text);
        }
    }

    /// Whether there is a place for more.
    fn has_place(&mut self) -> bool {
        self.is_cut |= self.out.len() > DETAILS_BYTES_MAX;
        !self.is_cut
    }

    fn args(&mut self, mut args: Annotations<'_>) {
        let Some(first) = args.next() else { return };
        let args = std::iter::once(first).chain(args);
        if self.is_json {
            self.out.push_str(",\"args\":{");
            self.entries(args, ",", true, 0);
            self.out.push('}');
        } else {
            self.out.push(' ');
            self.entries(args, " ", true, 0);
        }
    }

    fn entries<'a>(
        &mut self,
        entries: impl Iterator<Item = Annotation<'a>>,
        separator: &str,
        is_named: bool,
        depth: u32,
    ) {
        let mut is_first = true;
        for Annotation { name, value } in entries {
            if !self.has_place() {
                return;
            }
            if !std::mem::take(&mut is_first) {
                self.out.push_str(separator);
            }
            let name = name.as_deref().unwrap_or_default();
            if is_named && self.is_json {
                escape::quoted(&mut self.out, name);
                self.out.push(':');
            } else if is_named {
                escape::plain(&mut self.out, name);
                self.out.push('=');
            }
            self.value(&value, depth);
        }
    }

    fn value(&mut self, value: &Value<'_>, depth: u32) {
        let (out, is_json) = (&mut self.out, self.is_json);
        let separator = if is_json { "," } else { ", " };
        let _ = match value {
            Value::None => out.write_str(if is_json { "null" } else { "-" }),
            Value::Bool(value) => write!(out, "{value}"),
            Value::Uint(value) => write!(out, "{value}"),
            Value::Int(value) => write!(out, "{value}"),
            Value::Double(value) => {
                push_value(out, CounterValue::Double(*value), is_json);
                Ok(())
            }
            Value::Text(text) | Value::Json(text) => {
                escape::quoted(out, text);
                Ok(())
            }
            Value::Pointer(value) if is_json => write!(out, "\"0x{value:x}\""),
            Value::Pointer(value) => write!(out, "0x{value:x}"),
            Value::Dict(_) | Value::List(_) if depth >= DETAILS_DEPTH_MAX => {
                self.is_cut = true;
                self.out.write_str(if self.is_json { "null" } else { "…" })
            }
            Value::Dict(inner) => {
                out.push('{');
                self.entries(*inner, separator, true, depth + 1);
                self.out.write_char('}')
            }
            Value::List(inner) => {
                out.push('[');
                self.entries(*inner, separator, false, depth + 1);
                self.out.write_char(']')
            }
            Value::Proto(name, bytes) => {
                let name = name.as_deref().unwrap_or("message");
                escape::quoted(out, &format!("<{name}, {} bytes>", bytes.len()));
                Ok(())
            }
            Value::Nested(bytes) => {
                escape::quoted(out, &format!("<nested values, {} bytes>", bytes.len()));
                Ok(())
            }
        };
    }

    /// Values of further counters. A line of text has them like arguments.
    fn counters(&mut self, counters: &[(u64, CounterValue)]) {
        for (at, (track, value)) in counters.iter().enumerate() {
            let label = self.labels.of(self.tracks, 0, *track);
            let (name, unit) = (label.name().unwrap_or_default(), label.unit.as_deref());
            if self.is_json {
                self.out.push_str(if at == 0 { ",\"counters\":[{" } else { ",{" });
                self.out.push_str("\"name\":");
                escape::quoted(&mut self.out, name);
                self.out.push_str(",\"value\":");
                push_value(&mut self.out, *value, true);
                if let Some(unit) = unit {
                    self.out.push_str(",\"unit\":");
                    escape::quoted(&mut self.out, unit);
                }
                self.out.push_str(if at + 1 == counters.len() { "}]" } else { "}" });
            } else {
                self.out.push(' ');
                escape::plain(&mut self.out, name);
                self.out.push('=');
                push_value(&mut self.out, *value, false);
                if let Some(unit) = unit {
                    self.out.push(' ');
                    escape::plain(&mut self.out, unit);
                }
            }
        }
    }

    fn flows(&mut self, arrow: &str, key: &str, flows: impl Iterator<Item = u64>) {
        let mut is_open = false;
        for flow in flows {
            if !self.has_place() {
                break;
            }
            if !self.is_json {
                let _ = write!(self.out, " {arrow}{flow}");
            } else if std::mem::replace(&mut is_open, true) {
                let _ = write!(self.out, ",\"{flow}\"");
            } else {
                let _ = write!(self.out, ",\"{key}\":[\"{flow}\"");
            }
        }
        if is_open {
            self.out.push(']');
        }
    }

    fn log(&mut self, log: &LogMessage<'_>) {
        let priority = match log.priority {
            2 => "verbose",
            3 => "debug",
            4 => "info",
            5 => "warn",
            6 => "error",
            7 => "fatal",
            _ => "unknown",
        };
        let body = log.body.as_deref().unwrap_or_default();
        if self.is_json {
            let _ = write!(self.out, ",\"priority\":\"{priority}\",\"message\":");
            escape::quoted(&mut self.out, body);
        } else {
            let _ = write!(self.out, " {priority}: ");
            escape::plain(&mut self.out, body);
        }
        if let Some(location) = &log.location {
            self.location(location);
        }
    }

    fn location(&mut self, location: &SourceLocation<'_>) {
        let (file, function) = (location.file.as_deref(), location.function.as_deref());
        if self.is_json {
            for (key, text) in [("file", file), ("function", function)] {
                if let Some(text) = text {
                    self.field("", key);
                    escape::quoted(&mut self.out, text);
                }
            }
            if let Some(line) = location.line {
                let _ = write!(self.out, ",\"line\":{line}");
            }
            return;
        }
        self.out.push_str(" at ");
        escape::plain(&mut self.out, file.or(function).unwrap_or("?"));
        if let Some(line) = location.line {
            let _ = write!(self.out, ":{line}");
        }
        if let (Some(_), Some(function)) = (file, function) {
            self.out.push_str(" in ");
            escape::plain(&mut self.out, function);
        }
    }
}
