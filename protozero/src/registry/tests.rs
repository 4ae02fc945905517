//! Descriptors of types: one for each, and what an added type changes.

use std::string::ToString;

use super::{NameTaken, Registry};
use crate::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
use crate::dynamic::{DynamicMessage, Pool, SetError};
use crate::named::Named;

macro_rules! types {
    ($($name:ident = $full:literal: $fields:expr;)*) => {$(
        struct $name;
        impl $name {
            const DESCRIPTOR: &'static MessageDescriptor = &MessageDescriptor::new($full, $fields);
        }
        impl Named for $name {
            const FULL_NAME: &'static str = $full;
            const SCHEMA: Option<&'static MessageDescriptor> = Some(Self::DESCRIPTOR);
        }
    )*};
}

types! {
    Order = "shop.Order": &[FieldDescriptor::optional("item", 1, crate::descriptor::of!(Item))];
    Item = "shop.Item": &[FieldDescriptor::optional("name", 1, Kind::String)];
    // As `shop.Item`, in another version of the schema.
    NewItem = "shop.Item": &[FieldDescriptor::optional("title", 1, Kind::String)];
    Note = "shop.Note": &[FieldDescriptor::optional("text", 1, Kind::String)];
    // As `shop.Item`, in another crate, with the same schema.
    SameItem = "shop.Item": &[FieldDescriptor::optional("name", 1, Kind::String)];
    // As `shop.Order`, but for what is in it.
    NewOrder = "shop.Order": &[FieldDescriptor::optional("item", 1, crate::descriptor::of!(NewItem))];
    // One name with two meanings in one type.
    Mixed = "shop.Mixed": &[
        FieldDescriptor::optional("new", 1, crate::descriptor::of!(NewItem)),
        FieldDescriptor::optional("order", 2, crate::descriptor::of!(Order)),
    ];
    Any = "google.protobuf.Any": &[
        FieldDescriptor::optional("type_url", 1, Kind::String),
        FieldDescriptor::optional("value", 2, Kind::Bytes),
    ];
    Letter = "shop.Letter": &[FieldDescriptor::optional("content", 1, crate::descriptor::of!(Any))];
    Parcel = "shop.Parcel": &[
        FieldDescriptor::optional("letter", 1, crate::descriptor::of!(Letter)),
        FieldDescriptor::optional("note", 2, crate::descriptor::of!(Note)),
    ];
}

fn has(of: &Pool, name: &str) -> bool {
    of.message(name).is_some()
}

#[test]
fn a_descriptor_is_built_once() {
    let registry = Registry::new();
    let first = registry.descriptor::<Order>();
    assert_eq!(first.full_name(), "shop.Order");
    assert_eq!(registry.descriptor::<Order>(), first);
    assert!(first.pool().message("shop.Item").is_some());
    assert_eq!(Order::descriptor(), Order::descriptor());
    assert_eq!(Order::type_url(), "type.googleapis.com/shop.Order");
}

#[test]
fn an_added_type_is_in_every_pool() {
    let registry = Registry::new();
    let before = registry.descriptor::<Order>();
    assert!(before.pool().message("shop.Note").is_none());
    assert!(registry.message("shop.Note").is_none());
    registry.add::<Note>().unwrap();
    registry.add::<Note>().unwrap();
    assert!(registry.descriptor::<Order>().pool().message("shop.Note").is_some());
    assert_eq!(registry.message("shop.Note").unwrap().name(), "Note");
    let of_url = registry.message_of_url("example.com/a/shop.Note").unwrap();
    assert_eq!(of_url.full_name(), "shop.Note");
    assert!(registry.message_of_url("shop.Note").is_none());
    // A descriptor that exists stays valid.
    DynamicMessage::new(before).message_mut("item").unwrap().set("name", "x").unwrap();
    assert_eq!(std::format!("{registry:?}"), r#"{"shop.Note"}"#);
}

#[test]
fn schemas_with_equal_names_do_not_mix() {
    let registry = Registry::new();
    registry.add::<NewItem>().unwrap();
    let taken = registry.add::<Item>().unwrap_err();
    assert_eq!(taken, NameTaken { full_name: "shop.Item" });
    assert!(taken.to_string().contains("shop.Item"));
    let item = |of: crate::dynamic::MessageDescriptor| of.pool().message("shop.Item").unwrap();
    assert!(item(registry.descriptor::<Order>()).field("name").is_some());
    assert!(item(registry.descriptor::<Item>()).field("name").is_some());
    assert!(item(registry.descriptor::<NewItem>()).field("title").is_some());
    assert!(item(registry.descriptor::<Note>()).field("title").is_some());
    assert!(registry.message("shop.Item").unwrap().field("title").is_some());
}

#[test]
fn a_field_descriptor_selects_the_field_in_every_pool() {
    let registry = Registry::new();
    let name = registry.descriptor::<Item>().field("name").unwrap();
    let item = registry.descriptor::<Order>().field("item").unwrap();
    registry.add::<Note>().unwrap();
    let mut message = DynamicMessage::new(registry.descriptor::<Order>());
    message.message_mut(&item).unwrap().set(&name, "x").unwrap();
    assert!(message.has("item") && message.has(&item));
    let inner = message.message_mut("item").unwrap();
    assert_eq!(inner.get(&name), inner.get("name"));
    assert!(inner.clear(&name).is_some());

    // Another message, and another name of the number.
    assert!(!message.has(&name));
    let mut renamed = DynamicMessage::new(registry.descriptor::<NewItem>());
    renamed.set("title", "x").unwrap();
    assert_eq!(renamed.get(&name), None);
    assert_eq!(renamed.set(&name, "y"), Err(SetError::NoField));
}

#[test]
fn types_of_one_schema_share_a_pool() {
    let registry = Registry::new();
    let order = registry.descriptor::<Order>();
    let item = order.pool().message("shop.Item");
    assert_eq!(Some(registry.descriptor::<Item>()), item);
    assert_eq!(Some(registry.descriptor::<SameItem>()), item);
    // Added types have that in which names are found.
    registry.add::<Note>().unwrap();
    registry.add::<Order>().unwrap();
    let name = |name: &str| registry.message(name).unwrap();
    assert_eq!(registry.descriptor::<Order>(), name("shop.Order"));
    assert_eq!(registry.descriptor::<Item>(), name("shop.Item"));
    assert_eq!(registry.descriptor::<Note>(), name("shop.Note"));
    assert_ne!(Some(registry.descriptor::<Item>()), item);
}

#[test]
fn a_type_whose_names_mean_something_else_has_a_pool_of_its_own() {
    let field = |of: &crate::dynamic::MessageDescriptor| {
        let item = of.pool().message("shop.Item").unwrap();
        item.fields().next().unwrap().name().to_string()
    };
    let registry = Registry::new();
    let mixed = registry.descriptor::<Mixed>();
    let order = registry.descriptor::<Order>();
    let new_order = registry.descriptor::<NewOrder>();
    let new_item = registry.descriptor::<NewItem>();
    assert_eq!([&mixed, &order, &new_order].map(field), ["title", "name", "title"]);
    assert_ne!(mixed.pool().message("shop.Order"), Some(order.clone()));
    assert_ne!(mixed.pool().message("shop.Item"), Some(new_item.clone()));
    assert_eq!(new_order.pool().message("shop.Item"), Some(new_item));
    // The pool of all added types is mixed, and nobody's.
    registry.add::<Mixed>().unwrap();
    registry.add::<Order>().unwrap();
    let order = registry.descriptor::<Order>();
    assert_ne!(Some(&order), registry.message("shop.Order").as_ref());
    assert_eq!(field(&order), "name");
}

/// What the text of an `Any` may name does not depend on the types that were used before.
#[test]
fn a_type_with_an_any_knows_what_was_added() {
    let registry = Registry::new();
    let parcel = registry.descriptor::<Parcel>();
    assert!(has(parcel.pool(), "shop.Letter") && has(parcel.pool(), "shop.Note"));
    assert!(!has(registry.descriptor::<Letter>().pool(), "shop.Note"));
    registry.add::<Parcel>().unwrap();
    assert_eq!(Some(registry.descriptor::<Letter>()), registry.message("shop.Letter"));
}

#[test]
fn threads_get_one_descriptor() {
    let registry = Registry::new();
    let all = std::thread::scope(|scope| {
        let ask =
            |_| scope.spawn(|| (registry.descriptor::<Order>(), registry.message("shop.Note")));
        let threads: std::vec::Vec<_> = (0..4).map(ask).collect();
        registry.add::<Note>().unwrap();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<std::vec::Vec<_>>()
    });
    let order = registry.descriptor::<Order>();
    assert!(has(order.pool(), "shop.Note"));
    assert!(all.iter().all(|(of, _)| *of == order || !has(of.pool(), "shop.Note")));
}
