//! What decoding may allocate, for inputs of which each part takes little.

use protozero::{
    DecodeContext, DecodeErrorKind, DecodeMemory, DecodeOptions, Message, MessageView,
    UnknownFields, rt,
};

/// Lists of a message without fields, whose struct is a pointer.
macro_rules! lists {
    ($module:ident, $message:ident $(, $clone:ident)?) => {
        mod $module {
            use super::*;

            #[derive($($clone,)? PartialEq, Default)]
            pub struct Empty {
                pub unknown_fields: UnknownFields,
            }

            rt::$message! { Empty; }

            #[derive($($clone,)? PartialEq, Default)]
            pub struct List {
                pub all: Vec<Empty>,
                pub unknown_fields: UnknownFields,
            }

            rt::$message! { List;
                repeated all = 1 as Nested(Empty);
            }
        }
    };
}

lists!(plain, owned, Clone);
lists!(small, compact);

#[derive(Clone, PartialEq, Default)]
struct View<'a> {
    all: Vec<View<'a>>,
    name: Option<&'a str>,
    unknown_fields: UnknownFields,
}

rt::view! { View<'a>, "it.View";
    repeated all = 2 as Nested(View<'a>);
    optional name = 1 as Utf8View(&'a str);
}

/// Four megabytes: a million elements, each with a field that the schema lacks.
fn elements() -> Vec<u8> {
    b"\x0a\x02\x08\x01".repeat(1 << 20)
}

/// The kind of the error if `bytes` may take `memory` bytes of memory.
fn refused<M: Message>(bytes: &[u8], memory: usize) -> Option<DecodeErrorKind> {
    DecodeOptions::new().memory_max(memory).decode::<M>(bytes).err().map(|error| error.kind)
}

#[test]
fn messages_with_only_unknown_fields_are_counted() {
    let bytes = elements();
    let too_much = Some(DecodeErrorKind::TooMuchMemory);
    assert_eq!(refused::<plain::List>(&bytes, 32 << 20), too_much);
    assert_eq!(refused::<small::List>(&bytes, 32 << 20), too_much);
    // A few are not.
    assert_eq!(refused::<plain::List>(&bytes[..4 << 10], 1 << 20), None);
    assert_eq!(refused::<small::List>(&bytes[..4 << 10], 1 << 20), None);
}

#[test]
fn messages_without_fields_are_counted() {
    let bytes = b"\x0a\0".repeat(1 << 10);
    let (enough, little) = (8 << 10, (8 << 10) - 1);
    for (memory, expected) in [(enough, None), (little, Some(DecodeErrorKind::TooMuchMemory))] {
        assert_eq!(refused::<plain::List>(&bytes, memory), expected);
        assert_eq!(refused::<small::List>(&bytes, memory), expected);
    }
}

/// The first unknown field of a message takes two blocks of memory. The content is as long as in the input, and is not
/// counted, as that of a known field.
#[test]
fn the_first_unknown_field_is_counted() {
    let bytes = b"\x10\x01".repeat(1 << 10);
    let enough = 2 * size_of::<[usize; 4]>();
    for (memory, expected) in [(enough, None), (enough - 1, Some(DecodeErrorKind::TooMuchMemory))] {
        assert_eq!(refused::<plain::List>(&bytes, memory), expected);
        assert_eq!(refused::<small::List>(&bytes, memory), expected);
        let unknown = b"\x18\x01".repeat(1 << 10);
        let view = DecodeOptions::new().memory_max(memory).decode_view::<View<'_>>(&unknown);
        assert_eq!(view.err().map(|error| error.kind), expected);
    }
}

#[test]
fn views_have_the_limits_of_the_program() {
    let bytes = b"\x12\0".repeat(1 << 10);
    let enough = size_of::<View<'_>>() << 10;
    let within = |memory| DecodeOptions::new().memory_max(memory).decode_view::<View<'_>>(&bytes);
    assert_eq!(within(enough).unwrap().all.len(), 1 << 10);
    let error = within(enough - 1).map(drop).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooMuchMemory);
    assert_eq!((error.path(), error.offset), ("it.View.all[1023]", 2046));

    let memory = DecodeMemory::new(enough);
    let mut view = View::default();
    view.merge_within(&bytes, DecodeContext::new().with_growth(&memory)).unwrap();
    assert_eq!(memory.left(), 0);

    let nested = b"\x12\x02\x12\0";
    let deep = |levels| DecodeOptions::new().depth_max(levels).decode_view::<View<'_>>(nested);
    assert_eq!(deep(1).unwrap_err().kind, DecodeErrorKind::TooDeep);
    assert_eq!(deep(2), View::decode(nested));
}

/// A number that a closed enum does not have is an unknown field.
#[cfg(feature = "derive")]
#[test]
fn numbers_that_an_enum_lacks_are_counted() {
    #[derive(Clone, Copy, PartialEq, Debug, Default, protozero::Enumeration)]
    enum Switch {
        #[default]
        Off = 0,
    }

    #[derive(Clone, PartialEq, Debug, Default, Message)]
    struct Switches {
        #[pb(enumeration, 1, repeated)]
        all: Vec<Switch>,
        #[pb(unknown)]
        unknown_fields: UnknownFields,
    }

    // One packed field: a length of 1024, and as many numbers of one byte.
    let bytes = [&b"\x0a\x80\x08"[..], &[7; 1 << 10]].concat();
    let enough = 2 * (1 << 10) + 2 * size_of::<[usize; 4]>();
    assert_eq!(refused::<Switches>(&bytes, enough), None);
    let mut switches = Switches::default();
    let refused = DecodeOptions::new().memory_max(enough - 1).merge(&mut switches, &bytes);
    assert_eq!(refused.unwrap_err().kind, DecodeErrorKind::TooMuchMemory);
    assert_eq!(switches, Switches::default(), "an error leaves nothing of its field");
}
