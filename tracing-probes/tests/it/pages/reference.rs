//! Reads formats and pages a second time, as slowly and simply as it can be done: each field of each record is looked
//! up by its name, and nothing is remembered but the formats.

use std::collections::BTreeSet;

use tracing_probes::offline::{Event, Session, Setup};

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Val {
    Number(u64),
    Bytes(Vec<u8>),
}

/// What a bundle has beside columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Lost,
    Error { time: u64, status: u64 },
    Event { time: u64, pid: u64, of: u32, fields: Vec<(u32, Val)> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) time: u64,
    pub(super) prev_state: u64,
    pub(super) next_pid: u64,
    pub(super) next_prio: u64,
    pub(super) next_comm: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waking {
    pub(super) time: u64,
    pub(super) pid: u64,
    pub(super) target_cpu: u64,
    pub(super) prio: u64,
    pub(super) comm: Vec<u8>,
    pub(super) common_flags: u64,
}

/// What a pass tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) items: Vec<Item>,
    pub(super) switches: Vec<Switch>,
    pub(super) wakings: Vec<Waking>,
    /// `GenericEventDescriptor`s.
    pub(super) descriptors: BTreeSet<Vec<u8>>,
    pub(super) invalid: u64,
    pub(super) errors: BTreeSet<i32>,
}

impl Told {
    pub(super) fn events(&self) -> usize {
        let is_event = |item: &&Item| matches!(item, Item::Event { .. });
        self.items.iter().filter(is_event).count() + self.switches.len() + self.wakings.len()
    }
}

#[derive(Clone, Debug)]
struct Field {
    declaration: String,
    name: String,
    at: usize,
    len: usize,
    is_signed: bool,
}

#[derive(Clone, Debug)]
struct Known {
    /// Its place among the events of the kernel.
    place: usize,
    group: String,
    name: String,
    id: u16,
    common: Vec<Field>,
    fields: Vec<Field>,
    /// Of a generic event: its number.
    number: u32,
}

/// What a field is, with the number of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Bytes,
    ToEnd,
    Array { is_near: bool, of: &'static str },
    Arguments,
    Printk,
    Address,
    Inode,
    Device,
    Pid,
    Integer,
    Bool,
}

/// A kernel with the events of a session.
#[derive(Clone)]
pub(super) struct Kernel {
    events: Vec<Known>,
    pid_at: usize,
    is_compact: bool,
    is_dense: bool,
    is_wide: bool,
    printk: Vec<(u64, Vec<u8>)>,
    /// What a session keeps of some events.
    calls: Option<Vec<u32>>,
    drops: Option<String>,
}

/// The record does not fit its format.
struct Bad;

/// A field of the schema: its name, its number and a letter for the type.
type Column = (&'static str, u32, char);

/// The number of an event in the schema, and its fields.
fn schema(group: &str, name: &str) -> Option<(u32, &'static [Column])> {
    Some(match (group, name) {
        ("ftrace", "print") => (3, &[("buf", 2, 's')]),
        ("raw_syscalls", "sys_enter") => (329, &[("id", 1, 'I'), ("args", 2, 'U')]),
        ("sched", "sched_switch") => (
            4,
            &[
                ("prev_comm", 1, 's'),
                ("prev_pid", 2, 'i'),
                ("prev_prio", 3, 'i'),
                ("prev_state", 4, 'I'),
                ("next_comm", 5, 's'),
                ("next_pid", 6, 'i'),
                ("next_prio", 7, 'i'),
            ],
        ),
        ("sched", "sched_waking") => (
            20,
            &[
                ("comm", 1, 's'),
                ("pid", 2, 'i'),
                ("prio", 3, 'i'),
                ("success", 4, 'i'),
                ("target_cpu", 5, 'i'),
            ],
        ),
        ("task", "task_rename") => (
            236,
            &[("pid", 1, 'i'), ("oldcomm", 2, 's'), ("newcomm", 3, 's'), ("oom_score_adj", 4, 'i')],
        ),
        _ => return None,
    })
}

fn line(line: &str) -> Option<Field> {
    let parts: Vec<&str> = line.strip_prefix("field:")?.split(';').map(str::trim_ascii).collect();
    let [declaration, at, len, signed, ..] = parts[..] else { return None };
    let number = |part: &str, key| part.strip_prefix(key)?.trim_ascii().parse::<u16>().ok();
    let (at, len) = (number(at, "offset:")?, number(len, "size:")?);
    let is_signed = number(signed, "signed:")? != 0;
    if declaration.len() > 127 || usize::from(at) + usize::from(len) > 65535 {
        return None;
    }
    let mut named = declaration.to_owned();
    if named.ends_with(']') {
        named.truncate(named.rfind('[')?);
    }
    let name = named[named.rfind(' ')? + 1..].to_owned();
    let is_letter = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(is_letter)
    {
        return None;
    }
    Some(Field {
        declaration: declaration.to_owned(),
        name,
        at: at.into(),
        len: len.into(),
        is_signed,
    })
}

fn known(place: usize, event: &Event<'_>) -> Option<Known> {
    let (mut id, mut has_name, mut all) = (None, false, Vec::new());
    for text in event.format.split(|byte| *byte == b'\n') {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        let text = text.trim_ascii();
        if text.starts_with("print fmt:") {
            break;
        } else if let Some(name) = text.strip_prefix("name:") {
            has_name |= !name.trim_ascii().is_empty();
        } else if let Some(number) = text.strip_prefix("ID:") {
            id = number.trim_ascii().parse::<u16>().ok().filter(|id| *id != 0);
        } else {
            all.extend(line(text));
        }
    }
    let is_common = |field: &Field| field.name.starts_with("common_");
    let (common, fields): (Vec<_>, Vec<_>) = all.into_iter().partition(is_common);
    let (group, name) = (event.group.to_owned(), event.name.to_owned());
    let is_format = has_name && !common.is_empty();
    is_format.then_some(Known { place, group, name, id: id?, common, fields, number: 0 })
}

impl Field {
    fn kind(&self) -> Option<Kind> {
        let text = self.declaration.as_str();
        let is_word = matches!(self.len, 4 | 8);
        let bytes =
            ["u8", "__u8", "uint8_t", "unsigned char", "s8", "__s8", "int8_t", "signed char"];
        if let Some((head, count)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('['))
            && let Some((element, _)) = head.rsplit_once(' ')
            && self.len > 0
            && !count.is_empty()
            && count.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        {
            let element = element.trim_ascii();
            if bytes.contains(&element) {
                return Some(Kind::Bytes);
            }
            if element.ends_with("char") {
                return Some(Kind::Text);
            }
        }
        for (word, is_near) in [("__data_loc ", false), ("__rel_loc ", true)] {
            let Some(at) = text.find(word) else { continue };
            let rest = &text[at + word.len()..];
            let rest = &rest[..rest.rfind(' ').unwrap_or(rest.len())];
            let element = rest[..rest.find('[').unwrap_or(rest.len())].trim_ascii();
            let of = match element {
                "char" | "const char" => "text",
                "unsigned long" => "address",
                element if bytes.contains(&element) => "bytes",
                element if element.contains('*') => "address",
                _ => "bytes",
            };
            return (self.len == 4).then_some(Kind::Array { is_near, of });
        }
        if text == "unsigned long args[6]" {
            return matches!(self.len, 24 | 48).then_some(Kind::Arguments);
        }
        if text.contains("char[] ") || text.contains("char * ") {
            return is_word.then_some(Kind::Printk);
        }
        let names_code = ["ip", "call_site"].contains(&self.name.as_str())
            || self.name.starts_with("caller")
            || self.name.starts_with("func");
        if text.contains('*') || names_code && text == format!("unsigned long {}", self.name) {
            return is_word.then_some(Kind::Address);
        }
        Some(match self.len {
            0 if text.starts_with("char ") => Kind::ToEnd,
            1 if text.starts_with("bool ") => Kind::Bool,
            4 | 8 if text.starts_with("ino_t ") || text.starts_with("i_ino ") => Kind::Inode,
            4 | 8 if text.starts_with("dev_t ") => Kind::Device,
            4 if text.starts_with("pid_t ") => Kind::Pid,
            1 | 2 | 4 | 8 => Kind::Integer,
            _ => return None,
        })
    }

    /// Whether the field becomes one of this type: a letter of `schema`, `b` for bytes.
    fn becomes(&self, letter: char) -> bool {
        let Some(kind) = self.kind() else { return false };
        match (kind, letter) {
            (Kind::Array { of, .. }, 's' | 'b') => of != "address",
            (Kind::Text | Kind::Bytes, 's' | 'b') => true,
            (Kind::ToEnd | Kind::Printk, 's') => true,
            (_, 's' | 'b') | (Kind::Text | Kind::ToEnd | Kind::Printk | Kind::Array { .. }, _) => {
                false
            }
            (Kind::Bytes, _) => matches!(self.len, 1 | 2 | 4 | 8),
            (Kind::Device | Kind::Arguments, letter) => letter == 'U',
            _ => true,
        }
    }

    /// The type of the field in a generic event.
    fn generic(&self) -> Option<char> {
        let letter = match self.kind()? {
            Kind::Text | Kind::ToEnd | Kind::Printk | Kind::Array { of: "text", .. } => 's',
            Kind::Array { of: "address", .. } | Kind::Arguments => return None,
            Kind::Bytes | Kind::Array { .. } => 'b',
            Kind::Pid => 'I',
            Kind::Integer if self.is_signed => 'I',
            _ => 'U',
        };
        Some(letter)
    }

    /// What is written for a field of a type; `None` if the type does not have the value.
    fn values(
        &self,
        record: &[u8],
        letter: char,
        pass: &mut Vec<u64>,
        printk: &[(u64, Vec<u8>)],
    ) -> Result<Vec<Val>, Bad> {
        let to_nul = |bytes: &[u8]| bytes.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec();
        let kind = self.kind().ok_or(Bad)?;
        let bytes = match kind {
            Kind::ToEnd => record.get(self.at..),
            _ => record.get(self.at..self.at + self.len),
        };
        let bytes = bytes.ok_or(Bad)?;
        let value = match kind {
            Kind::Text | Kind::Bytes | Kind::ToEnd if letter == 's' => Val::Bytes(to_nul(bytes)),
            Kind::Text | Kind::Bytes if letter == 'b' => Val::Bytes(bytes.to_vec()),
            Kind::Array { is_near, .. } => {
                let (offset, len) = (unsigned(&bytes[..2]), unsigned(&bytes[2..]));
                let begin = offset as usize + if is_near { self.at + 4 } else { 0 };
                let there = match len {
                    0 => &[],
                    _ => record.get(begin..begin + len as usize).ok_or(Bad)?,
                };
                Val::Bytes(if letter == 's' { to_nul(there) } else { there.to_vec() })
            }
            Kind::Printk => {
                let found = printk.iter().find(|(address, _)| *address == unsigned(bytes));
                Val::Bytes(found.map(|(_, text)| text.clone()).unwrap_or_default())
            }
            Kind::Arguments => {
                let words = bytes.chunks_exact(self.len / 6);
                return Ok(words.map(|word| Val::Number(unsigned(word))).collect());
            }
            Kind::Address => Val::Number(index(pass, unsigned(bytes))),
            Kind::Device if letter == 'U' => Val::Number(device(unsigned(bytes))),
            kind => {
                let is_signed = kind == Kind::Pid
                    || self.is_signed && matches!(kind, Kind::Integer | Kind::Bytes);
                let mut value = i128::from(unsigned(bytes));
                if is_signed && bytes[bytes.len() - 1] >= 128 {
                    value -= 1 << (8 * bytes.len());
                }
                let (low, high) = match letter {
                    'u' => (0, (1 << 32) - 1),
                    'U' => (0, (1 << 64) - 1),
                    'i' => (-(1 << 31), (1 << 31) - 1),
                    _ => (-(1 << 63), (1 << 63) - 1),
                };
                if value < low || value > high {
                    return Ok(Vec::new());
                }
                Val::Number(value as u64)
            }
        };
        Ok(vec![value])
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The number of an address in a pass.
fn index(pass: &mut Vec<u64>, address: u64) -> u64 {
    if !pass.contains(&address) {
        pass.push(address);
    }
    pass.iter().position(|other| *other == address).map_or(0, |at| at as u64 + 1)
}

/// The kernel has twelve bits of the major number and twenty of the minor one; user space has them in other places.
fn device(kernel: u64) -> u64 {
    let (major, minor) = (kernel >> 20, kernel % (1 << 20));
    (minor % 256) | (major % 4096) << 8 | (minor / 256) << 20 | (major / 4096) << 44
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn encode(fields: &[(u32, Val)]) -> Vec<u8> {
    let mut message = Vec::new();
    for (number, value) in fields {
        let tag = u64::from(*number) * 8;
        match value {
            Val::Number(value) => message.extend([varint(tag), varint(*value)].concat()),
            Val::Bytes(bytes) => {
                message
                    .extend([varint(tag | 2), varint(bytes.len() as u64), bytes.clone()].concat());
            }
        }
    }
    message
}

fn text(text: &str) -> Val {
    Val::Bytes(text.as_bytes().to_vec())
}

impl Known {
    fn end(&self) -> usize {
        self.common.iter().map(|field| field.at + field.len).max().unwrap_or(0)
    }

    /// The fields that a generic event has, with their types.
    fn generic(&self) -> Vec<(&Field, char)> {
        let is_first =
            |at: usize| !self.fields[..at].iter().any(|f| f.name == self.fields[at].name);
        let fields = self.fields.iter().enumerate().filter(|(at, _)| is_first(*at));
        fields.filter_map(|(_, field)| Some((field, field.generic()?))).collect()
    }

    fn descriptor(&self) -> Vec<u8> {
        let mut message = vec![(1, text(&self.name))];
        for (number, (field, letter)) in (1..32).zip(self.generic()) {
            let kind = match letter {
                's' => 9,
                'b' => 12,
                'I' => 3,
                _ => 4,
            };
            let field = [(1, text(&field.name)), (3, Val::Number(number)), (5, Val::Number(kind))];
            message.push((2, Val::Bytes(encode(&field))));
        }
        let number = Val::Number(self.number.into());
        encode(&[(1, number), (2, Val::Bytes(encode(&message))), (3, text(&self.group))])
    }

    /// The fields of the event that are written: number, field and type.
    fn written(&self, is_dense: bool) -> Vec<(u32, &Field, char)> {
        match schema(&self.group, &self.name) {
            Some((_, fields)) => fields
                .iter()
                .filter_map(|(name, number, letter)| {
                    let field = self.fields.iter().find(|field| field.name == *name)?;
                    field.becomes(*letter).then_some((*number, field, *letter))
                })
                .collect(),
            None if is_dense => {
                let fields = (1..32).zip(self.generic());
                fields.map(|(number, (field, letter))| (number, field, letter)).collect()
            }
            None => {
                let fields = self.generic().into_iter().filter(|(_, letter)| *letter != 'b');
                fields.map(|(field, letter)| (2, field, letter)).collect()
            }
        }
    }
}

impl Kernel {
    pub(super) fn new(events: &[Event<'_>], setup: &Setup<'_>) -> Self {
        let known = events.iter().enumerate().filter_map(|(place, event)| known(place, event));
        let mut known: Vec<Known> = known.collect();
        let pid = |event: &Known| {
            event.common.iter().find(|f| f.name == "common_pid" && f.len == 4).map(|f| f.at)
        };
        let pid_at = known.iter().find_map(pid).unwrap_or(4);
        let generic = known.iter_mut().filter(|event| schema(&event.group, &event.name).is_none());
        generic.zip(65536..).for_each(|(event, number)| event.number = number);
        let printk = setup.printk.iter().map(|(at, text)| (*at, text.to_vec())).collect();
        let mut kernel = Self {
            events: known,
            pid_at,
            is_compact: setup.is_compact,
            is_dense: setup.is_dense,
            is_wide: setup.is_wide,
            printk,
            calls: None,
            drops: None,
        };
        kernel.is_compact &= kernel.has_columns();
        kernel
    }

    /// The same kernel for sessions beside each other, one after the other. Each event has an id of its own.
    pub(super) fn of_each(&self, sessions: &[Session]) -> Vec<Self> {
        let mut numbers = Vec::new();
        let of_one = |session: &Session| {
            let mut kernel = self.clone();
            kernel.events.retain(|event| session.events.contains(&event.place));
            for event in &mut kernel.events {
                if schema(&event.group, &event.name).is_none() {
                    // The first session that has an event decides its number.
                    event.number = 65535 + index(&mut numbers, event.place as u64) as u32;
                }
            }
            kernel.is_compact = session.is_compact
                && self.has_columns()
                && kernel.events.iter().any(|event| event.name == "sched_switch");
            kernel.is_dense = session.is_dense;
            kernel.calls.clone_from(&session.calls);
            kernel.drops.clone_from(&session.drops);
            kernel
        };
        sessions.iter().map(of_one).collect()
    }

    fn has_columns(&self) -> bool {
        self.columns("sched_switch", &SWITCH) && self.columns("sched_waking", &WAKING)
    }

    /// Does the session keep this record?
    fn keeps(&self, event: &Known, record: &[u8]) -> bool {
        let written = event.written(self.is_dense);
        let field = |name: &str| {
            written.iter().map(|(_, field, _)| *field).find(|field| field.name == name)
        };
        match (event.name.as_str(), &self.calls, &self.drops) {
            ("sys_enter", Some(calls), _) => {
                let Some(field) = field("id").filter(|field| matches!(field.len, 4 | 8)) else {
                    return true;
                };
                let number = record.get(field.at..field.at + field.len).map(unsigned);
                // As a signed number it is none of a call.
                number.is_some_and(|n| n < 1 << 31 && calls.contains(&(n as u32)))
            }
            ("print", _, Some(prefix)) => {
                let is_text = |field: &&Field| field.kind() == Some(Kind::ToEnd);
                let Some(field) = field("buf").filter(is_text) else { return true };
                let Some(text) = record.get(field.at..) else { return true };
                let text = text.split(|byte| *byte == 0).next().unwrap_or(&[]);
                !text.starts_with(prefix.as_bytes())
            }
            _ => true,
        }
    }

    /// The ids of events.
    pub(super) fn ids(&self) -> Vec<u16> {
        self.events.iter().map(|event| event.id).collect()
    }

    /// The event of an id: the last one that has it.
    fn event(&self, id: u16) -> Option<&Known> {
        self.events.iter().rfind(|event| event.id == id)
    }

    /// Whether the event has the fields for columns.
    fn columns(&self, name: &str, columns: &[&str]) -> bool {
        let found = self.events.iter().find(|e| e.group == "sched" && e.name == name);
        found.is_some_and(|event| {
            self.event(event.id).is_some_and(|of| of.name == name)
                && columns.iter().all(|column| column_of(event, column).is_some())
        })
    }

    /// What the pages of a pass tell.
    pub(super) fn read(&self, pages: &[Vec<u8>], page_bytes: usize) -> Told {
        let (mut told, mut addresses) = (Told::default(), Vec::new());
        for page in pages {
            // A read that gives too little, or nothing, gives no page.
            if page.len() < page_bytes {
                if !page.is_empty() {
                    told.errors.insert(3);
                }
                continue;
            }
            if let Err(status) = self.page(page, &mut told, &mut addresses) {
                told.errors.insert(status);
                let (time, status) = (unsigned(&page[..8]), status as u64);
                told.items.push(Item::Error { time, status });
            }
        }
        told
    }

    fn page(&self, page: &[u8], told: &mut Told, addresses: &mut Vec<u64>) -> Result<(), i32> {
        let begin = if self.is_wide { 16 } else { 12 };
        let commit = unsigned(&page[8..12]);
        let size = (commit % (1 << 27)) as usize;
        if size == 0 || begin + size > page.len() {
            return Err(4);
        }
        if commit >> 31 != 0 {
            told.items.push(Item::Lost);
        }
        let mut time = unsigned(&page[..8]);
        let mut rest = &page[begin..begin + size];
        let word = |rest: &mut &[u8], status| -> Result<u64, i32> {
            let (word, behind) = rest.split_at_checked(4).ok_or(status)?;
            *rest = behind;
            Ok(unsigned(word))
        };
        while !rest.is_empty() {
            let head = word(&mut rest, 5)?;
            let (kind, delta) = (head % 32, head / 32);
            let len = match kind {
                29 if delta == 0 => return Err(6),
                29 => {
                    let len = word(&mut rest, 7)?.checked_sub(4).ok_or(8)? as usize;
                    time = time.wrapping_add(delta);
                    rest = rest.get(len..).unwrap_or(&[]);
                    continue;
                }
                30 => {
                    let more = delta + word(&mut rest, 9)? * (1 << 27);
                    time = time.wrapping_add(more);
                    continue;
                }
                31 => {
                    let stamp = delta + word(&mut rest, 10)? * (1 << 27);
                    let high = time - time % (1 << 59);
                    // The kernel counts on where the five bits are not zero.
                    let passed = high != 0 && high + stamp < time;
                    time = (high + stamp).wrapping_add(if passed { 1 << 59 } else { 0 });
                    continue;
                }
                0 => match word(&mut rest, 11)? {
                    0 => return Err(12),
                    len @ 1..4 => return Err(if len == 0 { 12 } else { 13 }),
                    len => len - 4,
                },
                words => words * 4,
            };
            time = time.wrapping_add(delta);
            let (record, behind) = rest.split_at_checked(len as usize).ok_or(15)?;
            rest = behind;
            let id = record.get(..2).ok_or(14)?;
            if let Some(event) = self.event(unsigned(id) as u16)
                && self.keeps(event, record)
                && self.record(event, time, record, told, addresses).is_err()
            {
                told.invalid += 1;
            }
        }
        Ok(())
    }

    fn record(
        &self,
        event: &Known,
        time: u64,
        record: &[u8],
        told: &mut Told,
        addresses: &mut Vec<u64>,
    ) -> Result<(), Bad> {
        if self.is_compact && event.group == "sched" {
            return compact(event, time, record, told);
        }
        let pid = record.get(self.pid_at..self.pid_at + 4).ok_or(Bad)?;
        let pid = i64::from(unsigned(pid) as u32 as i32) as u64;
        let written = event.written(self.is_dense);
        let end = written.iter().map(|(_, field, _)| field.at + field.len).max().unwrap_or(0);
        if record.len() < end.max(event.end()) {
            return Err(Bad);
        }
        let is_known = schema(&event.group, &event.name).map(|(number, _)| number);
        let is_legacy = is_known.is_none() && !self.is_dense;
        let mut fields = Vec::new();
        if is_legacy {
            fields.push((1, text(&event.name)));
        }
        for (number, field, letter) in written {
            let values = field.values(record, letter, addresses, &self.printk)?;
            if is_legacy {
                let of = match letter {
                    's' => 3,
                    'I' => 4,
                    _ => 5,
                };
                let mut inner = vec![(1, text(&field.name))];
                inner.extend(values.into_iter().map(|value| (of, value)));
                fields.push((number, Val::Bytes(encode(&inner))));
            } else {
                fields.extend(values.into_iter().map(|value| (number, value)));
            }
        }
        let of = is_known.unwrap_or(if is_legacy { 327 } else { event.number });
        if is_known.is_none() && self.is_dense {
            told.descriptors.insert(event.descriptor());
        }
        told.items.push(Item::Event { time, pid, of, fields });
        Ok(())
    }
}

const SWITCH: [&str; 4] = ["prev_state", "next_pid", "next_prio", "next_comm"];
const WAKING: [&str; 5] = ["pid", "target_cpu", "prio", "comm", "common_flags"];

/// The field of a column, if it is of the known type.
fn column_of<'k>(event: &'k Known, name: &str) -> Option<&'k Field> {
    let is_known = |field: &&Field| match name {
        "prev_state" => field.is_signed && matches!(field.len, 4 | 8),
        "next_pid" | "pid" => field.declaration.starts_with("pid_t ") && field.len == 4,
        "common_flags" => field.len == 1 && !field.is_signed,
        "next_comm" | "comm" => field.declaration.starts_with("char ") && field.len == 16,
        _ => field.is_signed && field.len == 4,
    };
    event.common.iter().chain(&event.fields).filter(|field| field.name == name).find(is_known)
}

fn compact(event: &Known, time: u64, record: &[u8], told: &mut Told) -> Result<(), Bad> {
    let bytes = |name: &str| {
        let field = column_of(event, name).ok_or(Bad)?;
        record.get(field.at..field.at + field.len).ok_or(Bad)
    };
    let number = |name: &str| {
        let bytes = bytes(name)?;
        Ok(match bytes.len() {
            1 => bytes[0].into(),
            4 => i64::from(unsigned(bytes) as u32 as i32) as u64,
            _ => unsigned(bytes),
        })
    };
    let name =
        |name: &str| Ok(bytes(name)?.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec());
    if event.name == "sched_switch" {
        told.switches.push(Switch {
            time,
            prev_state: number("prev_state")?,
            next_pid: number("next_pid")?,
            next_prio: number("next_prio")?,
            next_comm: name("next_comm")?,
        });
    } else {
        told.wakings.push(Waking {
            time,
            pid: number("pid")?,
            target_cpu: number("target_cpu")?,
            prio: number("prio")?,
            comm: name("comm")?,
            common_flags: number("common_flags")?,
        });
    }
    Ok(())
}
