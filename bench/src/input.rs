//! The input of all libraries, laid out as in `cpp/protozero.cc`.

/// Four integers and a string: upstream's own benchmark message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Simple {
    pub int32: i32,
    pub uint32: u32,
    pub int64: i64,
    pub uint64: u64,
    text: *const u8,
    text_len: usize,
}

/// A track event with two debug annotations.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Packet {
    pub time: u64,
    pub sequence: u32,
    pub kind: u32,
    pub uuid: u64,
    pub name: u64,
    category_count: u64,
    categories: [u64; 4],
    pub first_name: u64,
    pub first_value: u64,
    pub second_name: u64,
    second_text: *const u8,
    second_text_len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Move {
    pub page: u32,
    pub chunk: u32,
    pub buffer: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Patch {
    pub buffer: u32,
    pub writer: u32,
    pub chunk: u32,
    pub offset: u32,
    pub data: [u8; 4],
    pub more: u32,
}

/// The request of a producer that commits chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Commit {
    pub moves: [Move; 20],
    pub patches: [Patch; 5],
    pub flush: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Input {
    pub simple: Simple,
    pub packet: Packet,
    pub commit: Commit,
}

const TEXT: &str = "fffffffffffffffffffffffffffffff";
const LABEL: &str = "a_debug_string_16";

/// `len` bytes at `ptr`.
fn text<'a>(ptr: *const u8, len: usize) -> &'a str {
    // SAFETY: the fields are private to this module, which lets them hold a prefix of an ASCII literal.
    let bytes = unsafe { std::slice::from_raw_parts(ptr, len) };
    // SAFETY: as above.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

impl Simple {
    #[inline(always)]
    pub fn text(&self) -> &str {
        text(self.text, self.text_len)
    }
}

impl Packet {
    #[inline(always)]
    pub fn text(&self) -> &str {
        text(self.second_text, self.second_text_len)
    }

    #[inline(always)]
    pub fn categories(&self) -> &[u64] {
        &self.categories[..self.category_count as usize]
    }
}

impl Input {
    pub fn new() -> Self {
        let chunk = |i: u32| Move { page: 100 + 37 * i, chunk: i % 14, buffer: 1 };
        let patch = |i: u32| Patch {
            buffer: 1,
            writer: 7,
            chunk: 300_000 + i,
            offset: 200 + 700 * i,
            data: [0x92 + i as u8, 0x83, 0x80, 0],
            more: i & 1,
        };
        Self {
            simple: Simple {
                int32: 0x1234_5678,
                uint32: 0x90ab_cdef,
                int64: 0x1111_1111,
                uint64: 0xffff_ffff,
                text: TEXT.as_ptr(),
                text_len: TEXT.len(),
            },
            packet: Packet {
                time: 1_234_567_890_123_456,
                sequence: 3,
                kind: 1,
                uuid: 0x9e37_79b9_7f4a_7c15,
                name: 17,
                category_count: 1,
                categories: [5, 0, 0, 0],
                first_name: 1,
                first_value: 42,
                second_name: 2,
                second_text: LABEL.as_ptr(),
                second_text_len: LABEL.len(),
            },
            commit: Commit {
                moves: std::array::from_fn(|i| chunk(i as u32)),
                patches: std::array::from_fn(|i| patch(i as u32)),
                flush: 4242,
            },
        }
    }

    /// `count` inputs of the same shape in which every number has a random width and every string a random
    /// length, so that branches cannot be predicted. Always the same inputs.
    pub fn varied(count: usize) -> Vec<Self> {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        (0..count).map(|_| Self::new().vary(&mut random)).collect()
    }

    fn vary(mut self, random: &mut Random) -> Self {
        let s = &mut self.simple;
        (s.int32, s.uint32) = (random.bits(31) as i32, random.bits(32) as u32);
        (s.int64, s.uint64) = (random.bits(63) as i64, random.bits(64));
        s.text_len = random.between(4, TEXT.len());
        let p = &mut self.packet;
        (p.time, p.sequence, p.uuid) = (random.bits(56), random.bits(14) as u32, random.bits(64));
        (p.name, p.categories[0]) = (random.bits(12), random.bits(10));
        (p.first_name, p.first_value, p.second_name) =
            (random.bits(8), random.bits(32), random.bits(8));
        p.second_text_len = random.between(4, LABEL.len());
        for m in &mut self.commit.moves {
            m.page = random.bits(14) as u32;
            m.chunk = random.bits(4) as u32;
            m.buffer = random.bits(8) as u32;
        }
        for p in &mut self.commit.patches {
            (p.buffer, p.writer) = (random.bits(8) as u32, random.bits(10) as u32);
            (p.chunk, p.offset) = (random.bits(30) as u32, random.bits(12) as u32);
        }
        self
    }
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number of 1 to `max` bits, each width as likely.
    fn bits(&mut self, max: u32) -> u64 {
        let width = 1 + self.next() % u64::from(max);
        self.next() >> (64 - width) | 1 << (width - 1)
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high - low + 1) as u64) as usize
    }
}
