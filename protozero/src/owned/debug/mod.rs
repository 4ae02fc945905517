//! `Debug` of owned messages, from their tables.

use core::fmt::{self, Debug};

use crate::unknown::UnknownFields;

#[cfg(test)]
mod tests;

/// The shape of the lines that show a oneof again, which another line has shown.
const AGAIN: &str = "oneof_high";

/// Prints a message as a derived `Debug` does, with its fields in the order of their numbers. `lines` are shape and
/// name of each field, `fields` their values, both from the highest number to the lowest. Unknown fields are shown if
/// there are any.
///
/// # Errors
/// Those of `f`.
pub fn debug(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    lines: &[&str],
    fields: &[&dyn Debug],
    unknown: Option<&UnknownFields>,
) -> fmt::Result {
    let mut out = f.debug_struct(name);
    for (line, field) in lines.iter().zip(fields).rev() {
        if let Some((shape, name)) = line.split_once(' ')
            && shape != AGAIN
        {
            out.field(name.strip_prefix("r#").unwrap_or(name), field);
        }
    }
    if let Some(unknown) = unknown.filter(|unknown| !unknown.is_empty()) {
        out.field("unknown_fields", unknown);
    }
    out.finish()
}
