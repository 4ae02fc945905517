//! The libraries, and the order that they print and parse.

use std::collections::BTreeMap;

use protozero::Message as _;
use protozero::dynamic::MessageDescriptor;
use protozero::json::{self, ParseOptions, PrintOptions};
use serde::{Deserialize, Serialize};

/// Code of our generator.
#[allow(dead_code, unused_imports, missing_docs, clippy::all)]
mod ours {
    include!(concat!(env!("OUT_DIR"), "/ours/mod.rs"));
}

/// Code of prost and pbjson.
#[allow(clippy::all)]
mod theirs {
    include!(concat!(env!("OUT_DIR"), "/theirs/shop.rs"));
    include!(concat!(env!("OUT_DIR"), "/theirs/shop.serde.rs"));
}

/// Structs that somebody writes who needs no protobuf.
mod derived {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum Status {
        StatusUnspecified,
        StatusPending,
        StatusShipped,
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Address {
        pub name: String,
        pub street: String,
        pub city: String,
        pub postal_code: String,
        pub country_code: String,
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Item {
        pub sku: String,
        pub title: String,
        pub quantity: u32,
        pub unit_price: f64,
        pub discount_percent: i32,
        pub tags: Vec<String>,
        pub attributes: BTreeMap<String, String>,
        pub is_gift: bool,
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Order {
        pub order_id: String,
        pub created_ms: i64,
        pub customer_id: u64,
        pub status: Status,
        pub billing_address: Address,
        pub shipping_address: Address,
        pub items: Vec<Item>,
        pub total_price: f64,
        pub currency: String,
        pub warehouse_ids: Vec<i32>,
        pub note: Option<String>,
        pub counters: BTreeMap<String, i32>,
    }
}

/// The order in the form of each library.
pub struct Work {
    descriptor: MessageDescriptor,
    wire: Vec<u8>,
    ours: ours::shop::Order,
    theirs: theirs::Order,
    derived: derived::Order,
    /// What we print, and pbjson: 64-bit integers are in quotes.
    text: String,
    /// What serde_json prints of the derived structs.
    derived_text: String,
}

impl Work {
    pub fn new() -> Self {
        let derived = order();
        let derived_text = serde_json::to_string(&derived).unwrap();
        let theirs: theirs::Order = serde_json::from_str(&derived_text).unwrap();
        let descriptor = MessageDescriptor::from(ours::shop::Order::DESCRIPTOR);
        let wire = prost::Message::encode_to_vec(&theirs);
        let ours = ours::shop::Order::decode(&wire).unwrap();
        let text = serde_json::to_string(&theirs).unwrap();
        Self { descriptor, wire, ours, theirs, derived, text, derived_text }
    }

    /// Checks that all libraries read the same order.
    pub fn compare(&self) {
        let text = json::print_bytes(&self.descriptor, &self.wire, &PrintOptions::default());
        let ours: theirs::Order = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(ours, self.theirs, "we print another order");
        let wire = json::parse(&self.descriptor, self.text.as_bytes(), &ParseOptions::default());
        let ours: theirs::Order = prost::Message::decode(&*wire.unwrap()).unwrap();
        assert_eq!(ours, self.theirs, "we parse another order");
        let len = self.ours.encode_to_vec().len();
        assert_eq!(self.ours.encoded_len(), len, "we count another length");
        // prost leaves zeros out of the entries of maps: one, of two bytes.
        assert_eq!(prost::Message::encoded_len(&self.theirs), len - 2, "prost counts another");
        let derived: derived::Order = serde_json::from_str(&self.derived_text).unwrap();
        assert_eq!(derived, self.derived, "serde_json parses another order");
    }
}

/// A library: functions that print and parse, and return how many bytes of JSON or values they made. And one for the
/// length of the encoded order alone, where the library has it.
pub struct Contender {
    pub name: &'static str,
    pub print: fn(&Work) -> usize,
    pub parse: fn(&Work) -> usize,
    pub length: Option<fn(&Work) -> usize>,
}

pub fn all() -> Vec<Contender> {
    vec![
        Contender {
            name: "protozero, bytes",
            print: print_bytes,
            parse: parse_bytes,
            length: None,
        },
        Contender {
            name: "protozero, owned",
            print: print_owned,
            parse: parse_owned,
            length: Some(|work| work.ours.encoded_len()),
        },
        Contender {
            name: "pbjson 0.9 with prost 0.14",
            print: print_pbjson,
            parse: parse_pbjson,
            length: Some(|work| prost::Message::encoded_len(&work.theirs)),
        },
        Contender {
            name: "serde_json 1, derived",
            print: print_derived,
            parse: parse_derived,
            length: None,
        },
    ]
}

fn print_bytes(work: &Work) -> usize {
    json::print_bytes(&work.descriptor, &work.wire, &PrintOptions::default()).unwrap().len()
}

fn parse_bytes(work: &Work) -> usize {
    json::parse(&work.descriptor, work.text.as_bytes(), &ParseOptions::default()).unwrap().len()
}

fn print_owned(work: &Work) -> usize {
    json::to_string(&work.ours).unwrap().len()
}

fn parse_owned(work: &Work) -> usize {
    let order: ours::shop::Order = json::from_str(&work.text).unwrap();
    order.items.len()
}

fn print_pbjson(work: &Work) -> usize {
    serde_json::to_string(&work.theirs).unwrap().len()
}

fn parse_pbjson(work: &Work) -> usize {
    let order: theirs::Order = serde_json::from_str(&work.text).unwrap();
    order.items.len()
}

fn print_derived(work: &Work) -> usize {
    serde_json::to_string(&work.derived).unwrap().len()
}

fn parse_derived(work: &Work) -> usize {
    let order: derived::Order = serde_json::from_str(&work.derived_text).unwrap();
    order.items.len()
}

/// An order of about 2.2 KB of JSON.
fn order() -> derived::Order {
    let address = |name: &str, street: &str| derived::Address {
        name: name.into(),
        street: street.into(),
        city: "Z\u{fc}rich".into(),
        postal_code: "8004".into(),
        country_code: "CH".into(),
    };
    let item = |n: u32, title: &str, unit_price: f64| derived::Item {
        sku: format!("SKU-{:06}-{}", 417_311 + 977 * n, n % 3),
        title: title.into(),
        quantity: 1 + n % 4,
        unit_price,
        discount_percent: [0, 10, 15][n as usize % 3],
        tags: vec!["kitchen".into(), "stainless steel".into(), "new".into()],
        attributes: [("color", "graphite"), ("material", "18/10 steel"), ("warranty", "24 months")]
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
        is_gift: n == 2,
    };
    derived::Order {
        order_id: "9f1c2d7e-5b1a-4f0e-9a61-2f3f0d9f7c11".into(),
        created_ms: 1_767_225_599_123,
        customer_id: 9_007_199_254_740_993,
        status: derived::Status::StatusShipped,
        billing_address: address("Anna Meier", "Langstrasse 112, 3rd floor"),
        shipping_address: address("Anna Meier, c/o M\u{fc}ller AG", "Badenerstrasse 9"),
        items: vec![
            item(0, "Espresso maker for the stove, 6 cups, \"classic\"", 39.95),
            item(1, "Frying pan 28 cm, induction, riveted handle", 84.5),
            item(2, "Set of four kitchen knives in a block of walnut", 219.0),
            item(3, "Kettle 1.7 l with temperature control", 64.9),
            item(4, "Measuring spoons, set of five", 12.35),
            item(5, "Cast iron casserole with lid, 4.2 l", 149.99),
        ],
        total_price: 1027.73,
        currency: "CHF".into(),
        warehouse_ids: vec![3, 17, 204, -1],
        note: Some("Ring twice.\nLeave it with the neighbours on the second floor.".into()),
        counters: [("views", 12), ("reminders", 2), ("edits", 0)]
            .map(|(key, value)| (key.into(), value))
            .into(),
    }
}
