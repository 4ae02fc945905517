//! What a schema gains changes no name that it had: random schemas grow by random edits, and each path of the code
//! before an edit is there after it. `tests/outside/grown` compiles programs that use such names.

mod grow;
mod paths;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use grow::{Edit, Schema, apply, generated, sources};
use paths::{Path, paths};

#[test]
fn no_edit_takes_a_name() {
    let edits = prop::collection::vec(any::<Edit>(), 1..60);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() };
    let done = std::cell::Cell::new(0);
    let outcome = TestRunner::new(config).run(&edits, |edits| {
        let mut schema = Schema::new();
        let mut before = BTreeSet::<Path>::new();
        for edit in edits {
            let mut next = schema.clone();
            apply(&mut next, edit);
            // An edit that makes the schema invalid is not made.
            let Some(files) = generated(&next) else { continue };
            let after = paths(&files);
            let lost: Vec<_> = before.difference(&after).collect();
            prop_assert!(lost.is_empty(), "{lost:?} of\n{:#?}", sources(&next));
            (schema, before) = (next, after);
            done.set(done.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(done.get() > 300, "most edits were invalid: {} were made", done.get());
}
