//! Any calls of a writer, through every sink, against an encoder that knows each length beforehand.

use protozero::{
    AppendSink, FixedSink, HeapSink, RangesSink, Reader, Scope, Value, WindowSink, WriteError, rt,
};

/// What a program may do with an open message.
enum Op {
    Varint(u64),
    Far(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(usize),
    Gather(usize),
    Raw(usize),
    Run(Vec<u64>),
    Fixed(Vec<u32>),
    Nested(Kind, Vec<Op>),
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Narrow,
    ByNumber,
    Padded,
    Group,
    /// The length is announced before.
    Sized,
    /// A wrong length is announced.
    WrongLength,
    Forgotten,
}

/// Numbers of messages and of groups.
const MESSAGE: u32 = 7;
const GROUP: u32 = 8;

const DEPTH_MAX: usize = 60;
const TEXT: [u8; 1024] = [b'x'; 1024];

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> u64 {
        let len = self.byte().unwrap_or(0) % 9;
        (0..len).fold(0, |n, _| n << 8 | u64::from(self.byte().unwrap_or(0)))
    }

    fn len(&mut self) -> usize {
        let len = usize::from(self.byte().unwrap_or(0));
        if len < 200 { len } else { (len - 199) * 18 }
    }

    /// Up to the end of the message.
    fn ops(&mut self, depth: usize) -> Vec<Op> {
        let mut ops = Vec::new();
        while let Some(byte) = self.byte() {
            let kind = match byte % 20 {
                0 => break,
                1 | 2 => Kind::Narrow,
                3 => Kind::ByNumber,
                4 => Kind::Padded,
                5 => Kind::Group,
                6 => Kind::Sized,
                7 if byte > 200 => Kind::WrongLength,
                8 if byte > 200 => Kind::Forgotten,
                other => {
                    ops.push(match other {
                        9 => Op::Far(self.number()),
                        10 => Op::Fixed32(self.number() as u32),
                        11 => Op::Fixed64(self.number()),
                        12 | 13 => Op::Bytes(self.len()),
                        14 => Op::Gather(self.len()),
                        15 => Op::Raw(self.len() / 2),
                        16 => Op::Run((0..self.len() / 9).map(|_| self.number()).collect()),
                        17 => Op::Fixed(vec![7; self.len()]),
                        _ => Op::Varint(self.number()),
                    });
                    continue;
                }
            };
            if depth < DEPTH_MAX {
                ops.push(Op::Nested(kind, self.ops(depth + 1)));
            }
        }
        ops
    }
}

fn write(scope: &mut Scope<'_>, ops: &[Op]) {
    for op in ops {
        match op {
            Op::Varint(value) => rt::uint64::<1>(scope, *value),
            Op::Far(value) => rt::uint64::<536_870_911>(scope, *value),
            Op::Fixed32(value) => scope.fixed32::<2>(*value),
            Op::Fixed64(value) => scope.fixed64::<3000>(*value),
            Op::Bytes(len) => scope.bytes::<4>(&TEXT[..*len % 1024]),
            Op::Gather(len) => {
                let (front, back) = TEXT[..*len % 1024].split_at(*len % 1024 / 3);
                scope.bytes_gather::<4>(&[front, &[], back]);
            }
            Op::Raw(count) => scope.raw(&[0x08, 0x05].repeat(*count)),
            Op::Run(values) => {
                let mut run = scope.packed::<5>();
                values.iter().for_each(|value| run.varint(*value));
            }
            Op::Fixed(values) => rt::packed_fixed32::<6>(scope, values.iter().copied()),
            Op::Nested(kind, ops) => nested(scope, *kind, ops),
        }
    }
}

fn nested(scope: &mut Scope<'_>, kind: Kind, ops: &[Op]) {
    let mut inner = match kind {
        Kind::Narrow | Kind::Forgotten => scope.nested::<MESSAGE>(),
        Kind::ByNumber => scope.nested_by_number(MESSAGE).expect("a field number"),
        Kind::Padded => scope.nested_padded::<MESSAGE>(),
        Kind::Group => scope.group::<GROUP>(),
        // The body may have more bytes than necessary, unless it is flat.
        Kind::Sized => {
            let body = flat(ops);
            let mut inner = scope.nested_sized::<MESSAGE>(body.len() as u32);
            return inner.raw(&body);
        }
        Kind::WrongLength => scope.nested_sized::<MESSAGE>(flat(ops).len() as u32 + 1_000_000),
    };
    write(&mut inner, ops);
    if kind == Kind::Forgotten {
        std::mem::forget(inner);
    }
}

/// In as few bytes as possible.
fn flat(ops: &[Op]) -> Vec<u8> {
    let mut out = Vec::new();
    let tag =
        |out: &mut Vec<u8>, number: u32, wire: u32| varint(out, u64::from(number << 3 | wire));
    let len = |out: &mut Vec<u8>, number: u32, body: &[u8]| {
        tag(out, number, 2);
        varint(out, body.len() as u64);
        out.extend_from_slice(body);
    };
    for op in ops {
        match op {
            Op::Varint(value) => {
                tag(&mut out, 1, 0);
                varint(&mut out, *value);
            }
            Op::Far(value) => {
                tag(&mut out, 536_870_911, 0);
                varint(&mut out, *value);
            }
            Op::Fixed32(value) => {
                tag(&mut out, 2, 5);
                out.extend(value.to_le_bytes());
            }
            Op::Fixed64(value) => {
                tag(&mut out, 3000, 1);
                out.extend(value.to_le_bytes());
            }
            Op::Bytes(n) | Op::Gather(n) => len(&mut out, 4, &TEXT[..*n % 1024]),
            Op::Raw(count) => out.extend([0x08, 0x05].repeat(*count)),
            Op::Run(values) => {
                let mut run = Vec::new();
                values.iter().for_each(|value| varint(&mut run, *value));
                len(&mut out, 5, &run);
            }
            Op::Fixed(values) => {
                let run: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                len(&mut out, 6, &run);
            }
            Op::Nested(Kind::Group, ops) => {
                tag(&mut out, GROUP, 3);
                out.extend(flat(ops));
                tag(&mut out, GROUP, 4);
            }
            Op::Nested(_, ops) => len(&mut out, MESSAGE, &flat(ops)),
        }
    }
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The same message with all lengths as short as they can be.
fn shortest(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field().expect("it was written by us") {
        let (number, body) = match field.value {
            Value::Len(body) if field.number == MESSAGE => (MESSAGE, shortest(body)),
            // Packed runs whose length was written last.
            Value::Len(run) if field.number == 5 => (5, run.to_vec()),
            Value::Group(body) => {
                varint(&mut out, u64::from(GROUP << 3 | 3));
                out.extend(shortest(body));
                varint(&mut out, u64::from(GROUP << 3 | 4));
                continue;
            }
            _ => {
                out.extend(field.raw);
                continue;
            }
        };
        varint(&mut out, u64::from(number << 3 | 2));
        varint(&mut out, body.len() as u64);
        out.extend(body);
    }
    out
}

/// Whether it announces a wrong length, or a scope is leaked.
fn fails(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Nested(kind, ops) => {
            matches!(kind, Kind::WrongLength | Kind::Forgotten) || {
                *kind != Kind::Sized && fails(ops)
            }
        }
        _ => false,
    })
}

/// Two messages with every sink. A first byte says how much memory there is.
pub fn writer(input: &[u8]) {
    let mut input = Input(input);
    let capacity = input.len();
    let messages = [input.ops(0), input.ops(0)];
    let whole = messages.iter().filter(|ops| !fails(ops)).map(|ops| flat(ops));
    let whole: Vec<Vec<u8>> = whole.collect();
    let (all, want) = (whole.len() == messages.len(), whole.concat());
    let check = |name: &str, got: Result<Vec<u8>, WriteError>, bounded: bool| match got {
        Ok(got) => {
            assert!(all, "{name}: a message that failed went unnoticed");
            assert_eq!(shortest(&got), want, "{name}");
        }
        Err(WriteError::Forgotten | WriteError::LengthMismatch { .. }) if !all => {}
        Err(error) => assert!(bounded, "{name}: {error}"),
    };

    let mut stream = HeapSink::stream_with_capacity(capacity);
    messages.iter().for_each(|ops| write(&mut stream.root(), ops));
    check("slabs", stream.finish(), false);

    let mut buffer = vec![9; capacity % 7];
    let mut stream = AppendSink::stream(&mut buffer);
    messages.iter().for_each(|ops| write(&mut stream.root(), ops));
    check("vec", stream.finish().map(|bytes| bytes.to_vec()), false);
    // Messages that failed are taken out.
    assert_eq!(shortest(&buffer[capacity % 7..]), want);
    assert_eq!(buffer[..capacity % 7], vec![9; capacity % 7]);

    let mut buffer = vec![9; capacity + 32];
    let mut stream = FixedSink::stream(&mut buffer[..capacity]);
    messages.iter().for_each(|ops| write(&mut stream.root(), ops));
    check("buffer", stream.finish().map(|bytes| bytes.to_vec()), true);
    assert_eq!(buffer[capacity..], [9; 32]);

    let mut memory = vec![0; 4 * capacity];
    let mut stream = RangesSink::iter(memory.chunks_mut(capacity % 80 + 1));
    messages.iter().for_each(|ops| write(&mut stream.root(), ops));
    check("pieces", stream.finish().map(|pieces| pieces.concat()), true);

    for frame in [false, true] {
        let mut out = Vec::new();
        let put = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok::<(), ()>(())
        };
        let mut window = vec![0; capacity];
        let mut stream = match frame {
            true => WindowSink::framed::<MESSAGE>(&mut window, put),
            false => WindowSink::stream(&mut window, put),
        };
        let mut lost = false;
        for ops in &messages {
            write(&mut stream.root(), ops);
            lost |= stream.error().is_some();
        }
        assert_eq!(stream.finish().is_err(), lost);
        if frame {
            // The bytes that were written can be read, also if messages were lost.
            let framed: Vec<_> = whole.iter().map(|body| framed(body)).collect();
            let read = shortest(&out);
            assert!(if lost {
                read.len() <= framed.concat().len()
            } else {
                read == framed.concat()
            });
        } else if !lost {
            assert_eq!(shortest(&out), want);
        }
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = vec![(MESSAGE << 3 | 2) as u8];
    varint(&mut out, body.len() as u64);
    out.extend(body);
    out
}
