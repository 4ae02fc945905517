//! What the bytes of a field are, by its declaration in a format.
//!
//! The first rule that fits decides. The rules are those of upstream (`proto_translation_table.cc`), so that an
//! ordinary field means the same in a trace of either program. Beyond them: arrays of bytes are bytes, `__rel_loc` is
//! known, and what is an address of the kernel by its declaration or its name is never taken for a number.

use crate::ftrace::format::Field;

use super::plan::Integer;

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `char NAME[N]`: a string in so many bytes.
    Text(u16),
    /// `u8 NAME[N]` and the like, with the sign of its field.
    Bytes {
        len: u16,
        is_signed: bool,
    },
    /// `char NAME[]` at the end of a record.
    TextToEnd,
    /// `__data_loc TYPE[] NAME`, or `__rel_loc`: four bytes that say where the elements are.
    Array {
        is_relative: bool,
        of: Element,
    },
    /// `unsigned long args[6]`: the arguments of a system call.
    Arguments {
        is_wide: bool,
    },
    /// The address of a string of `printk_formats`.
    Printk {
        is_wide: bool,
    },
    /// An address of the kernel.
    Address {
        is_wide: bool,
    },
    Bool,
    Inode {
        is_wide: bool,
    },
    Device {
        is_wide: bool,
    },
    Pid,
    Integer(Integer),
}

/// What an array of `__data_loc` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Text,
    Byte,
    /// An address of the kernel.
    Address,
    /// Anything else.
    Other,
}

/// What is written of the addresses in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Pointers {
    /// Pointers of the kernel become indices into the kernel symbols of the session, so a trace does not tell where
    /// the kernel is. They are: each declaration with a `*`, except in the group `syscalls`, whose pointers are those
    /// of user space; and an `unsigned long` with the name `ip`, `call_site`, `caller...` or `func...`. `__probe_ip`,
    /// of a probe that root made by hand, is a number.
    #[default]
    Hidden,
    /// As upstream: only `void *` and the `func` of function graphs become indices; other pointers are numbers.
    Shown,
}

/// The group whose pointers are those of user space.
const USER_GROUP: &str = "syscalls";

/// Types of which an array is bytes.
const BYTE_TYPES: [&str; 8] =
    ["u8", "__u8", "uint8_t", "unsigned char", "s8", "__s8", "int8_t", "signed char"];

impl Kind {
    /// `None` if it is nothing that can be written.
    pub(super) fn of(field: &Field<'_>, group: &str, pointers: Pointers) -> Option<Self> {
        let text = field.declaration;
        if let Some(array) = fixed_array(field) {
            return Some(array);
        }
        for (prefix, is_relative) in [("__data_loc ", false), ("__rel_loc ", true)] {
            if let Some((_, rest)) = text.split_once(prefix) {
                let of = Element::of(rest, pointers);
                return (field.len == 4).then_some(Self::Array { is_relative, of });
            }
        }
        let is_wide = field.len == 8;
        let is_word = is_wide || field.len == 4;
        if text == "unsigned long args[6]" {
            let is_wide = field.len == 48;
            return (is_wide || field.len == 24).then_some(Self::Arguments { is_wide });
        }
        if let Some(pointer) = pointer(text, field.name, pointers) {
            return match (is_word, group) {
                (true, USER_GROUP) => Some(Self::Integer(Integer::new(field.len, false)?)),
                (true, _) => Some(pointer(is_wide)),
                (false, _) => None,
            };
        }
        if text.starts_with("char ") && field.len == 0 {
            return Some(Self::TextToEnd);
        }
        match () {
            () if text.starts_with("bool ") && field.len == 1 => Some(Self::Bool),
            () if text.starts_with("ino_t ") && is_word => Some(Self::Inode { is_wide }),
            () if text.starts_with("i_ino ") && is_word => Some(Self::Inode { is_wide }),
            () if text.starts_with("dev_t ") && is_word => Some(Self::Device { is_wide }),
            () if text.starts_with("pid_t ") && field.len == 4 => Some(Self::Pid),
            () => Integer::new(field.len, field.is_signed).map(Self::Integer),
        }
    }
}

impl Element {
    /// `text` is what follows `__data_loc`.
    fn of(text: &str, pointers: Pointers) -> Self {
        let element = text.rsplit_once(' ').map_or(text, |(element, _)| element);
        let element = element.split_once('[').map_or(element, |(element, _)| element).trim_ascii();
        match element {
            "char" | "const char" => Self::Text,
            element if BYTE_TYPES.contains(&element) => Self::Byte,
            "unsigned long" if pointers == Pointers::Hidden => Self::Address,
            element if element.contains('*') => Self::Address,
            _ => Self::Other,
        }
    }
}

impl Integer {
    /// `None` if there is no integer of so many bytes.
    pub(super) const fn new(len: u16, is_signed: bool) -> Option<Self> {
        Some(match (len, is_signed) {
            (1, false) => Self::U8,
            (2, false) => Self::U16,
            (4, false) => Self::U32,
            (8, false) => Self::U64,
            (1, true) => Self::I8,
            (2, true) => Self::I16,
            (4, true) => Self::I32,
            (8, true) => Self::I64,
            _ => return None,
        })
    }
}

/// `char NAME[N]`, or the same of bytes. N is a number or a name of C.
fn fixed_array(field: &Field<'_>) -> Option<Kind> {
    let text = field.declaration.strip_suffix(']')?;
    let (text, count) = text.rsplit_once('[')?;
    let is_count = |b: u8| b == b'_' || b.is_ascii_alphanumeric();
    if count.is_empty() || !count.bytes().all(is_count) || field.len == 0 {
        return None;
    }
    let (element, _) = text.rsplit_once(' ')?;
    let (len, is_signed) = (field.len, field.is_signed);
    match element.trim_ascii() {
        element if BYTE_TYPES.contains(&element) => Some(Kind::Bytes { len, is_signed }),
        element if element.ends_with("char") => Some(Kind::Text(len)),
        _ => None,
    }
}

/// The kind of a field that holds an address, if it has eight bytes or not.
fn pointer(text: &str, name: &str, pointers: Pointers) -> Option<fn(bool) -> Kind> {
    if text.contains("char[] ") || text.contains("char * ") {
        return Some(|is_wide| Kind::Printk { is_wide });
    }
    let is_address = match pointers {
        Pointers::Hidden => text.contains('*') || is_code(text, name),
        Pointers::Shown => text.starts_with("void*") || text.starts_with("void *"),
    };
    is_address.then_some(|is_wide| Kind::Address { is_wide })
}

/// Whether an integer of this declaration and name is a place in the kernel's code.
fn is_code(text: &str, name: &str) -> bool {
    let is_name = matches!(name, "ip" | "call_site")
        || name.starts_with("caller")
        || name.starts_with("func");
    is_name && text.strip_suffix(name).is_some_and(|element| element == "unsigned long ")
}

#[cfg(test)]
mod tests;
