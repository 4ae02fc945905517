use crate::ftrace::format::Format;
use crate::ftrace::recorded;
use crate::ftrace::table::plan::Integer;

use super::{Element, Kind, Pointers};

const ADDRESS: Kind = Kind::Address { is_wide: true };
const PRINTK: Kind = Kind::Printk { is_wide: true };
const U64: Kind = Kind::Integer(Integer::U64);

/// The kind of a field of an event in `group`.
fn kind_in(group: &str, declaration: &str, len: u16, pointers: Pointers) -> Option<Kind> {
    let text = format!(
        "name: e\nID: 1\nfield:int common_x;offset:0;size:4;signed:1;\n\
         field:{declaration};offset:8;size:{len};signed:{};",
        i32::from(["int ", "s8 "].iter().any(|signed| declaration.starts_with(signed)))
    );
    let format = Format::parse(text.as_bytes()).unwrap();
    Kind::of(&format.fields[0], group, pointers)
}

#[track_caller]
fn check(declaration: &str, len: u16, wanted: impl Into<Option<Kind>>) {
    let kind = kind_in("g", declaration, len, Pointers::Hidden);
    assert_eq!(kind, wanted.into(), "{declaration}, {len}");
}

fn array(is_relative: bool, of: Element) -> Kind {
    Kind::Array { is_relative, of }
}

#[test]
fn arrays_of_characters_are_strings() {
    check("char comm[16]", 16, Kind::Text(16));
    check("char comm[TASK_COMM_LEN]", 16, Kind::Text(16));
    check("const char name[3]", 3, Kind::Text(3));
    check("char buf[]", 0, Kind::TextToEnd);
    check("char buf", 0, Kind::TextToEnd);
    check("char c", 1, Kind::Integer(Integer::U8));
    // Nothing says how long it is.
    check("u8 buf[]", 0, None);
    check("char buf[0]", 0, Kind::TextToEnd);
}

/// Upstream drops them, unless they have the length of an integer; `unsigned char` it takes for text.
#[test]
fn arrays_of_bytes_are_bytes() {
    let bytes = |len, is_signed| Kind::Bytes { len, is_signed };
    for element in ["u8", "__u8", "uint8_t", "unsigned char"] {
        check(&format!("{element} fsid[16]"), 16, bytes(16, false));
        check(&format!("{element} saddr[4]"), 4, bytes(4, false));
        check(&format!("{element} a[1]"), 1, bytes(1, false));
    }
    check("s8 a[2]", 2, bytes(2, true));
    check("u8 a[0]", 0, None);
    check("u16 a[3]", 6, None);
    check("u32 a[2]", 8, U64);
    check("unsigned long hist[4]", 32, None);
}

#[test]
fn arrays_elsewhere_are_found_from_both_ends() {
    for (prefix, relative) in [("__data_loc", false), ("__rel_loc", true)] {
        let check = |element: &str, of| {
            check(&format!("{prefix} {element} a"), 4, array(relative, of));
        };
        check("char[]", Element::Text);
        for element in ["u8[]", "__u8[]", "unsigned char[]"] {
            check(element, Element::Byte);
        }
        for element in ["u64[]", "unsigned int[]", "cpumask_t", "long[]"] {
            check(element, Element::Other);
        }
        check("unsigned long[]", Element::Address);
        check("void *[]", Element::Address);
    }
    check("__data_loc char[] a", 8, None);
    check("__rel_loc char[] a", 2, None);
    let shown = kind_in("g", "__data_loc unsigned long[] a", 4, Pointers::Shown);
    assert_eq!(shown, Some(array(false, Element::Other)));
}

#[test]
fn arguments_of_system_calls() {
    check("unsigned long args[6]", 48, Kind::Arguments { is_wide: true });
    check("unsigned long args[6]", 24, Kind::Arguments { is_wide: false });
    check("unsigned long args[6]", 8, None);
    check("unsigned long args[5]", 40, None);
}

#[test]
fn pointers_are_addresses() {
    check("const char * reason", 8, PRINTK);
    check("char[] name", 8, PRINTK);
    check("const char * reason", 4, Kind::Printk { is_wide: false });
    check("const char * reason", 2, None);
    for pointer in ["void * p", "void* p", "const void * p", "struct page * p", "u64 * p"] {
        check(pointer, 8, ADDRESS);
        check(pointer, 4, Kind::Address { is_wide: false });
        check(pointer, 16, None);
    }
    for code in ["ip", "call_site", "caller", "caller_ip", "func", "function"] {
        check(&format!("unsigned long {code}"), 8, ADDRESS);
        check(&format!("u64 {code}"), 8, U64);
    }
    for number in ["__probe_ip", "address", "ips", "call_sites", "nr_func"] {
        check(&format!("unsigned long {number}"), 8, U64);
    }
}

#[test]
fn upstreams_addresses_are_an_option() {
    let check = |declaration: &str, wanted| {
        let kind = kind_in("g", declaration, 8, Pointers::Shown);
        assert_eq!(kind, Some(wanted), "{declaration}");
    };
    check("void * p", ADDRESS);
    check("void* p", ADDRESS);
    check("const char * p", PRINTK);
    for number in ["const void * p", "struct page * p", "unsigned long ip"] {
        check(number, U64);
    }
}

/// Pointers that a system call gets are addresses in the process that calls, not in the kernel.
#[test]
fn pointers_of_system_calls_are_numbers() {
    for pointer in ["const char * path", "void * p", "struct stat * p", "unsigned long func"] {
        for pointers in [Pointers::Hidden, Pointers::Shown] {
            let kind = kind_in("syscalls", pointer, 8, pointers);
            assert_eq!(kind, Some(U64), "{pointer}");
        }
    }
}

#[test]
fn types_with_a_meaning() {
    check("bool is_x", 1, Kind::Bool);
    check("bool is_x", 8, U64);
    check("ino_t ino", 8, Kind::Inode { is_wide: true });
    check("ino_t ino", 4, Kind::Inode { is_wide: false });
    check("i_ino ino", 8, Kind::Inode { is_wide: true });
    check("unsigned long i_ino", 8, U64);
    check("dev_t dev", 4, Kind::Device { is_wide: false });
    check("dev_t dev", 8, Kind::Device { is_wide: true });
    check("dev_t dev", 2, Kind::Integer(Integer::U16));
    check("pid_t pid", 4, Kind::Pid);
    check("pid_t pid", 8, U64);
}

#[test]
fn integers_have_a_size_and_a_sign() {
    let all = [
        (1, Integer::U8, Integer::I8),
        (2, Integer::U16, Integer::I16),
        (4, Integer::U32, Integer::I32),
        (8, Integer::U64, Integer::I64),
    ];
    for (len, unsigned, signed) in all {
        check("enum x a", len, Kind::Integer(unsigned));
        check("int a", len, Kind::Integer(signed));
    }
    for len in [0, 3, 5, 16, 65527] {
        check("struct x a", len, None);
    }
}

/// What upstream drops, mangles or tells on a whole kernel, and what this does instead.
#[test]
fn a_kernels_formats() {
    let formats = &*recorded::FORMATS;
    assert_eq!(formats.len(), 2323);
    let (mut fields, mut dropped, mut bytes, mut as_number, mut pointers, mut arrays) =
        (0, 0, 0, 0, 0, 0);
    for ((group, name), text) in formats {
        let format = Format::parse(text).unwrap_or_else(|| panic!("{group}/{name}"));
        assert_eq!(format.common.len(), 4, "{group}/{name}");
        fields += format.fields.len();
        for field in &format.fields {
            match Kind::of(field, group, Pointers::Hidden) {
                None => dropped += 1,
                Some(Kind::Bytes { len: 1 | 2 | 4 | 8, .. }) => as_number += 1,
                Some(Kind::Bytes { .. }) => bytes += 1,
                Some(Kind::Array { of: Element::Other | Element::Address, .. }) => arrays += 1,
                Some(Kind::Address { .. } | Kind::Integer(Integer::U64))
                    if field.declaration.contains('*')
                        && !field.declaration.contains("char * ")
                        && !field.declaration.starts_with("void *") =>
                {
                    pointers += 1;
                }
                Some(_) => {}
            }
        }
    }
    // Upstream drops 167: these nine, and all longer arrays of bytes but four of `unsigned char`, which it takes for
    // text. It writes the addresses of 391 pointers, and 12 arrays up to their first byte that is zero.
    assert_eq!([fields, dropped, bytes, as_number, pointers, arrays], [11802, 9, 162, 30, 391, 12]);
}
