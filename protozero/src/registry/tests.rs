//! Descriptors of types: one for each, and what an added type changes.

use std::string::ToString;

use super::{NameTaken, Registry};
use crate::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
use crate::dynamic::{DynamicMessage, SetError};
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
