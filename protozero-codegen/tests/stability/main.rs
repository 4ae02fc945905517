//! What a schema gains changes no name that it had, and no type of a field: random schemas grow by random edits, and
//! each path of the code before an edit is there after it. `tests/outside/grown` compiles programs that use such names.
//! The only exception is documented: messages that contain each other are in boxes, unless all are.

mod grow;
mod paths;

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use grow::{Edit, METHODS, Schema, apply, generated, sources};
use paths::{Path, paths};
use protozero_codegen::{ApiKinds, Config, Source, generate};

/// What the schemas of a test had.
#[derive(Default)]
struct Seen {
    edits: Cell<usize>,
    imports: Cell<usize>,
    maps: Cell<usize>,
    /// Fields with the name of a setter that another one may derive.
    raws: Cell<usize>,
    /// Structs and variants with a box.
    boxes: Cell<usize>,
}

impl Seen {
    fn counts(&self) -> [usize; 4] {
        [&self.imports, &self.maps, &self.raws, &self.boxes].map(Cell::get)
    }
}

/// Lets schemas grow until they had everything. No edit may take a name, or change a type.
fn grow(is_boxed: bool) {
    let seen = Seen::default();
    // One round has everything but for 1 of some hundred.
    for round in 0..10 {
        grow_some(is_boxed, &seen);
        let edits = seen.edits.get();
        assert!(edits > 200 * (round + 1), "most edits were invalid: {edits} were made");
        if !seen.counts().contains(&0) {
            return;
        }
    }
    panic!("imports, maps, names of setters, boxes: {:?}", seen.counts());
}

fn grow_some(is_boxed: bool, seen: &Seen) {
    let edits = prop::collection::vec(any::<Edit>(), 20..90);
    let config = ProptestConfig { cases: 10, failure_persistence: None, ..Default::default() };
    let add = |to: &Cell<usize>, count: usize| to.set(to.get() + count);
    let outcome = TestRunner::new(config).run(&edits, |edits| {
        let mut schema = Schema::new();
        let mut before = BTreeSet::<Path>::new();
        for edit in edits {
            let mut next = schema.clone();
            apply(&mut next, edit);
            // An edit that makes the schema invalid is not made.
            let Some(files) = generated(&next, is_boxed) else { continue };
            let found = paths(&files);
            let boxes = found.iter().filter(|path| format!("{path:?}").contains("Box<")).count();
            let after: BTreeSet<Path> = match is_boxed {
                true => found,
                false => found.into_iter().map(Path::without_boxes).collect(),
            };
            let lost: Vec<_> = before.difference(&after).collect();
            prop_assert!(lost.is_empty(), "{lost:?} of\n{:#?}", sources(&next));
            (schema, before) = (next, after);
            add(&seen.edits, 1);
            add(&seen.boxes, boxes);
        }
        let text: String = sources(&schema).into_iter().map(|source| source.text).collect();
        add(&seen.imports, text.matches("import").count());
        add(&seen.maps, text.matches("map<").count());
        add(&seen.raws, text.matches("_raw = ").count().min(text.matches("_gather = ").count()));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn no_edit_takes_a_name_or_changes_a_type_but_for_its_box() {
    grow(false);
}

#[test]
fn no_edit_changes_a_type_if_all_messages_are_in_boxes() {
    grow(true);
}

/// In proto2, two fields may differ in underscores alone. The added one stands above the other.
#[test]
fn no_field_takes_the_name_of_one_with_another_underscore() {
    let of = |fields: &str| {
        let text = format!("syntax = \"proto2\"; message M {{ {fields} }}");
        let sources = vec![Source { path: "m.proto".into(), text }];
        let api_kinds = ApiKinds { view: true, ..ApiKinds::ALL };
        paths(&generate(&Config { sources, api_kinds, ..Config::default() }).unwrap())
    };
    let keywords = ["_", "Self", "super", "crate"];
    for name in METHODS.iter().copied().chain(keywords) {
        for old in
            [format!("optional int32 {name}_ = 1;"), format!("oneof {name}_ {{ int32 a = 1; }}")]
        {
            let (before, after) = (of(&old), of(&format!("optional int64 {name} = 2; {old}")));
            let is_name =
                |path: &&Path| matches!(path, Path::Setter(..) | Path::Getter(..) | Path::Type(..));
            let mut names = before.iter().filter(is_name).peekable();
            assert!(names.peek().is_some());
            let lost: Vec<_> = names.filter(|path| !after.contains(path)).collect();
            assert!(lost.is_empty(), "{name}: {lost:?}\n{after:#?}");
        }
    }
}
