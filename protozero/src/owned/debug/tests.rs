//! Messages print as structs with a derived `Debug`, which stand beside them here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::{UnknownFields, rt};

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Mode(i32);

impl crate::Enumeration for Mode {
    const NAME: &'static str = "shop.Mode";
    const VALUES: &'static [(&'static str, i32)] = &[("MODE_OFF", 0), ("MODE_ON", 1)];
    fn from_i32(number: i32) -> Self {
        Self(number)
    }
    fn to_i32(self) -> i32 {
        self.0
    }
}

impl Debug for Mode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        rt::debug_enum(*self, f)
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Way {
    Road(u32),
    Sea(Box<Full>),
}

rt::oneof! { Way;
    Road = 3 as Uint32;
    Sea = 9 as Nested(Box<Full>);
}

#[derive(Clone, PartialEq, Default)]
struct Full {
    mode: Mode,
    r#type: Option<String>,
    way: Option<Way>,
    words: BTreeMap<String, Mode>,
    inner: Vec<Full>,
    unknown_fields: UnknownFields,
}

// Another field has a number between those of the oneof.
rt::owned! { Full;
    oneof_high way = 9..=9;
    repeated inner = 5 as Nested(Full);
    map words = 4 as Text, Enum(Mode);
    oneof_low way = 3..=3;
    optional r#type = 2 as Text;
    implicit mode = 1 as Enum(Mode);
}

#[derive(PartialEq, Default)]
struct Small {
    #[cfg(any())]
    absent: Option<u32>,
    raw: Option<Vec<u8>>,
    unknown_fields: UnknownFields,
}

rt::compact! { Small;
    #[cfg(any())]
    optional absent = 2 as Uint32;
    optional raw = 1 as Bytes;
}

#[derive(Clone, PartialEq, Default)]
struct Empty {
    unknown_fields: UnknownFields,
}

rt::owned! { Empty; }

#[derive(Clone, PartialEq, Default)]
struct Dropping {
    x: i32,
}

rt::owned! { Dropping without unknown_fields;
    implicit x = 1 as Int32;
}

/// The same structs with a derived `Debug`.
mod derived {
    #![allow(dead_code, reason = "only `Debug` reads the fields")]

    use super::*;

    #[derive(Debug)]
    pub(super) struct Full {
        pub mode: Mode,
        pub r#type: Option<String>,
        pub way: Option<Way>,
        pub words: BTreeMap<String, Mode>,
        pub inner: Vec<Full>,
    }

    #[derive(Debug)]
    pub(super) struct Small {
        pub raw: Option<Vec<u8>>,
    }

    #[derive(Debug)]
    pub(super) struct Empty {}

    #[derive(Debug)]
    pub(super) struct Dropping {
        pub x: i32,
    }
}

fn check(message: &dyn Debug, derived: &dyn Debug) {
    assert_eq!(format!("{message:?}"), format!("{derived:?}"));
    assert_eq!(format!("{message:#?}"), format!("{derived:#?}"));
}

#[test]
fn messages_print_as_derived() {
    let words = || BTreeMap::from([("a".into(), Mode(1)), ("b".into(), Mode(7))]);
    let message = Full {
        mode: Mode(1),
        r#type: Some("t".into()),
        way: Some(Way::Road(4)),
        words: words(),
        inner: Vec::from([Full::default()]),
        ..Full::default()
    };
    let inner = derived::Full {
        mode: Mode(0),
        r#type: None,
        way: None,
        words: BTreeMap::new(),
        inner: Vec::new(),
    };
    let reference = derived::Full {
        mode: Mode(1),
        r#type: Some("t".into()),
        way: Some(Way::Road(4)),
        words: words(),
        inner: Vec::from([inner]),
    };
    check(&message, &reference);
    let raw = Some(Vec::from([1, 2]));
    check(&Small { raw: raw.clone(), ..Small::default() }, &derived::Small { raw });
    check(&Empty::default(), &derived::Empty {});
    check(&Dropping { x: -1 }, &derived::Dropping { x: -1 });
    let empty = Full { way: Some(Way::Sea(Box::default())), ..Full::default() };
    assert!(format!("{empty:?}").contains("way: Some(Sea(Full { mode: MODE_OFF, type: None, "));
}

#[test]
fn unknown_fields_print_number_and_size() {
    let mut message = Small::default();
    message.unknown_fields.push_varint(7, 300);
    message.unknown_fields.push_bytes(8, b"hidden");
    assert_eq!(format!("{message:?}"), "Small { raw: None, unknown_fields: [#7: 3 B, #8: 8 B] }");
    let mut message = Empty::default();
    message.unknown_fields.push_varint(1, 0);
    assert_eq!(
        format!("{message:#?}"),
        "Empty {\n    unknown_fields: [\n        #1: 2 B,\n    ],\n}"
    );
}
