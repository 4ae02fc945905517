//! Events that the schema does not have.

use super::*;

fn record() -> Vec<u8> {
    let mut record = vec![0; 52];
    record[8..16].copy_from_slice(&0xffff_ffff_8100_0000_u64.to_le_bytes());
    record[16..20].copy_from_slice(&(52_u32 | 3 << 16).to_le_bytes());
    record[20..24].copy_from_slice(&((55_u32 - 24) | 4 << 16).to_le_bytes());
    record[24..26].copy_from_slice(&(-2_i16).to_le_bytes());
    record[26] = 200;
    record[27..31].copy_from_slice(&u32::MAX.to_le_bytes());
    record[31..35].copy_from_slice(&(-1_i32).to_le_bytes());
    record[35..41].copy_from_slice(&[1, 2, 0, 4, 5, 6]);
    record[41..45].copy_from_slice(&((59_u32 - 45) | 2 << 16).to_le_bytes());
    record[48..52].copy_from_slice(b"tail");
    record.extend_from_slice(b"ab\0");
    record.extend_from_slice(b"cd\0x");
    record.extend_from_slice(&[0, 255]);
    record
}

#[test]
fn a_generic_event_is_read_by_its_descriptor_alone() {
    let mut table = with(&[]);
    let mut ids = FieldIds::default();
    let text = format(1600, &FIELDS);
    let id = table.add("mine", "my_probe", Some(text.as_bytes()), &mut ids).unwrap();
    assert_eq!(id, 1600);
    let event = table.event(id).unwrap();
    assert_eq!(event.plan.size, 52);
    assert_eq!(event.plan.body, Body::Message(bytes(65536)));
    let message = message(&event.plan, &record());
    let (number, group, fields) = read_described(&event.plan, &message);
    assert_eq!((number, &*group), (65536, "mine"));
    let string = |text: &str| Value::String(text.into());
    let wanted = [
        ("__probe_ip", Value::U64(0xffff_ffff_8100_0000)),
        ("a", Value::I64(-2)),
        ("b", Value::U64(200)),
        ("c", Value::U64(u32::MAX.into())),
        ("d", Value::I64(-1)),
        ("mac", Value::Bytes(vec![1, 2, 0, 4, 5, 6])),
        ("name", string("ab")),
        ("other", string("cd")),
        ("raw", Value::Bytes(vec![0, 255])),
        ("tail", string("tail")),
    ];
    assert_eq!(fields, wanted.map(|(name, value)| (name.to_owned(), value)).into());
}

/// The encoding of older readers has no bytes: these fields are left out, not the event.
#[test]
fn a_generic_event_for_older_readers() {
    let mut table = with(&[]);
    let text = format(1600, &FIELDS);
    let id = table.add("g", "e", Some(text.as_bytes()), &mut FieldIds::default()).unwrap();
    let Origin::Generic { legacy } = &table.event(id).unwrap().origin else { panic!() };
    let Body::Legacy { name, fields } = &legacy.body else { panic!("not legacy") };
    assert_eq!(&**name, "e");
    let values: Vec<_> = fields.iter().map(|f| &**f).zip(steps(legacy)).collect();
    assert_eq!(
        values,
        [
            ("__probe_ip", (int(5), 8, What::U64)),
            ("name", (bytes(3), 16, What::TextAt)),
            ("other", (bytes(3), 20, What::TextAfter)),
            ("a", (int(4), 24, What::I16)),
            ("b", (int(5), 26, What::U8)),
            ("c", (int(5), 27, What::U32)),
            ("d", (int(4), 31, What::Pid)),
            ("tail", (bytes(3), 48, What::Text(4))),
        ]
    );
    assert_eq!(legacy.size, 52);
}

/// Readers refuse descriptors with higher numbers, and with two fields of one name.
#[test]
fn descriptors_are_those_that_readers_take() {
    let names: Vec<String> = (0..40).map(|i| format!("u8 f{i}")).collect();
    let fields: Vec<_> = (8..).zip(&names).map(|(at, name)| (&**name, at, 1, 0)).collect();
    let mut table = with(&[]);
    let mut ids = FieldIds::default();
    let text = format(7, &fields);
    table.add("g", "many", Some(text.as_bytes()), &mut ids).unwrap();
    let event = table.event(7).unwrap();
    assert_eq!((event.plan.steps.len(), event.plan.size), (31, 39));
    let Origin::Generic { legacy } = &event.origin else { panic!() };
    assert_eq!((legacy.steps.len(), legacy.size), (40, 48));
    let read = read_described(&event.plan, &message(&event.plan, &[1; 48]));
    assert_eq!(read.2.len(), 31);
    let text = format(8, &[("u8 a", 8, 1, 0), ("u64 a", 16, 8, 0), ("u8 b", 9, 1, 0)]);
    table.add("g", "twice", Some(text.as_bytes()), &mut ids).unwrap();
    let twice = table.plan(8).unwrap();
    assert_eq!(steps(twice), [(int(1), 8, What::U8), (int(2), 9, What::U8)]);
}

/// Every event that the schema does not have becomes one that a reader can read.
#[test]
fn all_events_of_a_kernel() {
    let mut table = whole();
    let mut ids = FieldIds::default();
    for ((group, name), text) in &*recorded::FORMATS {
        let id = table.add(group, name, Some(text), &mut ids).unwrap();
        let event = table.event(id).unwrap();
        assert_eq!((&*event.group, &*event.name), (&**group, &**name));
        let is_known = schema::find(group, name).is_some();
        assert_eq!(is_known, event.origin == Origin::Schema);
        if let Origin::Generic { legacy } = &event.origin {
            let (_, of, _) = read_described(&event.plan, &[]);
            assert_eq!(&of, group);
            assert!(legacy.steps.len() <= event.plan.steps.len());
        }
    }
    assert_eq!(table.events().count(), 2323);
    assert!(table.events().map(|e| (&e.group, &e.name)).is_sorted());
}

/// One number never means two events, whichever instance of tracefs they are recorded in.
#[test]
fn numbers_are_unique_over_tables() {
    let mut ids = FieldIds::default();
    let (mut root, mut instance) = (with(&[]), with(&[]));
    let number = |table: &mut Table, ids: &mut FieldIds, group: &str, name: &str, fields: &[_]| {
        let text = format(1600, fields);
        let id = table.add(group, name, Some(text.as_bytes()), ids).unwrap();
        match &table.plan(id).unwrap().body {
            Body::Message(tag) => tag.bytes,
            _ => panic!("no message"),
        }
    };
    let one = [("u8 a", 8, 1, 0)];
    let two = [("s8 a", 8, 1, 1)];
    let first = number(&mut root, &mut ids, "g", "e", &one);
    assert_eq!(first, bytes(65536).bytes);
    assert_eq!(number(&mut instance, &mut ids, "g", "f", &one), bytes(65537).bytes);
    assert_eq!(number(&mut instance, &mut ids, "h", "e", &one), bytes(65538).bytes);
    assert_eq!(number(&mut instance, &mut ids, "g", "e", &two), bytes(65539).bytes);
    // An event that is looked up again has the number that it had.
    assert_eq!(number(&mut instance, &mut ids, "g", "e", &one), first);
    assert_eq!(number(&mut root, &mut ids, "g", "e", &one), first);
}

#[test]
fn numbers_end() {
    let mut ids = FieldIds::default();
    for i in 0..65536_u32 {
        assert_eq!(ids.of("g", &i.to_le_bytes()), Some(65536 + i));
    }
    assert_eq!(ids.of("g", b"one more"), None);
    assert_eq!(ids.of("g", &7_u32.to_le_bytes()), Some(65543));
    let mut table = with(&[]);
    let text = format(7, &[]);
    assert_eq!(table.add("g", "e", Some(text.as_bytes()), &mut ids), Err(AddError::Numbers));
    assert!(table.find("g", "e").is_none());
}
