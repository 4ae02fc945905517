//! Pages of one CPU become packets of one session.
//!
//! ```text
//! page ──┐    filter: the session's events, syscalls, texts
//! page ──┼─> compact sched? ─ yes ─> columns ──────────────────┐
//! page ──┘                  └ no ──> plan ──> encoded events ──┴─> FtraceEventBundle
//! ```
//!
//! A bundle is collected and then written at once. It ends with the pages that were read together, before a page with
//! lost events, and when it has many names. One without events is not written, unless it says that events were lost.
//! (`ftrace_event_bundle.proto`.)

#[cfg(test)]
mod tests;

use abi::map::SortedSet;
use protos::{FtraceClock, FtraceParseStatus as Status, TracePacketWriter};
use protozero::Writer;
use protozero::wire::tag;

use super::compact::{Columns, Layout, Switch, Waking};
use super::event::{self, Around, Buffer, Invalid};
use super::page::{Commit, Lost, Page, Record};
use super::table::plan::{Plan, Tag};
use super::table::plans::Plans;

/// Most names of a bundle, before a page: a reader walks them.
const COMMS_MAX: usize = 64;

/// `FtraceEventBundle.error`, and fields of `FtraceError`.
const ERROR: Tag = Tag::of(8, tag::LEN);
const TIMESTAMP: Tag = Tag::of(1, tag::VARINT);
const STATUS: Tag = Tag::of(2, tag::VARINT);

/// What of the pages a session keeps, and how it reads them.
pub(crate) struct Keep<'a> {
    /// How wide a part of the page headers is.
    pub(crate) commit: Commit,
    /// Its events.
    pub(crate) plans: &'a Plans,
    /// The filter of its records, if it has one.
    pub(crate) filter: Option<&'a Filter<'a>>,
}

impl Keep<'_> {
    /// The events that become columns, of those that the session has.
    fn compact(&self) -> (Option<&Switch>, Option<&Waking>) {
        let Some(Layout { switch, waking }) = &self.plans.compact else { return (None, None) };
        let has = |id| self.plans.get(id).is_some();
        (Some(switch).filter(|it| has(it.id)), Some(waking).filter(|it| has(it.id)))
    }
}

/// Whether a session keeps a record, beside having its event: a filter of texts or of system calls. Takes the id and
/// the record.
pub(crate) type Filter<'a> = dyn Fn(u16, &[u8]) -> bool + 'a;

/// What a session knows of a CPU between bundles.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Time of the last event that was written.
    end: u64,
    /// Records that did not fit their plan, since the start. They are left out.
    pub(crate) invalid: u64,
    /// Events that the kernel lost, as far as it counted them; a loss without a count is one.
    pub(crate) lost: u64,
    /// What was wrong with pages, since the start.
    pub(crate) errors: SortedSet<i32>,
}

/// The clock of an instance, if that is not the boot clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clocks {
    pub(crate) clock: FtraceClock,
    /// `None`: the kernel did not tell; then a reader cannot convert times, and must not take them for those of the
    /// boot clock.
    pub(crate) readings: Option<Readings>,
}

/// Two clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readings {
    /// In units of the instance's clock.
    pub(crate) ftrace: i64,
    pub(crate) boot_ns: i64,
}

/// A bundle that is being collected. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    /// `event` and `error` fields, in the order of the pages.
    events: Buffer,
    /// In memory of its own: it is large, and a session is moved.
    columns: Box<Columns>,
    /// Ids of the generic events, which need a descriptor.
    generic: Vec<u16>,
    lost: bool,
    /// Time of the last event of the bundle before.
    before: u64,
}

impl Bundle {
    /// Whether there is anything to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.len() == 0 && self.columns.is_empty() && !self.lost
    }

    /// Whether the bundle has to be written before this page is added.
    pub(crate) fn ends_before(&self, page: &[u8], commit: Commit) -> bool {
        let lost = Page::parse(page, commit).is_ok_and(|page| page.lost != Lost::Nothing);
        !self.is_empty() && (lost || self.columns.comms() > COMMS_MAX)
    }

    /// Adds what the session keeps of a page, one read of `trace_pipe_raw`. What is wrong with the page goes into the
    /// bundle and into `progress`; all records before it are kept.
    pub(crate) fn add(
        &mut self,
        page: &[u8],
        keep: &Keep<'_>,
        around: &mut Around<'_>,
        progress: &mut Progress,
    ) {
        if self.is_empty() {
            self.before = progress.end;
        }
        let time = page.first_chunk().map_or(0, |time| u64::from_le_bytes(*time));
        let parsed = match Page::parse(page, keep.commit) {
            Ok(page) => page,
            Err(status) => return self.error(time, status, progress),
        };
        let lost = match parsed.lost {
            Lost::Nothing => 0,
            Lost::Some => 1,
            Lost::Count(count) => count.max(1),
        };
        self.lost |= lost > 0;
        progress.lost = progress.lost.saturating_add(lost);
        let mut end = progress.end;
        let (switch, waking) = keep.compact();
        let usual = (switch.is_some_and(Switch::is_usual), waking.is_some_and(Waking::is_usual));
        for record in parsed.events() {
            let record = match record {
                Ok(record) => record,
                Err(status) => return self.error(time, status, progress),
            };
            let kept = if let Some(switch) = switch.filter(|switch| switch.id == record.id) {
                self.columns.switch(&record, switch, usual.0, around.facts).map(|()| true)
            } else if let Some(waking) = waking.filter(|waking| waking.id == record.id) {
                self.columns.waking(&record, waking, usual.1, around.facts).map(|()| true)
            } else if let Some(plan) = keep.plans.get(record.id) {
                self.record(&record, plan, keep, around)
            } else {
                continue;
            };
            match kept {
                Ok(true) => end = record.time,
                Ok(false) => {}
                Err(Invalid) => progress.invalid += 1,
            }
        }
        progress.end = end;
    }

    /// Adds a record that is written as an event; false if the session does not keep it.
    #[inline]
    fn record(
        &mut self,
        record: &Record<'_>,
        plan: &Plan,
        keep: &Keep<'_>,
        around: &mut Around<'_>,
    ) -> Result<bool, Invalid> {
        if keep.filter.is_some_and(|keeps| !keeps(record.id, record.bytes)) {
            return Ok(false);
        }
        event::write(&mut self.events, record, plan, keep.plans.pid_offset, around)?;
        if plan.descriptor.is_some() && !self.generic.contains(&record.id) {
            self.generic.push(record.id);
        }
        Ok(true)
    }

    #[cold]
    fn error(&mut self, time: u64, status: Status, progress: &mut Progress) {
        let body = self.events.begin(ERROR);
        self.events.uint(TIMESTAMP, time);
        self.events.uint(STATUS, i64::from(status.0).cast_unsigned());
        self.events.end(body);
        progress.errors.insert(status.0);
    }

    /// Writes the bundle, and begins the next one.
    pub(crate) fn write(
        &mut self,
        packet: &mut TracePacketWriter<'_>,
        cpu: u32,
        clocks: Option<Clocks>,
        plans: &Plans,
    ) {
        let mut bundle = packet.ftrace_events();
        bundle.cpu(cpu);
        if self.lost {
            bundle.lost_events(true);
        }
        bundle.previous_bundle_end_timestamp(self.before);
        if let Some(Clocks { clock, readings }) = clocks {
            bundle.ftrace_clock(clock);
            if let Some(Readings { ftrace, boot_ns }) = readings {
                bundle.ftrace_timestamp(ftrace);
                bundle.boot_timestamp(boot_ns);
            }
        }
        bundle.scope_mut().raw(self.events.written());
        if !self.columns.is_empty() {
            self.columns.write(&mut bundle.compact_sched());
        }
        for id in &self.generic {
            if let Some(descriptor) = plans.get(*id).and_then(|plan| plan.descriptor.as_deref()) {
                bundle.generic_event_descriptors_raw(descriptor);
            }
        }
        drop(bundle);
        self.events.clear();
        self.columns.clear();
        self.generic.clear();
        self.lost = false;
    }
}
