//! Masks on messages of the crate.

use core::cell::Cell;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use protozero::dynamic::MessageDescriptor;
use protozero::{DecodeError, Message as _, Reflect, Registry, WriteError};

use super::{MaskError, MergeOptions};
use crate::google::protobuf::{Option_, SourceContext, Type};
use crate::{Any, FieldMask, Timestamp};

fn context(name: &str) -> SourceContext {
    SourceContext { file_name: name.into(), ..Default::default() }
}

fn option(name: &str) -> Option_ {
    let value = Any { type_url: "u/x".into(), value: vec![1], ..Default::default() };
    Option_ { name: name.into(), value: Some(value), ..Default::default() }
}

fn ty() -> Type {
    Type {
        name: "n".into(),
        edition: "e".into(),
        options: vec![option("a")],
        source_context: Some(context("f")),
        ..Default::default()
    }
}

#[test]
fn only_the_fields_of_the_mask_stay() {
    let mut message = ty();
    message.unknown_fields.push_varint(100, 1);
    FieldMask::new(["name", "source_context.file_name", "options"]).apply(&mut message).unwrap();
    assert_eq!(message, Type { edition: String::new(), ..ty() });
    FieldMask::new(["source_context"]).apply(&mut message).unwrap();
    assert_eq!(message, Type { source_context: Some(context("f")), ..Default::default() });
    FieldMask::default().apply(&mut message).unwrap();
    assert_eq!(message, Type::default());
}

#[test]
fn merging_adds_unless_it_is_told_to_replace() {
    let mut source = ty();
    source.options = vec![option("b")];
    source.edition.clear();
    source.source_context = Some(SourceContext::default());
    let mask = FieldMask::new(["edition", "options", "source_context"]);

    let mut target = ty();
    mask.merge(&source, &mut target, MergeOptions::default()).unwrap();
    let options = vec![option("a"), option("b")];
    assert_eq!(target, Type { edition: String::new(), options, ..ty() });

    let mut target = ty();
    let replace = MergeOptions { replace_messages: true, replace_repeated: true };
    mask.merge(&source, &mut target, replace).unwrap();
    let expected = Type { name: "n".into(), ..source.clone() };
    assert_eq!(target, expected);

    let mut target = ty();
    mask.merge(&Type::default(), &mut target, replace).unwrap();
    assert_eq!(target, Type { name: "n".into(), ..Default::default() });
    let mut target = ty();
    mask.merge(&Type::default(), &mut target, MergeOptions::default()).unwrap();
    assert_eq!(target, Type { edition: String::new(), ..ty() });
}

#[test]
fn a_path_into_a_message_changes_nothing_else() {
    let mask = FieldMask::new(["source_context.file_name"]);
    let mut target = ty();
    mask.merge(&Type::default(), &mut target, MergeOptions::default()).unwrap();
    assert_eq!(target, Type { source_context: Some(SourceContext::default()), ..ty() });
    let mut target = Type::default();
    mask.merge(&Type::default(), &mut target, MergeOptions::default()).unwrap();
    assert_eq!(target, Type::default());
    mask.merge(&ty(), &mut target, MergeOptions::default()).unwrap();
    assert_eq!(target, Type { source_context: Some(context("f")), ..Default::default() });
}

#[test]
fn wrong_paths_are_errors() {
    let check = |path: &str| FieldMask::new([path]).check::<Type>().unwrap_err();
    let text = "the mask has the path `source_context.x`, but google.protobuf.SourceContext has no such field";
    assert_eq!(check("source_context.x").to_string(), text);
    let text = "the mask leads into `options`, which is not a singular message";
    assert_eq!(check("options.name").to_string(), text);
    assert!(matches!(check("name.x"), MaskError::NoMessage { .. }));
    assert!(matches!(check(""), MaskError::NoField { .. }));
    assert!(matches!(check("source_context."), MaskError::NoField { .. }));
    assert_eq!(check(&vec!["a"; 101].join(".")), MaskError::TooDeep);
    assert!(matches!(check(&vec!["a"; 100].join(".")), MaskError::NoField { .. }));

    let mut target = ty();
    let other =
        FieldMask::new(["name"]).merge(&Timestamp::default(), &mut target, MergeOptions::default());
    assert!(matches!(other, Err(MaskError::Message(_))));
    assert_eq!(target.encode_to_vec(), ty().encode_to_vec());
}

/// Only what a path names whole keeps its unknown fields.
#[test]
fn unknown_fields_belong_to_the_message_that_has_them() {
    let mut known = ty();
    known.unknown_fields.push_varint(100, 1);
    known.options[0].value.as_mut().unwrap().unknown_fields.push_varint(101, 1);
    let inner = known.source_context.as_mut().unwrap();
    inner.unknown_fields.push_varint(102, 1);
    let whole = Type {
        source_context: known.source_context.clone(),
        options: known.options.clone(),
        ..Type::default()
    };
    let part = Type { source_context: Some(context("f")), ..Type::default() };
    let replace = MergeOptions { replace_messages: true, replace_repeated: true };
    for (paths, expected) in
        [(&["source_context", "options"][..], &whole), (&["source_context.file_name"][..], &part)]
    {
        let mask = FieldMask::new(paths.iter().copied());
        let mut message = known.clone();
        mask.apply(&mut message).unwrap();
        assert_eq!(&message, expected, "{paths:?}");
        for options in [replace, MergeOptions::default()] {
            let mut target = Type::default();
            mask.merge(&known, &mut target, options).unwrap();
            assert_eq!(&target, expected, "{paths:?} {options:?}");
        }
        // Into a message that is there.
        let mut target = Type { source_context: Some(SourceContext::default()), ..Type::default() };
        mask.merge(&known, &mut target, MergeOptions::default()).unwrap();
        assert_eq!(&target, expected, "{paths:?}");
    }
}

/// A type is added to its registry between the first and the second question for its descriptor.
struct Growing {
    registry: Registry,
    questions: Cell<u32>,
    message: Type,
}

impl Reflect for Growing {
    fn message_type(&self) -> MessageDescriptor {
        self.questions.set(self.questions.get() + 1);
        if self.questions.get() == 2 {
            self.registry.add::<Timestamp>().unwrap();
        }
        self.registry.descriptor::<Type>()
    }

    fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        self.message.to_bytes()
    }

    fn assign_bytes(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        self.message.assign_bytes(bytes)
    }
}

#[test]
fn a_type_that_is_added_during_a_merge_changes_nothing() {
    let message = Type { edition: "2023".into(), ..Type::default() };
    let mut target = Growing { registry: Registry::new(), questions: Cell::new(0), message };
    let mask = FieldMask::new(["edition", "source_context"]);
    mask.merge(&ty(), &mut target, MergeOptions::default()).unwrap();
    let (edition, source_context) = ("e".into(), Some(context("f")));
    assert_eq!(target.message, Type { edition, source_context, ..Type::default() });
}
