//! Reads formats and pages a second time, as slowly and simply as it can be done: each field of each record is looked
//! up by its name, and nothing is remembered but the formats.

mod columns;
mod event;
mod field;

use std::collections::BTreeSet;

use tracing_probes::offline::{Event, Session, Setup};

use self::columns::{SWITCH, WAKING, column_of, compact};
use self::event::{Known, encode, known, schema, text};
use self::field::{Bad, Field, Kind, index, unsigned};

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
