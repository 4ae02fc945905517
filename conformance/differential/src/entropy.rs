//! Random messages in wire format.
//!
//! None of the compared libraries builds them: a library writes one of many valid encodings, while a reader must accept
//! fields in any order, repeated, packed or not, and with padded numbers.

use prost_reflect::{ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor};

/// Random bytes in a slice, so that proptest can shrink it. After its end, every byte is zero.
pub struct Entropy<'a> {
    bytes: &'a [u8],
    /// Varints with more bytes than necessary. Never among unknown fields, which some libraries keep verbatim and
    /// others encode again.
    pads: bool,
}

/// Which constructs a message may contain besides plain fields.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    /// Fields that are not in the schema.
    pub unknown: bool,
    /// Extensions in the schema.
    pub extensions: bool,
    /// A message field that occurs twice, so that both are merged.
    pub merged: bool,
    /// Maps.
    pub maps: bool,
    /// Groups in the schema.
    pub groups: bool,
    /// Known numbers with a wrong wire type.
    pub foreign: bool,
    /// Enum numbers without a name.
    pub nameless: bool,
    /// Varints with more bits than their field has; the upper bits are dropped.
    pub wide: bool,
    /// Zeros and empty values; only fields with presence distinguish them from absence.
    pub zeros: bool,
}

impl Taste {
    /// Constructs that every library reads in the same way.
    pub const TAME: Self = Self {
        unknown: false,
        merged: false,
        maps: true,
        extensions: false,
        groups: false,
        foreign: false,
        nameless: false,
        wide: false,
        zeros: true,
    };
}

/// How a field or an extension is encoded.
struct Shape {
    number: u32,
    kind: Kind,
    is_list: bool,
    is_packed: bool,
    is_group: bool,
    is_required: bool,
}

impl Shape {
    fn of_field(f: &FieldDescriptor) -> Self {
        Self {
            number: f.number(),
            kind: f.kind(),
            is_list: f.is_list(),
            is_packed: f.is_packed(),
            is_group: f.is_group(),
            is_required: f.is_required(),
        }
    }

    fn is_map(&self) -> bool {
        matches!(&self.kind, Kind::Message(of) if of.is_map_entry())
    }

    fn of_extension(e: &ExtensionDescriptor) -> Self {
        Self {
            number: e.number(),
            kind: e.kind(),
            is_list: e.is_list(),
            is_packed: e.is_packed(),
            is_group: e.is_group(),
            is_required: false,
        }
    }
}

/// Deepest nesting, far below the limit of every library.
const DEPTH_MAX: u32 = 6;

/// Reserved in the schema.
const UNKNOWN: u64 = 500;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LEN: u64 = 2;
const BEGIN: u64 = 3;
const END: u64 = 4;
const FIXED32: u64 = 5;

impl<'a> Entropy<'a> {
    /// `bytes` of it for messages of that taste.
    pub const fn new(bytes: &'a [u8], taste: Taste) -> Self {
        Self { bytes, pads: !taste.nameless }
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    fn below(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.byte());
        let value = if bound > 256 { wide << 8 | usize::from(self.byte()) } else { wide };
        value % bound.max(1)
    }

    /// Produces small, huge and negative numbers.
    fn word(&mut self) -> u64 {
        let len = self.byte() % 9;
        let value = (0..len).fold(0, |v, _| v << 8 | u64::from(self.byte()));
        if self.byte() % 4 == 3 { value.wrapping_neg() } else { value }
    }

    fn bytes(&mut self) -> Vec<u8> {
        // Sometimes too long for a length of one byte.
        let len = match self.byte() {
            255 => 200,
            short => short % 12,
        };
        (0..len).map(|_| self.byte()).collect()
    }

    /// Fields of `of` and what `taste` adds, appended to `out`.
    pub fn message(&mut self, of: &MessageDescriptor, taste: Taste, depth: u32, out: &mut Vec<u8>) {
        let all: Vec<Shape> = of.fields().map(|f| Shape::of_field(&f)).collect();
        let welcome =
            |shape: &Shape| (taste.groups || !shape.is_group) && (taste.maps || !shape.is_map());
        let fields: Vec<&Shape> = all.iter().filter(|s| !s.is_required && welcome(s)).collect();
        let extensions: Vec<Shape> =
            of.extensions().map(|e| Shape::of_extension(&e)).filter(welcome).collect();
        let mut met = Vec::new();
        let count = if depth > DEPTH_MAX { 0 } else { self.below(if depth == 0 { 24 } else { 5 }) };
        for _ in 0..count {
            match self.byte() {
                0..20 if taste.unknown => self.unknown(out, 0),
                20..50 if taste.extensions && !extensions.is_empty() => {
                    let at = self.below(extensions.len());
                    self.field(&extensions[at], taste, depth, out);
                }
                _ if fields.is_empty() => {}
                50..60 if taste.foreign => {
                    let at = self.below(fields.len());
                    self.foreign(fields[at], out);
                }
                _ => {
                    let shape = fields[self.below(fields.len())];
                    let is_single = matches!(shape.kind, Kind::Message(_)) && !shape.is_list;
                    if !is_single || taste.merged || !met.contains(&shape.number) {
                        met.push(shape.number);
                        self.field(shape, taste, depth, out);
                    }
                }
            }
        }
        // Required fields also occur at the deepest level, or the message would be refused.
        for shape in all.iter().filter(|s| s.is_required) {
            self.field(shape, taste, depth, out);
        }
    }

    fn field(&mut self, shape: &Shape, taste: Taste, depth: u32, out: &mut Vec<u8>) {
        let tag = |wire: u64| u64::from(shape.number) << 3 | wire;
        match &shape.kind {
            Kind::Message(of) => {
                let mut body = Vec::new();
                self.message(of, taste, depth + 1, &mut body);
                if shape.is_group {
                    self.varint(tag(BEGIN), out);
                    out.extend(body);
                    self.varint(tag(END), out);
                } else {
                    self.run(tag(LEN), &body, out);
                }
            }
            Kind::Bytes => {
                let value = self.filled(taste);
                self.run(tag(LEN), &value, out);
            }
            Kind::String => {
                let value = String::from_utf8_lossy(&self.filled(taste)).into_owned();
                self.run(tag(LEN), value.as_bytes(), out);
            }
            kind => {
                // Packed or not, whatever the schema says: a reader must accept both.
                let is_unusual = self.byte().is_multiple_of(4);
                if shape.is_list && shape.is_packed != is_unusual {
                    let mut run = Vec::new();
                    for _ in 0..self.byte() % 5 {
                        self.scalar(kind, taste, &mut run);
                    }
                    return self.run(tag(LEN), &run, out);
                }
                for _ in 0..if shape.is_list { self.byte() % 3 } else { 1 } {
                    self.varint(tag(wire(kind)), out);
                    self.scalar(kind, taste, out);
                }
            }
        }
    }

    fn filled(&mut self, taste: Taste) -> Vec<u8> {
        let value = self.bytes();
        if value.is_empty() && !taste.zeros { vec![b'x'] } else { value }
    }

    fn run(&mut self, tag: u64, body: &[u8], out: &mut Vec<u8>) {
        self.varint(tag, out);
        self.varint(body.len() as u64, out);
        out.extend(body);
    }

    fn scalar(&mut self, kind: &Kind, taste: Taste, out: &mut Vec<u8>) {
        let word = match self.word() {
            // Any width.
            word if !taste.zeros && word as u32 == 0 => 1,
            word => word,
        };
        let value = match kind {
            // Any number except NaN, which is not equal to itself.
            Kind::Float => return out.extend((word as i32 as f32 / 8.0).to_le_bytes()),
            Kind::Double => return out.extend((word as i64 as f64 / 8.0).to_le_bytes()),
            Kind::Fixed32 | Kind::Sfixed32 => return out.extend((word as u32).to_le_bytes()),
            Kind::Fixed64 | Kind::Sfixed64 => return out.extend(word.to_le_bytes()),
            Kind::Bool if !taste.zeros => 1,
            Kind::Bool if !taste.wide => word & 1,
            Kind::Int32 if !taste.wide => word as i32 as i64 as u64,
            Kind::Uint32 | Kind::Sint32 if !taste.wide => u64::from(word as u32),
            Kind::Enum(e) => {
                if taste.nameless && self.byte().is_multiple_of(4) {
                    word as i32 as i64 as u64
                } else {
                    let numbers = e.values().map(|v| v.number());
                    let numbers: Vec<i32> = numbers.filter(|n| taste.zeros || *n != 0).collect();
                    i64::from(numbers[word as usize % numbers.len()]) as u64
                }
            }
            _ => word,
        };
        self.varint(value, out);
    }

    /// A field with a known number and a wrong wire type.
    fn foreign(&mut self, shape: &Shape, out: &mut Vec<u8>) {
        let is_number = !matches!(shape.kind, Kind::Message(_) | Kind::String | Kind::Bytes);
        let own = if shape.is_group { BEGIN } else { wire(&shape.kind) };
        let wire = [VARINT, FIXED64, LEN, FIXED32][self.below(4)];
        if wire != own && !(is_number && wire == LEN) {
            self.value(u64::from(shape.number), wire, out);
        }
    }

    /// A field with an unknown number. It is canonical and always has the same number, because some libraries encode it
    /// again, sorted by number.
    fn unknown(&mut self, out: &mut Vec<u8>, depth: u32) {
        if self.byte().is_multiple_of(5) && depth < 4 {
            canonical(UNKNOWN << 3 | BEGIN, out);
            for _ in 0..self.byte() % 3 {
                self.unknown(out, depth + 1);
            }
            return canonical(UNKNOWN << 3 | END, out);
        }
        let wire = [VARINT, FIXED64, LEN, FIXED32][self.below(4)];
        self.value(UNKNOWN, wire, out);
    }

    fn value(&mut self, number: u64, wire: u64, out: &mut Vec<u8>) {
        canonical(number << 3 | wire, out);
        match wire {
            VARINT => canonical(self.word(), out),
            FIXED64 => out.extend(self.word().to_le_bytes()),
            FIXED32 => out.extend((self.word() as u32).to_le_bytes()),
            _ => {
                let value = self.bytes();
                canonical(value.len() as u64, out);
                out.extend(value);
            }
        }
    }

    /// A varint, usually canonical, sometimes padded.
    fn varint(&mut self, value: u64, out: &mut Vec<u8>) {
        let start = out.len();
        canonical(value, out);
        // Every reader accepts five bytes for a tag or a length.
        if self.pads && out.len() - start < 5 && self.byte().is_multiple_of(16) {
            if let Some(last) = out.last_mut() {
                *last |= 0x80;
            }
            out.push(0);
        }
    }
}

fn canonical(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn wire(kind: &Kind) -> u64 {
    match kind {
        Kind::Fixed64 | Kind::Sfixed64 | Kind::Double => FIXED64,
        Kind::Fixed32 | Kind::Sfixed32 | Kind::Float => FIXED32,
        Kind::String | Kind::Bytes | Kind::Message(_) => LEN,
        _ => VARINT,
    }
}
