use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Group, Spacing, TokenStream, TokenTree};
use proptest::prelude::*;
use syn::ext::IdentExt as _;

use super::{
    FIELD, READER, TABLE, VARIABLES, VIEW, WRITER, base, declared, enumeration, is_reserved,
    member, module, oneof, setter, setter_gather, setter_raw,
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
fn an_enum_is_never_taken_for_a_variable() {
    for (path, name) in [
        ("value", "value_"),
        ("value_", "value___"),
        ("drop", "drop_"),
        ("point", "point"),
        ("Value", "Value"),
        ("Order.value", "Order_value"),
    ] {
        assert_eq!(enumeration(&parts(path)), name, "{path}");
    }
    // A message has no such constructor, and a package none at all.
    assert_eq!((declared(&parts("value")), module("value")), ("value".into(), "value".into()));
}

/// What the code of `file` binds where `macro_rules!` of ours, or `quote!`, says so.
fn variables(file: &Path, all: &mut BTreeSet<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    bodies(text.parse().unwrap(), all);
}

/// Looks for these macros.
fn bodies(tokens: TokenStream, all: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let word = |back: usize| at.checked_sub(back).map(|at| tokens[at].to_string());
        let is = |back: usize, text: &str| word(back).is_some_and(|word| word == text);
        let exported = is(3, "macro_rules") && word(1).is_some_and(|name| name.starts_with("__"));
        if exported || is(2, "quote") && is(1, "!") {
            bound(group.stream(), all);
        } else {
            bodies(group.stream(), all);
        }
    }
}

/// An enum in lower case that is at the top of its file has such a name.
fn can_be_enum(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains('_')
}

/// What a pattern binds, such as `(value)` or `[first, ..]`.
fn pattern(group: &Group, all: &mut BTreeSet<String>) {
    let tokens: Vec<_> = group.stream().into_iter().collect();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string() == text);
    // The arm of a macro has words of its own.
    if (0..tokens.len()).any(|at| is(at, "$") && is(at + 2, ":")) {
        return;
    }
    let words = tokens.iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.unraw().to_string()),
        _ => None,
    });
    all.extend(words.filter(|word| can_be_enum(word) && word != "ref" && word != "mut"));
}

/// Arguments, what follows `let`, `for` or the bar of a closure, and what is in a pattern.
fn bound(tokens: TokenStream, all: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is_bar = |token: Option<&TokenTree>| token.is_some_and(|token| token.to_string() == "|");
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(word) = token else {
            if let TokenTree::Group(group) = token {
                bound(group.stream(), all);
                let equals = tokens.get(at + 1).map(ToString::to_string);
                let is_two = tokens.get(at + 2).is_some_and(|token| token.to_string() == "=");
                if equals.is_some_and(|text| text == "=" || text == "in") && !is_two {
                    pattern(group, all);
                }
            }
            continue;
        };
        let before = at.checked_sub(1).map_or(String::new(), |at| tokens[at].to_string());
        let is_argument = matches!(tokens.get(at + 1), Some(TokenTree::Punct(colon))
            if colon.as_char() == ':' && colon.spacing() == Spacing::Alone)
            && !["$", "#", "'", ":"].contains(&before.as_str());
        let is_closure = before == "|" && is_bar(tokens.get(at + 1));
        let is_let = before == "let"
            || before == "for"
            || before == "mut" && at > 1 && tokens[at - 2].to_string() == "let";
        let name = word.unraw().to_string();
        if (is_argument || is_closure || is_let) && can_be_enum(&name) {
            all.insert(name);
        }
    }
}

#[test]
fn the_list_of_variables_has_all() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = BTreeSet::new();
    for file in ["enumeration", "owned", "view", "writer", "accessors/mod", "defaults", "extension"]
    {
        variables(&here.join(format!("src/emit/{file}.rs")), &mut all);
    }
    let macros = [
        "rt",
        "enumeration",
        "named",
        "descriptor",
        "owned/owned_macro",
        "owned/view_macro",
        "owned/compact_macro",
        "decode/reader_macro",
    ];
    for file in macros {
        variables(&here.join(format!("../protozero/src/{file}.rs")), &mut all);
    }
    all.remove("mut");
    // An argument, a variable, one of a closure, and two in patterns.
    for name in ["bytes", "entry", "old", "value", "first"] {
        assert!(all.contains(name), "{name} is not in {all:?}");
    }
    // Types after `for` are reserved for all declarations.
    let is_free = |name: &str| !VARIABLES.contains(&name) && !is_reserved(name);
    let missing: Vec<_> = all.iter().filter(|name| is_free(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
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
        "Option", "self", "u32", "value",
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
            take(enumeration(path), full.clone())?;
            for end in [WRITER, READER, FIELD, TABLE, VIEW] {
                take(format!("{}{end}", base(path)), format!("{end} of {full}"))?;
            }
            take(oneof(path, "a"), format!("a oneof of {full}"))?;
            take(oneof(path, "a_Borrowed"), format!("a borrowed oneof of {full}"))?;
        }
    }
}
