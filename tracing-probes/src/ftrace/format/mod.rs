//! The text of `events/G/E/format`: where each field of a record is.
//!
//! ```text
//! name: sched_waking
//! ID: 371
//! format:
//!         field:unsigned short common_type;       offset:0;       size:2; signed:0;
//!         field:char comm[16];    offset:8;       size:16;        signed:0;
//!
//! print fmt: "comm=%s pid=%d", ...
//! ```
//!
//! Trust: the kernel prints it, but a user with the rights of root chooses the names of probes. A line that does not
//! parse is left out, and with it its field. The work and the memory are linear in the text, of which no more is read
//! than [`BYTES_MAX`].

/// Bytes of a text that are read. The longest of Linux 6.18 has 6 KiB, most of it behind the fields.
pub(super) const BYTES_MAX: usize = 64 * 1024;

/// Characters of a declaration. A longer one is no field, as for upstream's parser.
const DECLARATION_MAX: usize = 127;

/// A format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format<'a> {
    /// The id that its records begin with.
    pub(super) id: u16,
    /// Fields that all events have; their names begin with `common_`.
    pub(super) common: Vec<Field<'a>>,
    /// Its other fields, in the order of the text.
    pub(super) fields: Vec<Field<'a>>,
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// What stands before the first `;`, as in C.
    pub(super) declaration: &'a str,
    /// An identifier of C, the last word of the declaration.
    pub(super) name: &'a str,
    /// Bytes from the begin of the record. It may be odd.
    pub(super) offset: u16,
    /// Bytes of it; 0 if it goes to the end of the record. `offset + len` is a `u16`.
    pub(super) len: u16,
    pub(super) is_signed: bool,
}

impl Field<'_> {
    /// Where it ends.
    pub(super) const fn end(&self) -> u16 {
        self.offset.saturating_add(self.len)
    }
}

impl<'a> Format<'a> {
    /// `None` if there is no name, no id from 1 to 65535, or no common field.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let (mut has_name, mut id) = (false, None);
        let (mut common, mut fields) = (Vec::new(), Vec::new());
        for line in text.get(..BYTES_MAX).unwrap_or(text).split(|b| *b == b'\n') {
            let Ok(line) = str::from_utf8(line) else { continue };
            let line = line.trim_ascii();
            if line.starts_with("print fmt:") {
                break;
            }
            if let Some(name) = line.strip_prefix("name:") {
                has_name |= !name.trim_ascii().is_empty();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim_ascii().parse().ok().filter(|id| *id != 0);
            } else if let Some(field) = field(line) {
                let is_common = field.name.starts_with("common_");
                if is_common { &mut common } else { &mut fields }.push(field);
            }
        }
        (has_name && !common.is_empty()).then_some(Self { id: id?, common, fields })
    }
}

/// Reads `field:DECLARATION; offset:O; size:S; signed:B;`.
fn field(line: &str) -> Option<Field<'_>> {
    let mut parts = line.strip_prefix("field:")?.split(';');
    let declaration = parts.next()?.trim_ascii();
    let mut number = |key: &str| -> Option<u16> {
        parts.next()?.trim_ascii().strip_prefix(key)?.trim_ascii().parse().ok()
    };
    let (offset, len) = (number("offset:")?, number("size:")?);
    let is_signed = number("signed:")? != 0;
    offset.checked_add(len)?;
    if declaration.len() > DECLARATION_MAX {
        return None;
    }
    Some(Field { declaration, name: name_of(declaration)?, offset, len, is_signed })
}

/// The name in a declaration: `comm` of `char comm[16]`.
fn name_of(declaration: &str) -> Option<&str> {
    let declaration = match declaration.ends_with(']') {
        true => declaration.rsplit_once('[')?.0,
        false => declaration,
    };
    let (_, name) = declaration.rsplit_once(' ')?;
    is_identifier(name).then_some(name)
}

/// Whether this is a name in C.
pub(super) fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests;
