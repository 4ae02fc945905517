use crate::ftrace::schema::Kind as To;
use crate::ftrace::table::kind::{Element, Kind};
use crate::ftrace::table::plan::{Integer, Range, What};

use super::{GenericType, generic, known};

const TYPES: [To; 6] = [To::U32, To::U64, To::I32, To::I64, To::String, To::Bytes];

/// What the kind becomes in a field of each of [`TYPES`].
#[track_caller]
fn check(kind: Kind, wanted: [Option<What>; 6]) {
    assert_eq!(TYPES.map(|to| known(kind, to)), wanted, "{kind:?}");
}

fn within(from: Integer, to: Range) -> Option<What> {
    Some(What::Within { from, to })
}

#[test]
fn integers() {
    use Integer as I;
    let all = |what| [Some(what), Some(what), Some(what), Some(what), None, None];
    check(Kind::Integer(I::U8), all(What::U8));
    check(Kind::Integer(I::U16), all(What::U16));
    check(Kind::Bool, all(What::U8));
    let u32 = Some(What::U32);
    check(Kind::Integer(I::U32), [u32, u32, within(I::U32, Range::I32), u32, None, None]);
    let narrow = |from, to| within(from, to);
    check(
        Kind::Integer(I::U64),
        [
            narrow(I::U64, Range::U32),
            Some(What::U64),
            narrow(I::U64, Range::I32),
            narrow(I::U64, Range::I64),
            None,
            None,
        ],
    );
    for (from, what) in [(I::I8, What::I8), (I::I16, What::I16), (I::I32, What::I32)] {
        let signed = Some(what);
        check(
            Kind::Integer(from),
            [narrow(from, Range::U32), narrow(from, Range::U64), signed, signed, None, None],
        );
    }
    check(
        Kind::Integer(I::I64),
        [
            narrow(I::I64, Range::U32),
            narrow(I::I64, Range::U64),
            narrow(I::I64, Range::I32),
            Some(What::I64),
            None,
            None,
        ],
    );
}

#[test]
fn strings_and_bytes() {
    let text = |text, bytes| [None, None, None, None, Some(text), bytes];
    check(Kind::Text(16), text(What::Text(16), Some(What::Bytes(16))));
    check(Kind::TextToEnd, text(What::TextToEnd, None));
    check(Kind::Printk { is_wide: true }, text(What::Printk64, None));
    check(Kind::Printk { is_wide: false }, text(What::Printk32, None));
    for of in [Element::Text, Element::Byte, Element::Other] {
        let absolute = Kind::Array { is_relative: false, of };
        check(absolute, text(What::TextAt, Some(What::BytesAt)));
        let relative = Kind::Array { is_relative: true, of };
        check(relative, text(What::TextAfter, Some(What::BytesAfter)));
    }
    check(Kind::Array { is_relative: false, of: Element::Address }, [None; 6]);
    let bytes = |len, is_signed| Kind::Bytes { len, is_signed };
    check(bytes(16, false), text(What::Text(16), Some(What::Bytes(16))));
    let (four, eight) = (Some(What::U32), Some(What::U64));
    let within = |from, to| within(from, to);
    check(
        bytes(4, false),
        [
            four,
            four,
            within(Integer::U32, Range::I32),
            four,
            Some(What::Text(4)),
            Some(What::Bytes(4)),
        ],
    );
    assert_eq!(known(bytes(8, false), To::U64), eight);
    assert_eq!(known(bytes(8, true), To::I64), Some(What::I64));
}

#[test]
fn numbers_with_a_meaning() {
    let pid = Some(What::Pid);
    let (u32, u64) = (within(Integer::I32, Range::U32), within(Integer::I32, Range::U64));
    check(Kind::Pid, [u32, u64, pid, pid, None, None]);
    for (is_wide, inode, device, address, six) in [
        (false, What::Inode32, What::Device32, What::Address32, What::Six32),
        (true, What::Inode64, What::Device64, What::Address64, What::Six64),
    ] {
        assert_eq!(known(Kind::Inode { is_wide }, To::U64), Some(inode));
        check(Kind::Device { is_wide }, [None, Some(device), None, None, None, None]);
        let index = Some(address);
        check(Kind::Address { is_wide }, [index, index, index, index, None, None]);
        check(Kind::Arguments { is_wide }, [None, Some(six), None, None, None, None]);
    }
    let inode = Kind::Inode { is_wide: true };
    assert_eq!(known(inode, To::U32), within(Integer::U64, Range::U32));
    let inode = Kind::Inode { is_wide: false };
    assert_eq!(known(inode, To::U32), Some(What::U32));
}

#[test]
fn generic_events_take_the_widest() {
    use GenericType::{Bytes, I64, String, U64};
    for (kind, wanted) in [
        (Kind::Text(16), (What::Text(16), String)),
        (Kind::TextToEnd, (What::TextToEnd, String)),
        (Kind::Printk { is_wide: true }, (What::Printk64, String)),
        (Kind::Array { is_relative: true, of: Element::Text }, (What::TextAfter, String)),
        (Kind::Array { is_relative: false, of: Element::Byte }, (What::BytesAt, Bytes)),
        (Kind::Array { is_relative: false, of: Element::Other }, (What::BytesAt, Bytes)),
        (Kind::Bytes { len: 4, is_signed: false }, (What::Bytes(4), Bytes)),
        (Kind::Integer(Integer::I8), (What::I8, I64)),
        (Kind::Integer(Integer::I64), (What::I64, I64)),
        (Kind::Integer(Integer::U8), (What::U8, U64)),
        (Kind::Integer(Integer::U64), (What::U64, U64)),
        (Kind::Pid, (What::Pid, I64)),
        (Kind::Bool, (What::U8, U64)),
        (Kind::Inode { is_wide: true }, (What::Inode64, U64)),
        (Kind::Device { is_wide: false }, (What::Device32, U64)),
        (Kind::Address { is_wide: true }, (What::Address64, U64)),
    ] {
        assert_eq!(generic(kind), Some(wanted), "{kind:?}");
    }
    assert_eq!(generic(Kind::Arguments { is_wide: true }), None);
    assert_eq!(generic(Kind::Array { is_relative: false, of: Element::Address }), None);
}
