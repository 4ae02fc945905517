//! Compact messages against the others: the same bytes, values and errors.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use protozero::{Message, ReadError, UnknownFields, rt};

/// The same message with either macro.
macro_rules! both {
    ($module:ident, $message:ident, $oneof:ident $(, $clone:ident)?) => {
        mod $module {
            use super::*;

            #[derive($($clone,)? PartialEq, Default)]
            pub struct Node {
                pub name: Option<String>,
                pub number: Option<i64>,
                pub yes: Option<bool>,
                pub runs: Vec<u32>,
                pub tags: Vec<String>,
                pub child: Option<Box<Node>>,
                pub shared: Option<Arc<Node>>,
                pub children: Vec<Node>,
                pub pick: Option<Pick>,
                pub unknown_fields: UnknownFields,
            }

            #[derive(Clone, PartialEq, Debug)]
            pub enum Pick {
                Color(u32),
                Text(String),
                Node(Box<Node>),
            }

            rt::$message! { Node;
                oneof_high pick = 11..=11;
                optional shared = 10 as Nested(Arc<Node>);
                oneof_low pick = 8..=9;
                repeated children = 7 as Nested(Node);
                optional child = 6 as Nested(Box<Node>);
                repeated tags = 5 as Text;
                packed runs = 4 as Uint32;
                optional yes = 3 as Bool;
                optional number = 2 as Sint64;
                optional name = 1 as Text;
            }

            rt::$oneof! { Pick;
                Color = 8 as Fixed32;
                Text = 9 as Text;
                Node = 11 as Nested(Box<Node>);
            }
        }
    };
}

both!(plain, owned, oneof, Clone);
both!(small, compact, compact_oneof);

/// Bytes that are often a message: fields of the numbers above with every wire type.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let field = (1..13_u8, 0..6_u8, vec(0..20_u8, 0..9)).prop_map(|(number, wire, body)| {
        let mut out = vec![number << 3 | wire];
        match wire {
            0 => out.push(body.len() as u8),
            1 => out.extend([7; 8]),
            5 => out.extend([7; 4]),
            2 => {
                out.push(body.len() as u8);
                out.extend(body);
            }
            _ => {}
        }
        out
    });
    vec(field, 0..8).prop_map(|fields| fields.concat())
}

/// `bytes` as the content of a child, a repeated child and a member of the oneof.
fn wrapped(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u8;
    [6, 7, 10, 10, 6, 11, 11]
        .iter()
        .flat_map(|n| [&[n << 3 | 2, len][..], bytes].concat())
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let mut reader = protozero::Reader::new(bytes);
    std::iter::from_fn(|| reader.next_field().unwrap()).map(|field| field.number).collect()
}

fn check(bytes: &[u8]) {
    let (plain, small) = (plain::Node::decode(bytes), small::Node::decode(bytes));
    match (plain, small) {
        (Ok(plain), Ok(small)) => {
            assert_eq!(format!("{plain:?}"), format!("{small:?}"));
            assert_eq!(plain.encode_to_vec(), small.encode_to_vec());
            assert_eq!(small.clone(), small);
            let bytes = small.encode_to_vec();
            assert_eq!([plain.encoded_len(), small.encoded_len()], [bytes.len(); 2]);
            let known: Vec<u32> =
                numbers(&bytes[..bytes.len() - small.unknown_fields.as_bytes().len()]);
            assert!(known.is_sorted(), "{known:?}");
        }
        // Their paths differ: a compact message has no names.
        (plain, small) => {
            assert_eq!(plain.err().map(ReadError::from), small.err().map(ReadError::from));
        }
    }
}

proptest! {
    #[test]
    fn compact_messages_are_as_the_others(bytes in bytes()) {
        check(&bytes);
        if bytes.len() < 128 {
            check(&wrapped(&bytes));
        }
    }
}

#[test]
fn the_deepest_message_is_read_and_one_level_more_is_not() {
    let nested = |levels: usize| {
        (0..levels).fold(Vec::new(), |inner, _| {
            let outer = small::Node {
                child: Some(Box::new(small::Node::decode(&inner).unwrap_or_default())),
                ..small::Node::default()
            };
            outer.try_encode_to_vec().unwrap_or_default()
        })
    };
    check(&nested(100));
    assert!(small::Node::decode(&nested(100)).is_ok());
    let mut too_deep = Vec::new();
    for _ in 0..101 {
        let mut outer = vec![6 << 3 | 2];
        let mut len = too_deep.len();
        while len >= 0x80 {
            outer.push(len as u8 | 0x80);
            len >>= 7;
        }
        outer.push(len as u8);
        outer.extend(&too_deep);
        too_deep = outer;
    }
    assert!(small::Node::decode(&too_deep).is_err());
    check(&too_deep);
}
