use std::vec::Vec;

use proptest::prelude::*;

use crate::decode::Reader;
use crate::sink::HeapSink;
use crate::{Scope, UnknownFields, rt};

fn encode(write: impl FnOnce(&mut Scope<'_>)) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    write(&mut stream.root());
    stream.finish().unwrap()
}

/// Fields of all kinds, and a group.
fn input() -> Vec<u8> {
    encode(|s| {
        rt::int32::<1>(s, -1);
        rt::string::<2>(s, "hi");
        rt::uint32::<9>(&mut s.nested::<3>(), 5);
        rt::double::<4>(s, 1.5);
        rt::float::<5>(s, 2.5);
        s.raw(b"\x33\x08\x01\x34");
        rt::packed_sint32::<536_870_911>(s, [-1, 1]);
    })
}

#[test]
fn field_by_field_is_the_identity() {
    let input = input();
    let output = encode(|s| {
        let mut reader = Reader::new(&input);
        while let Some(field) = reader.next_field().unwrap() {
            s.append_field(&field);
        }
    });
    assert_eq!(output, input);
}

#[test]
fn unknown_fields_of_a_reader_are_re_emitted() {
    let input = input();
    let mut unknown = UnknownFields::new();
    let mut reader = Reader::new(&input);
    while let Some(field) = reader.next_field().unwrap() {
        if field.number > 2 {
            unknown.push(&field);
        }
    }
    let output = encode(|s| {
        rt::int32::<1>(s, -1);
        rt::string::<2>(s, "hi");
        s.append_unknown(&unknown);
    });
    assert_eq!(output, input);
}

#[test]
fn what_comes_before_an_error_is_kept() {
    let output = encode(|s| {
        let error = s.append_fields(b"\x08\x01\x12\x05hi", |_| true).unwrap_err();
        assert_eq!(error.offset, 2);
    });
    assert_eq!(output, b"\x08\x01");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
    /// Two complementary filters lose no field and change none.
    #[test]
    fn a_split_keeps_every_field(kept in any::<[bool; 8]>()) {
        let input = input();
        let keep = |number: u32| kept[number as usize % 8];
        let mut output = encode(|s| s.append_fields(&input, |f| keep(f.number)).unwrap());
        output.extend(encode(|s| s.append_fields(&input, |f| !keep(f.number)).unwrap()));
        let sorted = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            let mut raws: Vec<Vec<u8>> =
                core::iter::from_fn(|| reader.next_field().unwrap()).map(|f| f.raw.to_vec()).collect();
            raws.sort();
            raws
        };
        prop_assert_eq!(sorted(&output), sorted(&input));
    }
}
