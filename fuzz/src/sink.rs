//! A message with every construct, derived; `sink.proto` is the same for dynamic messages.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use protozero::dynamic::{MessageDescriptor, Pool};
use protozero::{Enumeration, Message, Oneof, UnknownFields};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "fuzz.Open", values(ZERO = 0, ONE = 1, MINUS = -1))]
pub struct Open(pub i32);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "fuzz.Closed")]
pub enum Closed {
    #[default]
    #[pb(name = "FIRST")]
    First = 1,
    #[pb(name = "SECOND")]
    Second = 2,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
pub struct Sink {
    #[pb(int32, 1)]
    pub int32: Option<i32>,
    #[pb(int64, 2)]
    pub int64: Option<i64>,
    #[pb(uint32, 3)]
    pub uint32: Option<u32>,
    #[pb(uint64, 4)]
    pub uint64: Option<u64>,
    #[pb(sint32, 5)]
    pub sint32: Option<i32>,
    #[pb(sint64, 6)]
    pub sint64: Option<i64>,
    #[pb(fixed32, 7)]
    pub fixed32: Option<u32>,
    #[pb(fixed64, 8)]
    pub fixed64: Option<u64>,
    #[pb(sfixed32, 9)]
    pub sfixed32: Option<i32>,
    #[pb(sfixed64, 10)]
    pub sfixed64: Option<i64>,
    #[pb(float, 11)]
    pub float: Option<f32>,
    #[pb(double, 12)]
    pub double: Option<f64>,
    #[pb(bool, 13)]
    pub bool: Option<bool>,
    #[pb(string, 14)]
    pub string: Option<String>,
    #[pb(bytes, 15)]
    pub bytes: Option<Vec<u8>>,
    #[pb(enumeration, 16)]
    pub open: Option<Open>,
    #[pb(enumeration, 17)]
    pub closed: Option<Closed>,
    #[pb(uint32, 18)]
    pub plain: u32,
    #[pb(string, 19)]
    pub plain_string: String,
    #[pb(message, 20, boxed)]
    pub child: Option<Box<Sink>>,
    #[pb(group, 21, boxed)]
    pub delimited: Option<Box<Sink>>,
    #[pb(message, 22, repeated)]
    pub children: Vec<Sink>,
    #[pb(group, 23, repeated)]
    pub groups: Vec<Sink>,
    #[pb(uint64, 24, packed)]
    pub packed: Vec<u64>,
    #[pb(sint32, 25, repeated)]
    pub expanded: Vec<i32>,
    #[pb(double, 26, packed)]
    pub doubles: Vec<f64>,
    #[pb(enumeration, 27, packed)]
    pub closeds: Vec<Closed>,
    #[pb(string, 28, repeated)]
    pub strings: Vec<String>,
    #[pb(oneof, 30, 31, 32, 33, 34)]
    pub choice: Option<Choice>,
    #[pb(map(string, int32), 40)]
    pub counts: BTreeMap<String, i32>,
    #[pb(map(int32, message), 41)]
    pub sinks: BTreeMap<i32, Sink>,
    #[pb(map(bool, bytes), 42)]
    pub flags: BTreeMap<bool, Vec<u8>>,
    #[pb(map(uint64, enumeration), 43)]
    pub opens: BTreeMap<u64, Open>,
    #[pb(unknown)]
    pub unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
pub enum Choice {
    #[pb(uint32, 30)]
    Number(u32),
    #[pb(string, 31)]
    Text(String),
    #[pb(message, 32, boxed)]
    Message(Box<Sink>),
    #[pb(group, 33, boxed)]
    Group(Box<Sink>),
    #[pb(enumeration, 34)]
    Pick(Closed),
}

/// `fuzz.Sink`, from `sink.proto`.
pub fn descriptor() -> MessageDescriptor {
    static SINK: OnceLock<MessageDescriptor> = OnceLock::new();
    let make = || {
        let text = include_str!("sink.proto").to_owned();
        let source = protozero_codegen::Source { path: "sink.proto".to_owned(), text };
        let set = protozero_codegen::descriptor_set(&[source]).expect("it is a schema");
        Pool::decode(&set).expect("it resolves").message("fuzz.Sink").expect("it is there")
    };
    SINK.get_or_init(make).clone()
}
