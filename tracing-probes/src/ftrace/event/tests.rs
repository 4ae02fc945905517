use abi::map::SortedMap;
use protozero::wire::tag::{LEN, VARINT};
use protozero::{Reader, field};

use super::super::addresses::Addresses;
use super::super::facts::Facts;
use super::super::page::Record;
use super::super::table::plan::{Body, Fact, Integer, Number, Plan, Range, Step, Tag, What};
use super::{Around, Buffer, Invalid, device_number, write};

/// What a record becomes.
struct World {
    printk: SortedMap<u64, Box<[u8]>>,
    addresses: Addresses,
    facts: Facts,
}

impl World {
    fn new() -> Self {
        let printk = [(0x99, Box::from(&b"a printk"[..]))].into_iter().fold(
            SortedMap::new(),
            |mut map, (k, v)| {
                map.insert(k, v);
                map
            },
        );
        Self { printk, addresses: Addresses::default(), facts: Facts::default() }
    }

    fn write(&mut self, record: &[u8], plan: &Plan) -> Result<Vec<u8>, Invalid> {
        let mut out = Buffer::default();
        let record = Record { time: 1000, id: 1, bytes: record };
        let mut around = Around {
            printk: &self.printk,
            addresses: &mut self.addresses,
            facts: &mut self.facts,
            own_threads: &[0, 1],
        };
        let done = write(&mut out, &record, plan, 4, &mut around);
        assert!(done.is_ok() || out.len() == 0, "an invalid event leaves nothing");
        done.map(|()| out.written().to_vec())
    }
}

const NUMBER: u32 = 300;

fn plan(size: u16, steps: &[(u32, u16, What)]) -> Plan {
    let steps = steps.iter().map(|(number, offset, what)| Step {
        tag: Tag::of(*number, if is_text(*what) { LEN } else { VARINT }),
        offset: *offset,
        what: *what,
    });
    let body = Body::Message(Tag::of(NUMBER, LEN));
    Plan { body, size, fact: Fact::None, descriptor: None, steps: steps.collect() }
}

fn is_text(what: What) -> bool {
    matches!(
        what,
        What::Printk32
            | What::Printk64
            | What::Text(_)
            | What::TextToEnd
            | What::Bytes(_)
            | What::TextAt
            | What::BytesAt
            | What::TextAfter
            | What::BytesAfter
    )
}

/// A record of thread 0x0102 with `fields` behind the common ones.
fn record(fields: &[u8]) -> Vec<u8> {
    [&[1, 0, 0, 0, 2, 1, 0, 0][..], fields].concat()
}

/// The numbers and values of the fields of the event's message; a varint as its eight bytes.
fn fields(event: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let nested = |bytes: &[u8], number: u32| -> Vec<u8> {
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field().unwrap_or_else(|error| panic!("{error}")) {
            if field.number == number {
                return field.value.bytes().unwrap_or_else(|error| panic!("{error}")).to_vec();
            }
        }
        panic!("no field {number}");
    };
    let message = nested(&nested(event, 2), NUMBER);
    let mut reader = Reader::new(&message);
    let mut found = Vec::new();
    while let Some(field) = reader.next_field().unwrap_or_else(|error| panic!("{error}")) {
        let value = match field.value.uint64() {
            Ok(value) => value.to_le_bytes().to_vec(),
            Err(_) => field.value.bytes().unwrap_or_else(|error| panic!("{error}")).to_vec(),
        };
        found.push((field.number, value));
    }
    found
}

fn varint(value: i64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

#[test]
fn numbers() {
    let bytes = record(&[0xff; 8]);
    for (what, want) in [
        (What::U8, 0xff),
        (What::U16, 0xffff),
        (What::U32, 0xffff_ffff),
        (What::U64, -1),
        (What::I8, -1),
        (What::I16, -1),
        (What::I32, -1),
        (What::I64, -1),
        (What::Pid, -1),
        (What::Inode32, 0xffff_ffff),
        (What::Inode64, -1),
    ] {
        let mut world = World::new();
        // An odd offset, as dynamic events have.
        let event = world
            .write(&record(&[[0].as_slice(), &[0xff; 8]].concat()), &plan(17, &[(3, 9, what)]));
        assert_eq!(event.map(|event| fields(&event)), Ok(vec![(3, varint(want))]), "{what:?}");
        assert_eq!(world.write(&bytes, &plan(17, &[(3, 9, what)])), Err(Invalid), "{what:?}");
    }
}

#[test]
fn numbers_of_another_type() {
    let cases = [
        (Integer::U64, Range::U32, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], Some(0xffff_ffff)),
        (Integer::U64, Range::U32, &[0, 0, 0, 0, 1, 0, 0, 0], None),
        (Integer::U64, Range::I32, &[0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0], Some(0x7fff_ffff)),
        (Integer::U64, Range::I32, &[0, 0, 0, 0x80, 0, 0, 0, 0], None),
        (Integer::U64, Range::I64, &[0xff; 8], None),
        (Integer::U32, Range::I32, &[0xff; 8], None),
        (Integer::U32, Range::I64, &[0xff; 8], Some(0xffff_ffff)),
        (Integer::U16, Range::I32, &[0xff; 8], Some(0xffff)),
        (Integer::U8, Range::I32, &[0xff; 8], Some(0xff)),
        (Integer::I8, Range::U32, &[0x7f; 8], Some(0x7f)),
        (Integer::I8, Range::U64, &[0xff; 8], None),
        (Integer::I16, Range::I32, &[0xff; 8], Some(-1)),
        (Integer::I32, Range::U64, &[0xff; 8], None),
        (Integer::I64, Range::I32, &[0xff; 8], Some(-1)),
        (Integer::I64, Range::U64, &[0xff; 8], None),
    ];
    for (from, to, bytes, want) in cases {
        let event =
            World::new().write(&record(bytes), &plan(16, &[(1, 8, What::Within { from, to })]));
        let want = want.map(|value| (1, varint(value))).into_iter().collect::<Vec<_>>();
        assert_eq!(event.map(|event| fields(&event)), Ok(want), "{from:?} as {to:?}: {bytes:?}");
    }
}

#[test]
fn strings_and_bytes() {
    // 8: "ab\0c"; 12: at 20, 5 bytes; 16: 0 behind itself, 5 bytes; 20: "xy\0z\0".
    let tail = b"xy\0z\0";
    let mut body = b"ab\0c".to_vec();
    body.extend([20, 0, 5, 0]);
    body.extend([0, 0, 5, 0]);
    body.extend(tail);
    let bytes = record(&body);
    for (what, offset, want) in [
        (What::Text(4), 8, &b"ab"[..]),
        (What::Text(2), 8, b"ab"),
        (What::Text(16), 8, b"ab"),
        (What::Text(0), 8, b""),
        (What::Bytes(4), 8, b"ab\0c"),
        (What::TextToEnd, 20, b"xy"),
        (What::TextToEnd, 25, b""),
        (What::TextAt, 12, b"xy"),
        (What::BytesAt, 12, tail),
        (What::TextAfter, 16, b"xy"),
        (What::BytesAfter, 16, tail),
    ] {
        let event = World::new().write(&bytes, &plan(20, &[(1, offset, what)]));
        assert_eq!(event.map(|event| fields(&event)), Ok(vec![(1, want.to_vec())]), "{what:?}");
    }
    // Nothing may lie anywhere; a byte may not lie outside.
    for (word, is_valid) in
        [([255, 255, 0, 0], true), ([25, 0, 1, 0], false), ([20, 0, 6, 0], false)]
    {
        let mut bytes = bytes.clone();
        bytes[12..16].copy_from_slice(&word);
        assert_eq!(
            World::new().write(&bytes, &plan(20, &[(1, 12, What::BytesAt)])).is_ok(),
            is_valid
        );
    }
}

#[test]
fn printk_strings_and_addresses() {
    let mut world = World::new();
    let bytes = record(&[0x99_u64.to_le_bytes(), 0x42_u64.to_le_bytes()].concat());
    let both = [
        (1, 8, What::Printk64),
        (2, 16, What::Printk32),
        (3, 16, What::Address64),
        (4, 8, What::Address32),
    ];
    let want = vec![(1, b"a printk".to_vec()), (2, Vec::new()), (3, varint(1)), (4, varint(2))];
    for _ in 0..2 {
        assert_eq!(
            world.write(&bytes, &plan(24, &both)).map(|event| fields(&event)),
            Ok(want.clone())
        );
    }
    assert_eq!(world.addresses.fresh().collect::<Vec<_>>(), [(1, 0x42), (2, 0x99)]);
}

#[test]
fn devices_and_inodes() {
    assert_eq!(device_number(0x0fe0_0000), 65024);
    assert_eq!(
        device_number(0xabcd << 20 | 0x1_2345),
        0xa000_0000_0000 | 0xbcd00 | 0x45 | 0x1_2300 << 12
    );
    let mut world = World::new();
    let body: Vec<u8> =
        [7_u32, 0x0fe0_0000, 8].iter().flat_map(|word| word.to_le_bytes()).collect();
    let steps = [(1, 8, What::Inode32), (2, 12, What::Device32), (3, 16, What::Inode32)];
    assert!(world.write(&record(&body), &plan(20, &steps)).is_ok());
    assert_eq!(world.facts.inodes.iter().copied().collect::<Vec<_>>(), [(0, 7), (65024, 8)]);
    // Files of this program are not of interest.
    let mut own = World::new();
    let mut bytes = record(&body);
    bytes[4..8].copy_from_slice(&1_i32.to_le_bytes());
    assert!(own.write(&bytes, &plan(20, &steps)).is_ok());
    assert_eq!(own.facts.inodes.iter().next(), None);
}

#[test]
fn six_arguments() {
    let body: Vec<u8> = (1..=6_u64).flat_map(u64::to_le_bytes).collect();
    let event = World::new().write(&record(&body), &plan(56, &[(2, 8, What::Six64)]));
    let want: Vec<_> = (1..=6).map(|value| (2, varint(value))).collect();
    assert_eq!(event.map(|event| fields(&event)), Ok(want));
    // Of any size, with short and long numbers of fields.
    for (number, what) in [(2, What::Six64), (15, What::Six64), (16, What::Six64), (2, What::Six32)]
    {
        for bit in 0..64 {
            let values = [u64::MAX >> bit, 0, 1 << (63 - bit), 0x7f, 0x80, u64::MAX >> bit];
            let len = if what == What::Six64 { 8 } else { 4 };
            let body: Vec<u8> =
                values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(len)).collect();
            let mask = u64::MAX >> (64 - 8 * len);
            let want = values.map(|value| (number, varint((value & mask).cast_signed())));
            let event = World::new().write(&record(&body), &plan(24, &[(number, 8, what)]));
            assert_eq!(event.map(|event| fields(&event)), Ok(want.to_vec()), "{what:?} {bit}");
        }
    }
    assert_eq!(
        World::new().write(&record(&body[..44]), &plan(8, &[(2, 8, What::Six64)])),
        Err(Invalid)
    );
}

#[test]
fn facts_of_threads() {
    let mut world = World::new();
    let mut plan = plan(24, &[(1, 8, What::Pid)]);
    let body = |id: i64, ret: i64| record(&[id.to_le_bytes(), ret.to_le_bytes()].concat());
    let (id, ret) = (Number { offset: 8, is_wide: true }, Number { offset: 16, is_wide: true });
    plan.fact = Fact::Returned { id, ret, opens: &[2, 257] };
    for (id, ret) in [(2, 5), (257, 0), (2, -1), (3, 6), (2, 1 << 31), (-1, 7)] {
        assert!(world.write(&body(id, ret), &plan).is_ok());
    }
    assert_eq!(world.facts.fds.iter().copied().collect::<Vec<_>>(), [(0x102, 0), (0x102, 5)]);
    assert_eq!(world.facts.pids.iter().copied().collect::<Vec<_>>(), [-1, 2, 3, 257, 0x102]);
    assert_eq!(world.facts.renamed.iter().next(), None);
    plan.fact = Fact::Renamed;
    assert!(world.write(&body(0, 0), &plan).is_ok());
    assert_eq!(world.facts.renamed.iter().copied().collect::<Vec<_>>(), [0x102]);
}

#[test]
fn lengths_of_any_size() {
    // Lengths of one, two and three bytes, for the event and for its message.
    for len in (0..300).chain([16_370, 16_384, 40_000]) {
        let body = vec![b'x'; len];
        let event = World::new().write(&record(&body), &plan(8, &[(1, 8, What::TextToEnd)]));
        assert_eq!(event.map(|event| fields(&event)), Ok(vec![(1, body)]), "{len}");
    }
}

/// Times, threads and numbers of events of any size, in memory that is used again and in new memory.
#[test]
fn begins_of_events() {
    let mut plan = plan(8, &[(1, 4, What::U8)]);
    for number in [15, 16, 2047, 2048, (1 << 18) - 1, 1 << 18] {
        plan.body = Body::Message(Tag::of(number, LEN));
        let mut out = Buffer::default();
        let mut want = Vec::new();
        for bit in 0..64 {
            for pid in [0, 1, 127, 128, (1 << 28) - 1, 1 << 28, i32::MAX, -1] {
                let bytes = [&[1, 0, 0, 0][..], &pid.to_le_bytes()].concat();
                let record = Record { time: u64::MAX >> bit, id: 1, bytes: &bytes };
                let mut world = World::new();
                let mut around = Around {
                    printk: &world.printk,
                    addresses: &mut world.addresses,
                    facts: &mut world.facts,
                    own_threads: &[0, 1],
                };
                assert_eq!(write(&mut out, &record, &plan, 4, &mut around), Ok(()));
                let pid = i64::from(pid).cast_unsigned();
                let mut memory = [0; 64];
                let mut stream = protozero::FixedSink::stream(&mut memory);
                let mut event = stream.root();
                field::uint64::<1>(&mut event, record.time);
                field::uint64::<2>(&mut event, pid);
                drop(event);
                let head = stream.finish().unwrap_or_default();
                let mut message = Buffer::default();
                message.uint(Tag::of(number, LEN), 2);
                let mut field = Buffer::default();
                field.uint(Tag::of(1, VARINT), u64::from(bytes[4]));
                let field = field.written();
                // A value of two bytes is one more.
                let body =
                    [head, &message.written()[..message.len() - 1], &[field.len() as u8], field]
                        .concat();
                want.extend([&[0x12, body.len() as u8][..], &body].concat());
            }
        }
        assert_eq!(out.written(), want, "{number}");
    }
}

#[test]
fn generic_events_of_the_old_encoding() {
    let fields: Box<[Box<str>]> = Box::from([Box::from("first"), Box::from("second")]);
    let mut plan = plan(14, &[(5, 8, What::U32), (3, 12, What::Text(2))]);
    plan.body = Body::Legacy { name: Box::from("event"), fields };
    let event = World::new().write(&record(b"\x05\0\0\0hi"), &plan);
    let inner = b"\x0a\x05event\x12\x09\x0a\x05first\x28\x05\x12\x0c\x0a\x06second\x1a\x02hi";
    let mut want = vec![0x08, 0xe8, 0x07, 0x10, 0x82, 0x02, 0xba, 0x14, inner.len() as u8];
    want.extend(inner);
    let head = [0x12, want.len() as u8];
    assert_eq!(event, Ok([&head[..], &want].concat()));
}

#[test]
fn bodies_that_are_known() {
    let mut plan = plan(8, &[]);
    plan.body = Body::Fixed { tag: Tag::of(542, LEN), body: Box::from(&b"\x0a\x01k"[..]) };
    let event = World::new().write(&record(&[]), &plan);
    assert_eq!(event.as_deref(), Ok(&b"\x12\x0c\x08\xe8\x07\x10\x82\x02\xf2\x21\x03\x0a\x01k"[..]));
    // A record that ends before its thread is invalid, whatever the plan says.
    plan.size = 0;
    assert_eq!(World::new().write(&record(&[])[..7], &plan), Err(Invalid));
}

#[test]
fn a_buffer_is_a_writer() {
    let mut buffer = Buffer::default();
    let mut want = Vec::new();
    for value in (0..64).map(|bit| u64::MAX >> bit).chain([0, 127, 128]) {
        buffer.uint(Tag::of(1, VARINT), value);
        let mut bytes = [0; 16];
        let mut stream = protozero::FixedSink::stream(&mut bytes);
        field::uint64::<1>(&mut stream.root(), value);
        want.extend_from_slice(stream.finish().unwrap_or_default());
    }
    assert_eq!(buffer.written(), want);
}
