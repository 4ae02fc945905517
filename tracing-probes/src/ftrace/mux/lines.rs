//! The text of a record of values found.
//!
//! ```text
//! ftrace 1 BOOT          a reboot resets tracefs, so the record of another boot counts for nothing
//! write tracing_on 1     what undoes a change, one a line, in the order of the changes;
//! trunc trace            written before the change is made
//! ```
//!
//! Bytes of paths and values that are no printable ASCII, blanks and `%` are written as `%XX`. A line that breaks off
//! or means nothing is left out. Each path leads below tracefs, whatever the file has.

use std::fmt::Write as _;

use super::change::Change;
use crate::ftrace::tracefs::is_below;

/// The line of a record for what undoes a change.
pub(crate) fn line(change: &Change) -> String {
    let (word, value) = match change {
        Change::Write { value, .. } => ("write", value.as_str()),
        Change::Fill { value, .. } => ("fill", value.as_str()),
        Change::Append { value, .. } => ("append", value.as_str()),
        Change::Truncate { .. } => ("trunc", ""),
    };
    let mut line = format!("{word} ");
    escape(&mut line, change.path());
    line.push(' ');
    escape(&mut line, value);
    line.push('\n');
    line
}

fn escape(line: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'%' => line.push_str("%25"),
            b'!'..=b'~' => line.push(char::from(byte)),
            _ => _ = write!(line, "%{byte:02x}"),
        }
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let digits = part.get(..2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn parse_line(line: &str) -> Option<Change> {
    let mut words = line.split(' ');
    let (word, path, value) = (words.next()?, unescape(words.next()?)?, unescape(words.next()?)?);
    if !is_below(&path) || words.next().is_some() {
        return None;
    }
    Some(match word {
        "write" => Change::Write { path, value },
        "fill" => Change::Fill { path, value },
        "append" => Change::Append { path, value },
        "trunc" => Change::Truncate { path },
        _ => return None,
    })
}

/// What a record of this boot undoes. Empty for one of another boot.
pub(crate) fn parse(record: &[u8], boot: &str) -> Vec<Change> {
    let record = String::from_utf8_lossy(record);
    let mut lines = record.split_inclusive('\n');
    if lines.next() != Some(header(boot).as_str()) {
        return Vec::new();
    }
    lines.filter_map(|line| parse_line(line.strip_suffix('\n')?)).collect()
}

pub(crate) fn header(boot: &str) -> String {
    let mut header = "ftrace 1 ".to_owned();
    escape(&mut header, boot);
    header.push('\n');
    header
}
