//! Random messages cover every field and extension, singular and merged.

use differential::cases;
use differential::entropy::Taste;
use differential::peers::Reflect;
use std::cell::RefCell;
use std::collections::BTreeSet;

fn meets_all(name: &str) {
    let reflect = Reflect::new(name);
    let taste = Taste { merged: true, groups: true, extensions: true, ..Taste::TAME };
    let fields = reflect.0.fields().map(|field| field.number());
    let mut missing: BTreeSet<u32> =
        fields.chain(reflect.0.extensions().map(|e| e.number())).collect();
    let all = missing.len();
    assert!(all > 3);
    let met = RefCell::new(BTreeSet::new());
    cases(&reflect.0, taste, |bytes| {
        let message = reflect.decode(bytes)?;
        let mut met = met.borrow_mut();
        met.extend(message.fields().map(|(field, _)| field.number()));
        met.extend(message.extensions().map(|(extension, _)| extension.number()));
        Ok(())
    });
    missing.retain(|number| !met.borrow().contains(number));
    assert!(missing.is_empty(), "{name}: of {all} fields never met: {missing:?}");
}

#[test]
fn proto2() {
    meets_all("sink.two.Sink");
}

#[test]
fn proto3() {
    meets_all("sink.three.Sink");
}

#[test]
fn required() {
    meets_all("sink.two.Must");
}

#[test]
fn mixed() {
    meets_all("sink.mixed.Sink");
}
