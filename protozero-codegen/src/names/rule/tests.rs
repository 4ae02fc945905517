use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    FIELD, READER, TABLE, VIEW, WRITER, base, declared, member, module, oneof, setter,
    setter_gather, setter_raw,
};

fn parts(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

#[test]
fn names_are_those_of_the_schema() {
    for (path, name) in [
        ("Order", "Order"),
        ("Order.Item", "Order_Item"),
        ("point", "point"),
        ("Order.Item.Part", "Order_Item_Part"),
        // What is derived from `Order` has these.
        ("OrderWriter", "OrderWriter_"),
        ("OrderReader", "OrderReader_"),
        ("OrderBorrowed", "OrderBorrowed_"),
        ("Order.PayOneof", "Order_PayOneof_"),
        // And nothing has these.
        ("Writer", "Writer"),
        ("Order.Writer", "Order_Writer"),
        ("OrderField", "OrderField"),
        ("NamedTable", "NamedTable"),
        // Underscores.
        ("Order_Item", "Order__Item"),
        ("Order._Item", "Order_0Item"),
        ("_Order", "__Order"),
        ("point_2", "point__2_"),
        // Names of Rust, and of what is generated.
        ("Option", "Option_"),
        ("Option_", "Option___"),
        ("u32", "u32_"),
        ("rt", "rt_"),
    ] {
        assert_eq!(declared(&parts(path)), name, "{path}");
    }
    for (part, name) in [
        ("shop", "shop"),
        ("order_items", "order_items"),
        ("v1beta1", "v1beta1"),
        ("type", "type"),
        ("self", "self_"),
        ("protozero", "protozero_"),
        ("Order_Item", "Order__Item"),
        ("OrderWriter", "OrderWriter_"),
    ] {
        assert_eq!(module(part), name, "{part}");
    }
    assert_eq!(oneof(&parts("Order"), "paid_by"), "Order_PaidByOneof");
    assert_eq!(oneof(&parts("Order"), "_1"), "Order_01Oneof");
}

#[test]
fn a_setter_is_never_that_of_another_field() {
    for (field, name) in [
        ("data", "data"),
        ("raw", "raw"),
        ("_raw", "_raw"),
        ("data_raw", "data_raw_"),
        ("data_raw_", "data_raw__"),
        ("data_gather", "data_gather_"),
        ("append", "append"),
        ("append_raw", "append_raw_"),
        ("append_field", "append_field_"),
        ("from_scope", "from_scope_"),
        ("scope_mut", "scope_mut_"),
        ("into", "into_"),
        ("into_", "into__"),
        ("try_into", "try_into_"),
    ] {
        assert_eq!(setter(field.into()), name);
    }
    for (plain, raw) in
        [("data", "data_raw"), ("append", "append__raw"), ("append_", "append___raw")]
    {
        assert_eq!(setter_raw(plain), raw);
    }
    assert_eq!(setter_gather("data"), "data_gather");
}

#[test]
fn a_member_never_has_a_reserved_name() {
    for (field, name) in [
        ("data", "data"),
        ("data_", "data_"),
        ("bytes", "bytes_"),
        ("bytes_", "bytes__"),
        ("self", "self_"),
        ("self_", "self__"),
        ("_self", "_self"),
        ("type", "type"),
        ("_", "__"),
        ("__", "___"),
    ] {
        assert_eq!(member(field.into(), &["bytes"]), name);
    }
}

/// Names of fields that are likely to meet.
fn field() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "_", "__", "raw", "_raw", "gather", "_gather", "append", "_field", "into",
    ]);
    prop::collection::vec(word, 1..5).prop_map(|words| words.concat())
}

/// Names that are likely to meet.
fn part() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "A", "a", "Writer", "Reader", "Field", "Table", "Borrowed", "Oneof", "_", "__", "0", "rt",
        "Option", "self", "u32",
    ]);
    let first = |s: &String| !s.starts_with(|c: char| c.is_ascii_digit());
    prop::collection::vec(word, 1..4).prop_map(|words| words.concat()).prop_filter("a name", first)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// In one writer, no name is that of two setters. An underscore alone is a keyword, which others change.
    #[test]
    fn no_two_setters_have_one_name(
        fields in prop::collection::btree_set(field().prop_filter("a name", |f| f != "_"), 1..24),
    ) {
        let of_writers =
            ["append_raw", "append_field", "from_scope", "into", "scope_mut", "try_into"];
        let mut taken: BTreeMap<String, &str> = of_writers.map(|name| (name.into(), "every")).into();
        for field in &fields {
            let plain = setter(field.clone());
            for name in [setter_raw(&plain), setter_gather(&plain), plain] {
                let other = taken.insert(name.clone(), field);
                prop_assert!(other.is_none(), "{other:?} and {field} are both {name}");
            }
        }
    }

    /// In one package, no name is that of two items.
    #[test]
    fn no_two_items_have_one_name(
        types in prop::collection::btree_set(prop::collection::vec(part(), 1..3), 1..24),
        packages in prop::collection::btree_set(part(), 1..8),
    ) {
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        let mut take = |name: String, item: String| {
            let other = taken.insert(name.clone(), item.clone());
            prop_assert!(other.is_none(), "{other:?} and {item} are both {name}");
            Ok(())
        };
        // The schema has one scope for packages, messages and enums.
        for package in packages.iter().filter(|p| !types.contains(&vec![(*p).clone()])) {
            take(module(package), format!("package {package}"))?;
        }
        for path in &types {
            let full = path.join(".");
            take(declared(path), full.clone())?;
            for end in [WRITER, READER, FIELD, TABLE, VIEW] {
                take(format!("{}{end}", base(path)), format!("{end} of {full}"))?;
            }
            take(oneof(path, "a"), format!("a oneof of {full}"))?;
            take(oneof(path, "a_Borrowed"), format!("a borrowed oneof of {full}"))?;
        }
    }
}
