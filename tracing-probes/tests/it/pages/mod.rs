//! Any formats of the kernel with any pages of its ring buffer, for the tests of this crate and for fuzzing.
//!
//! ```text
//! input ─> formats, pages ─┬─> tracing_probes::offline ─> packets ─> items ─┐
//!                          └─> reference, slow and simple ───────> items ──┴─> are the same
//! ```
//!
//! The input says how texts and pages are put together, so that most of them mean something; some are any bytes.

mod reference;

use protozero::{Reader, Value};
use tracing_probes::offline::{self, Event, Read, Session, Setup};

use self::reference::{Item, Kernel, Switch, Told, Val, Waking};

/// Events of a session, in the order in which a table reads them.
const NAMES: [(&str, &str); 7] = [
    ("ftrace", "print"),
    ("raw_syscalls", "sys_enter"),
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("task", "task_rename"),
    ("user", "first"),
    ("user", "second"),
];

/// Declarations, and how many bytes such a field has.
const DECLARATIONS: [(&str, u16); 40] = [
    ("char buf[]", 0),
    ("char comm[16]", 16),
    ("unsigned char key[TASK_COMM_LEN]", 8),
    ("u8 sid[4]", 4),
    ("s8 small[2]", 2),
    ("__data_loc char[] name", 4),
    ("__data_loc u8[] blob", 4),
    ("__data_loc unsigned long[] stack", 4),
    ("__data_loc int[] list", 4),
    ("__data_loc struct x *[] links", 4),
    ("__rel_loc char[] near", 4),
    ("__rel_loc __u8[] close", 4),
    ("unsigned long args[6]", 48),
    ("unsigned long args[6]", 24),
    ("const char * text", 8),
    ("__data char[] printed", 4),
    ("void * ptr", 8),
    ("void *small_ptr", 4),
    ("const struct file *file", 8),
    ("unsigned long ip", 8),
    ("unsigned long caller_ip", 4),
    ("unsigned long function", 8),
    ("bool is_set", 1),
    ("ino_t ino", 8),
    ("i_ino old", 4),
    ("dev_t dev", 4),
    ("dev_t wide_dev", 8),
    ("pid_t pid", 4),
    ("pid_t next_pid", 4),
    ("int next_prio", 4),
    ("int prio", 4),
    ("int target_cpu", 4),
    ("char next_comm[16]", 16),
    ("long prev_state", 8),
    ("long id", 8),
    ("u64 count", 8),
    ("unsigned short mode", 2),
    ("short oom_score_adj", 2),
    ("signed char level", 1),
    ("u128 none", 16),
];

/// The fields of the events of the schema as Linux has them: declarations with offset, size and sign.
const FIELDS: [&[(&str, u16, u16, u8)]; 5] = [
    &[("unsigned long ip", 8, 8, 0), ("char buf[]", 16, 0, 0)],
    &[("long id", 8, 8, 1), ("unsigned long args[6]", 16, 48, 0)],
    &[
        ("char prev_comm[16]", 8, 16, 0),
        ("pid_t prev_pid", 24, 4, 1),
        ("int prev_prio", 28, 4, 1),
        ("long prev_state", 32, 8, 1),
        ("char next_comm[16]", 40, 16, 0),
        ("pid_t next_pid", 56, 4, 1),
        ("int next_prio", 60, 4, 1),
    ],
    &[
        ("char comm[16]", 8, 16, 0),
        ("pid_t pid", 24, 4, 1),
        ("int prio", 28, 4, 1),
        ("int target_cpu", 32, 4, 1),
    ],
    &[
        ("pid_t pid", 8, 4, 1),
        ("char oldcomm[16]", 12, 16, 0),
        ("char newcomm[16]", 28, 16, 0),
        ("short oom_score_adj", 44, 2, 1),
    ],
];

const COMMON: [(&str, u16, u16, u8); 4] = [
    ("unsigned short common_type", 0, 2, 0),
    ("unsigned char common_flags", 2, 1, 0),
    ("unsigned char common_preempt_count", 3, 1, 0),
    ("int common_pid", 4, 4, 1),
];

const PRINTK: [(u64, &[u8]); 2] = [(0, b"zero"), (0x0101_0101_0101_0101, b"ones")];

/// The input, taken byte by byte; zeros behind its end.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }
}

/// Reads what the input says, and compares; returns how many events there were.
pub fn check(input: &[u8]) -> usize {
    let mut source = Source(input);
    let flags = source.byte();
    let formats: Vec<_> = (0..NAMES.len()).map(|at| format(&mut source, at)).collect();
    let events: Vec<Event<'_>> = NAMES
        .iter()
        .zip(&formats)
        .filter_map(|((group, name), format)| Some(Event { group, name, format: format.as_ref()? }))
        .collect();
    let setup = Setup {
        is_compact: flags & 1 != 0,
        is_dense: flags & 2 != 0,
        is_wide: flags & 4 != 0,
        page_bytes: [4096, 8192, 65536, 0][usize::from(flags >> 3 & 3)],
        pages_max: 1 + source.below(80),
        printk: &PRINTK,
    };
    let page_bytes = setup.page_bytes.max(4096);
    let kernel = Kernel::new(&events, &setup);
    let mut pages = Vec::new();
    while !source.0.is_empty() && pages.len() < 80 {
        pages.push(page(&mut source, &kernel, page_bytes, setup.is_wide));
    }
    let one = compare(&kernel, offline::read(&events, &setup, &pages), &pages, page_bytes);
    // Two events with one id are one, and which of them depends on the order of all sessions.
    let ids = kernel.ids();
    if (1..ids.len()).all(|at| !ids[..at].contains(&ids[at])) {
        let sessions = sessions(input, events.len());
        let reads = offline::read_each(&events, &sessions, &setup, &pages);
        assert_eq!(reads.len(), sessions.len());
        for (kernel, read) in kernel.of_each(&sessions).iter().zip(reads) {
            compare(kernel, read, &pages, page_bytes);
        }
    }
    one
}

/// Three sessions with events and filters of their own, by the bits of the begin of the input.
fn sessions(input: &[u8], event_count: usize) -> Vec<Session> {
    let session = |number: usize| {
        let bits = input.iter().skip(number).step_by(3).take(8);
        let bits = bits.fold(0x9e37_u64, |bits, byte| {
            (bits ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        let bit = |at: usize| bits >> (32 + at) & 1 != 0;
        Session {
            events: (0..event_count).filter(|at| bit(*at)).collect(),
            is_compact: bit(8),
            is_dense: bit(9),
            calls: bit(10).then(|| (0..8).filter(|at| bit(12 + *at as usize)).collect()),
            drops: bit(11).then(|| ["", "\x01", "\0", "a"][bits as usize % 4].to_owned()),
        }
    };
    (0..3).map(session).collect()
}

fn compare(kernel: &Kernel, read: Read, pages: &[Vec<u8>], page_bytes: usize) -> usize {
    let (mut rest, mut count, mut invalid) = (pages, 0, 0);
    let mut errors = std::collections::BTreeSet::new();
    for pass in read.passes {
        let (now, later) = rest.split_at(pass.reads);
        rest = later;
        let want = kernel.read(now, page_bytes);
        let mut told =
            Told { invalid: want.invalid, errors: want.errors.clone(), ..Told::default() };
        pass.packets.iter().for_each(|packet| unpack(packet, &mut told));
        assert_eq!(told, want);
        count += want.events();
        invalid += want.invalid;
        errors.extend(want.errors);
    }
    assert_eq!(rest.len(), 0, "pages that were not read");
    assert_eq!(read.invalid, invalid);
    assert_eq!(read.errors, errors.into_iter().collect::<Vec<_>>());
    count
}

/// A format: none, any bytes, that of Linux, or fields at random.
fn format(source: &mut Source<'_>, at: usize) -> Option<Vec<u8>> {
    let kind = source.below(16);
    if kind == 0 {
        return None;
    }
    if kind == 1 {
        let len = source.below(256);
        return Some(source.bytes(len));
    }
    let id = if kind == 2 { source.short() } else { 1 + at as u16 };
    let mut text = format!("name: {}\nID: {id}\nformat:\n", NAMES[at].1);
    let line = |(declaration, offset, len, sign): &(&str, u16, u16, u8)| {
        format!("\tfield:{declaration};\toffset:{offset};\tsize:{len};\tsigned:{sign};\n")
    };
    let commons = if kind == 3 { source.below(5) } else { 4 };
    text.extend(COMMON[..commons].iter().map(line));
    text.push('\n');
    match FIELDS.get(at) {
        Some(fields) if kind > 6 => text.extend(fields.iter().map(line)),
        _ => {
            let mut offset = 8_u16;
            for _ in 0..source.below(if kind == 4 { 64 } else { 12 }) {
                let (declaration, natural) = DECLARATIONS[source.below(DECLARATIONS.len())];
                let odd = source.byte();
                let len = if odd & 0xf0 == 0x10 { source.short() } else { natural };
                if odd & 0xf0 == 0x20 {
                    offset = source.short();
                }
                text.push_str(&line(&(declaration, offset, len, odd & 1)));
                offset = offset.saturating_add(len);
            }
        }
    }
    text.push_str("\nprint fmt: \"x\"\n");
    Some(text.into_bytes())
}

/// What a read gives: a page of records, any bytes, a part of a page, or nothing.
fn page(source: &mut Source<'_>, kernel: &Kernel, page_bytes: usize, is_wide: bool) -> Vec<u8> {
    let kind = source.below(16);
    if kind == 0 {
        return Vec::new();
    }
    let mut page = Vec::new();
    if kind == 1 {
        page = source.bytes(64);
    } else {
        let high = source.below(64);
        page.extend((u64::from(source.byte()) << high).to_le_bytes());
        let records = records(source, kernel, page_bytes - 24);
        let hostile = source.byte();
        let mut commit = if hostile == 1 { source.short().into() } else { records.len() as u32 };
        commit |= u32::from(hostile & 0xc0) << 24;
        page.extend(commit.to_le_bytes());
        if is_wide {
            page.extend([hostile; 4]);
        }
        page.extend(records);
    }
    page.extend(0x0123_4567_u64.to_le_bytes());
    page.truncate(page_bytes);
    // The kernel does not clear what is behind.
    page.resize(if kind == 2 { source.below(page_bytes) } else { page_bytes }, 0xdd);
    page
}

fn records(source: &mut Source<'_>, kernel: &Kernel, bytes_max: usize) -> Vec<u8> {
    let mut records = Vec::new();
    for _ in 0..source.below(24) {
        let (kind, times) = (source.below(16), 1 + source.below(32));
        let delta = u32::from(source.short());
        let record = match kind {
            0 => [31 | delta << 5, source.short().into()].map(u32::to_le_bytes).concat(),
            1 => [30 | delta << 5, source.short().into()].map(u32::to_le_bytes).concat(),
            2 => {
                let len = u32::from(source.byte()) & !3;
                let mut padding = [29 | delta << 5, len].map(u32::to_le_bytes).concat();
                padding.resize(padding.len() + len.saturating_sub(4) as usize, 0xaa);
                padding
            }
            3 => source.bytes(8),
            _ => event(source, kernel, delta, kind == 4),
        };
        for _ in 0..times {
            if records.len() + record.len() <= bytes_max {
                records.extend(&record);
            }
        }
    }
    records
}

fn event(source: &mut Source<'_>, kernel: &Kernel, delta: u32, is_long: bool) -> Vec<u8> {
    let ids = kernel.ids();
    let choice = source.below(ids.len() + 1);
    let id = ids.get(choice).copied().unwrap_or(0x1234);
    let words = if is_long { source.below(256) } else { 1 + source.below(28) };
    let fill = source.byte();
    let mut body: Vec<u8> = match fill {
        0 => source.bytes(words * 4),
        // Each word locates a few bytes.
        1..64 => {
            (0..words).flat_map(|at| [(at as u8).wrapping_add(fill / 8), 0, fill % 8, 0]).collect()
        }
        _ => (0..words * 4).map(|at| (at as u8 / 4).wrapping_mul(fill) >> (at % 4)).collect(),
    };
    // Half of them have a small number where system calls have theirs.
    if fill % 2 == 1
        && let Some(number) = body.get_mut(8..16)
    {
        number.copy_from_slice(&u64::from(fill / 2 % 8).to_le_bytes());
    }
    if let Some(at) = body.first_chunk_mut() {
        *at = id.to_le_bytes();
    }
    let mut head = vec![delta << 5 | if is_long { 0 } else { words as u32 }];
    if is_long {
        head.push(words as u32 * 4 + 4);
    }
    [head.into_iter().flat_map(u32::to_le_bytes).collect(), body].concat()
}

/// The fields of a message.
fn fields(message: &[u8]) -> Vec<(u32, Val)> {
    let (mut reader, mut fields) = (Reader::new(message), Vec::new());
    while let Some(field) = reader.next_field().expect("a message") {
        fields.push(match field.value {
            Value::Varint(value) => (field.number, Val::Number(value)),
            Value::Len(bytes) => (field.number, Val::Bytes(bytes.to_vec())),
            other => panic!("a bundle has no {other:?}"),
        });
    }
    fields
}

fn number(fields: &[(u32, Val)], wanted: u32) -> u64 {
    let found = fields.iter().find(|(number, _)| *number == wanted);
    let Some((_, Val::Number(value))) = found else { panic!("no number {wanted}: {fields:?}") };
    *value
}

/// What a packet has.
fn unpack(packet: &[u8], told: &mut Told) {
    let packet = fields(packet);
    let [(1, Val::Bytes(bundle))] = &packet[..] else { panic!("no bundle: {packet:?}") };
    let bundle = fields(bundle);
    assert!(bundle.iter().any(|(number, _)| ![1, 10, 11].contains(number)), "nothing in it");
    for (field, value) in bundle {
        match (field, value) {
            (1, Val::Number(0)) | (10, Val::Number(_)) => {}
            (3, Val::Number(1)) => told.items.push(Item::Lost),
            (2, Val::Bytes(event)) => told.items.push(unpack_event(&event)),
            (4, Val::Bytes(compact)) => unpack_compact(&compact, told),
            (8, Val::Bytes(error)) => {
                let error = fields(&error);
                let (time, status) = (number(&error, 1), number(&error, 2));
                told.items.push(Item::Error { time, status });
            }
            (11, Val::Bytes(descriptor)) => _ = told.descriptors.insert(descriptor),
            other => panic!("not in a bundle: {other:?}"),
        }
    }
}

fn unpack_event(event: &[u8]) -> Item {
    let event = fields(event);
    let [(1, Val::Number(time)), (2, Val::Number(pid)), (of, Val::Bytes(body))] = &event[..] else {
        panic!("no event: {event:?}")
    };
    Item::Event { time: *time, pid: *pid, of: *of, fields: fields(body) }
}

fn unpack_compact(compact: &[u8], told: &mut Told) {
    let (mut columns, mut comms) = (vec![Vec::new(); 13], Vec::new());
    for (field, value) in fields(compact) {
        let Val::Bytes(bytes) = value else { panic!("no column: {field}") };
        if field == 5 {
            comms.push(bytes);
            continue;
        }
        let mut value = 0_u64;
        let mut shift = 0;
        for byte in bytes {
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                columns[field as usize].push(value);
                (value, shift) = (0, 0);
            }
        }
    }
    let comm = |index: u64| comms[index as usize].clone();
    let mut time = 0_u64;
    for (at, delta) in columns[1].iter().enumerate() {
        time = time.wrapping_add(*delta);
        told.switches.push(Switch {
            time,
            prev_state: columns[2][at],
            next_pid: columns[3][at],
            next_prio: columns[4][at],
            next_comm: comm(columns[6][at]),
        });
    }
    time = 0;
    for (at, delta) in columns[7].iter().enumerate() {
        time = time.wrapping_add(*delta);
        told.wakings.push(Waking {
            time,
            pid: columns[8][at],
            target_cpu: columns[9][at],
            prio: columns[10][at],
            comm: comm(columns[11][at]),
            common_flags: columns[12][at],
        });
    }
}
