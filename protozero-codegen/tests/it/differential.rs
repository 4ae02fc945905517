//! Compares generated code with rust-protobuf's *dynamic* messages of the same `.proto`: random messages pass through
//! owned messages, readers and writers, and stay equal.

use proptest::prelude::*;
use protobuf::reflect::{
    FileDescriptor, MessageDescriptor, ReflectEqMode, ReflectValueBox, RuntimeFieldType,
    RuntimeType,
};
use protobuf::{MessageDyn, UnknownValue};
use protozero::{HeapSink, Message, Writer};

use crate::golden::cases::{self, ScalarsReaderField as S, TreeReaderField as T};
use crate::sources::sources;

/// Descriptors of the cases, from rust-protobuf's parser and reflection.
pub(crate) fn descriptor(name: &str) -> MessageDescriptor {
    let folder = tempfile::tempdir().unwrap();
    let mut parser = protobuf_parse::Parser::new();
    parser.pure().include(folder.path());
    // That parser cannot resolve groups inside groups.
    let known = |path: &str| !path.contains('/') && path != "extensions.proto";
    for source in sources().iter().filter(|s| known(&s.path)) {
        let path = folder.path().join(&source.path);
        std::fs::write(&path, &source.text).unwrap();
        parser.input(path);
    }
    let protos = parser.parse_and_typecheck().unwrap().file_descriptors;
    FileDescriptor::new_dynamic_fds(protos, &[])
        .unwrap()
        .iter()
        .find_map(|file| file.message_by_full_name(&format!(".{name}")))
        .unwrap()
}

/// Random bytes in a slice, so that proptest can shrink it. After its end, every byte is zero.
struct Entropy<'a>(&'a [u8]);

impl Entropy<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// Produces small, huge and negative values.
    fn word(&mut self) -> u64 {
        let len = usize::from(self.byte() % 9);
        let value = (0..len).fold(0, |v, _| v << 8 | u64::from(self.byte()));
        if self.byte() % 4 == 3 { value.wrapping_neg() } else { value }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.byte() % 12;
        (0..len).map(|_| self.byte()).collect()
    }

    fn value(&mut self, kind: &RuntimeType, depth: u32) -> ReflectValueBox {
        let word = self.word();
        match kind {
            RuntimeType::I32 => (word as i32).into(),
            RuntimeType::I64 => (word as i64).into(),
            RuntimeType::U32 => (word as u32).into(),
            RuntimeType::U64 => word.into(),
            // Any number except NaN, which is not equal to itself.
            RuntimeType::F32 => (word as i32 as f32 / 8.0).into(),
            RuntimeType::F64 => (word as i64 as f64 / 8.0).into(),
            RuntimeType::Bool => (word & 1 == 1).into(),
            RuntimeType::String => String::from_utf8_lossy(&self.bytes()).into_owned().into(),
            RuntimeType::VecU8 => self.bytes().into(),
            RuntimeType::Enum(e) => {
                let known: Vec<i32> = e.values().map(|v| v.value()).collect();
                ReflectValueBox::Enum(e.clone(), known[word as usize % known.len()])
            }
            RuntimeType::Message(m) => ReflectValueBox::Message(self.message(m, depth + 1)),
        }
    }

    fn message(&mut self, of: &MessageDescriptor, depth: u32) -> Box<dyn MessageDyn> {
        let mut message = of.new_instance();
        for field in of.fields() {
            // At deep levels, and after the last byte, messages stay small.
            if !field.is_required() && (depth > 3 || self.byte().is_multiple_of(3)) {
                continue;
            }
            match field.runtime_field_type() {
                RuntimeFieldType::Singular(kind) => {
                    let value = self.value(&kind, depth);
                    field.set_singular_field(&mut *message, value);
                }
                RuntimeFieldType::Repeated(kind) => {
                    for _ in 0..self.byte() % 4 {
                        let value = self.value(&kind, depth);
                        field.mut_repeated(&mut *message).push(value);
                    }
                }
                RuntimeFieldType::Map(key, value) => {
                    for _ in 0..self.byte() % 4 {
                        let (key, value) = (self.value(&key, depth), self.value(&value, depth));
                        field.mut_map(&mut *message).insert(key, value);
                    }
                }
            }
        }
        if depth == 0 && self.byte() % 2 == 1 {
            let value = UnknownValue::LengthDelimited(self.bytes());
            message.mut_unknown_fields_dyn().add_value(150_000, value);
        }
        message
    }
}

/// Encodes rust-protobuf's message, passes it through `ours`, and decodes it with rust-protobuf.
fn check(of: &MessageDescriptor, entropy: &[u8], ours: &dyn Fn(&[u8]) -> Vec<u8>) {
    let bytes = Entropy(entropy).message(of, 0).write_to_bytes_dyn().unwrap();
    // Decoded again, because a default that was set differs from an absent one until it is encoded.
    let message = of.parse_from_bytes(&bytes).unwrap();
    let again = ours(&bytes);
    let back = of.parse_from_bytes(&again).unwrap();
    assert!(
        message.reflect_eq_dyn(&*back, &ReflectEqMode::default()),
        "{} {message}\nbecame\n{back}\nbytes {bytes:02x?}\nbecame {again:02x?}",
        of.full_name()
    );
}

fn owned<M: Message>(bytes: &[u8]) -> Vec<u8> {
    let message = M::decode(bytes).unwrap();
    let again = message.encode_to_vec();
    assert_eq!(M::decode(&again).unwrap(), message);
    again
}

/// Reads with the reader, and writes each field with the writer.
fn copy_scalars(from: cases::ScalarsReader<'_>, to: &mut cases::ScalarsWriter<'_>) {
    for field in from {
        match field.unwrap() {
            S::AInt32(v) => to.a_int32(v),
            S::AInt64(v) => to.a_int64(v),
            S::AUint32(v) => to.a_uint32(v),
            S::AUint64(v) => to.a_uint64(v),
            S::ASint32(v) => to.a_sint32(v),
            S::ASint64(v) => to.a_sint64(v),
            S::AFixed32(v) => to.a_fixed32(v),
            S::AFixed64(v) => to.a_fixed64(v),
            S::ASfixed32(v) => to.a_sfixed32(v),
            S::ASfixed64(v) => to.a_sfixed64(v),
            S::AFloat(v) => to.a_float(v),
            S::ADouble(v) => to.a_double(v),
            S::ABool(v) => to.a_bool(v),
            S::AString(v) => to.a_string(v),
            S::ABytes(v) => to.a_bytes(v),
            S::ALevel(v) => to.a_level(v),
            S::Must(v) => to.must(v),
            S::RInt32(v) => to.r_int32(v),
            S::RSint64(v) => to.r_sint64(v),
            S::RFixed32(v) => to.r_fixed32(v),
            S::RDouble(v) => to.r_double(v),
            S::RString(v) => to.r_string(v),
            S::RBytes(v) => to.r_bytes(v),
            S::RLevel(v) => to.r_level(v),
            // Packed runs of one element: a reader must accept them like long ones.
            S::PInt32(v) => to.p_int32([v]),
            S::PSint32(v) => to.p_sint32([v]),
            S::PFixed64(v) => to.p_fixed64([v]),
            S::PFloat(v) => to.p_float([v]),
            S::PBool(v) => to.p_bool([v]),
            S::PLevel(v) => to.p_level([v]),
            S::Old(v) => to.old(v),
            S::Unknown(field) => to.append_raw(field.raw),
        };
    }
}

fn copy_tree(from: cases::TreeReader<'_>, to: &mut cases::TreeWriter<'_>) {
    for field in from {
        match field.unwrap() {
            T::Left(v) => copy_tree(v, &mut to.left()),
            T::Children(v) => copy_tree(v, &mut to.children()),
            T::Leaf(v) => copy_leaf(v, &mut to.leaf()),
            T::Number(v) => drop(to.number(v)),
            T::Text(v) => drop(to.text(v)),
            T::OtherLeaf(v) => copy_leaf(v, &mut to.other_leaf()),
            T::Subtree(v) => copy_tree(v, &mut to.subtree()),
            T::Kind(v) => drop(to.kind(v)),
            T::Raw(v) => drop(to.raw_gather(&[&v[..v.len() / 2], &v[v.len() / 2..]])),
            T::Unknown(field) => drop(to.append_raw(field.raw)),
        }
    }
}

fn copy_leaf(from: cases::Tree_LeafReader<'_>, to: &mut cases::Tree_LeafWriter<'_>) {
    for field in from {
        match field.unwrap() {
            cases::Tree_LeafReaderField::Kind(v) => drop(to.kind(v)),
            cases::Tree_LeafReaderField::Scalars(v) => copy_scalars(v, &mut to.scalars()),
            cases::Tree_LeafReaderField::Unknown(field) => drop(to.append_raw(field.raw)),
        }
    }
}

fn through_scalars(bytes: &[u8]) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    copy_scalars(
        cases::ScalarsReader::new(bytes),
        &mut cases::ScalarsWriter::from_scope(stream.root()),
    );
    stream.finish().unwrap()
}

fn through_tree(bytes: &[u8]) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    copy_tree(cases::TreeReader::new(bytes), &mut cases::TreeWriter::from_scope(stream.root()));
    stream.finish().unwrap()
}

fn differ(name: &str, ours: &dyn Fn(&[u8]) -> Vec<u8>) {
    let of = descriptor(name);
    run(&|entropy| check(&of, entropy, ours));
}

/// Calls `check` with random messages of a type.
pub(crate) fn any_message(of: &MessageDescriptor, check: fn(&[u8])) {
    run(&|entropy| check(&Entropy(entropy).message(of, 0).write_to_bytes_dyn().unwrap()));
}

fn run(check: &dyn Fn(&[u8])) {
    let entropy = proptest::collection::vec(any::<u8>(), 0..400);
    let config = proptest::test_runner::Config { failure_persistence: None, ..Default::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&entropy, |entropy| {
        check(&entropy);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn owned_messages_agree() {
    differ("cases.Scalars", &owned::<cases::Scalars>);
    differ("cases.Tree", &owned::<cases::Tree>);
    differ("cases.Defaults", &owned::<cases::Defaults>);
    differ("cases.three.Three", &owned::<cases::three::Three>);
    differ("cases.Option", &owned::<cases::Option_>);
}

#[test]
fn readers_and_writers_agree() {
    differ("cases.Scalars", &through_scalars);
    differ("cases.Tree", &through_tree);
}

proptest! {
    /// Arbitrary bytes: decoding ends for owned messages and readers, and both accept the same inputs.
    #[test]
    fn garbage_is_judged_alike(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let reader_ok = cases::ScalarsReader::new(&bytes).iter()
            .all(|f| f.is_ok_and(|f| !matches!(f, S::AString(_) | S::RString(_))));
        if reader_ok {
            prop_assert!(cases::Scalars::decode(&bytes).is_ok(), "{bytes:02x?}");
        }
        if cases::Scalars::decode(&bytes).is_ok() {
            let wrong = cases::ScalarsReader::new(&bytes).iter().find_map(Result::err);
            let utf8 = |e: &protozero::ReadError| e.kind == protozero::DecodeErrorKind::Utf8;
            prop_assert!(wrong.as_ref().is_none_or(utf8), "{wrong:?} {bytes:02x?}");
        }
    }
}
