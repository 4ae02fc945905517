//! `linux.systemd_journald`: entries of the system's journal, as they come.
//!
//! ```text
//!   journalctl --follow ──pipe──> export    ──> follow          ──> one mailbox for each instance ──> packets
//!   (one for all instances)       its format    which entries        filters: priority, identifier, unit
//! ```
//!
//! The journal's files have no stable format but the one that `journalctl` prints ([Journal Export Formats]), and the
//! library that reads them is written in C. So one `journalctl` runs while there are instances; it has the rights of
//! this process: for a user who is neither root nor in the group `systemd-journal`, it prints the entries of that user
//! alone, and a warning tells that. The pipe makes it wait when instances are slower than the journal. A flush may lack
//! the entries of the last quarter of a second, which `journalctl` prints later.
//!
//! An entry is written if its priority is at most `min_prio` (7 if there is none, so 0 leaves emergencies alone), its
//! `SYSLOG_IDENTIFIER` is one of `filter_identifiers` and its `_SYSTEMD_UNIT` one of `filter_units`, each list only if
//! it has values. Entries without a priority are left out. The timestamp is that of the monotonic clock at which
//! journald received the entry; entries of another boot have none of this boot, and are counted as failed. A flush
//! writes a packet with both counts.
//!
//! [Journal Export Formats]: https://systemd.io/JOURNAL_EXPORT_FORMATS/

mod export;
mod follow;

#[cfg(test)]
mod tests;

use std::time::Duration;

use protos::{DataSourceConfig, SystemdJournaldEventWriter};

use self::export::Entry;
use self::follow::{Journal, Mailbox};
use crate::output::Output;
use crate::probe::Probe;
use abi::sync::Arc;

/// Time between two reads of what came.
const PERIOD: Duration = Duration::from_millis(250);
/// The least important priority: debugging.
const PRIO_DEBUG: u32 = 7;
/// `CLOCK_MONOTONIC` as packets name it (`BuiltinClock`).
const MONOTONIC: u32 = protos::BuiltinClock::BUILTIN_CLOCK_MONOTONIC.0.cast_unsigned();
const BOOTTIME: u32 = protos::BuiltinClock::BUILTIN_CLOCK_BOOTTIME.0.cast_unsigned();

/// One instance.
#[derive(Debug)]
pub(crate) struct JournaldProbe {
    min_prio: u32,
    identifiers: Vec<String>,
    units: Vec<String>,
    /// Monotonic clock at the start, microseconds. Older entries are not of this session.
    since_us: u64,
    mailbox: Arc<Mailbox>,
    total: u64,
    failed: u64,
}

impl Probe for JournaldProbe {
    const NAME: &'static str = "linux.systemd_journald";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = Journal;

    fn new(_: &mut Journal, config: &DataSourceConfig) -> Self {
        let config = config.journald_config.as_ref();
        Self {
            min_prio: config.and_then(|config| config.min_prio).unwrap_or(PRIO_DEBUG),
            identifiers: config.map(|c| c.filter_identifiers.clone()).unwrap_or_default(),
            units: config.map(|c| c.filter_units.clone()).unwrap_or_default(),
            since_us: 0,
            mailbox: Arc::default(),
            total: 0,
            failed: 0,
        }
    }

    fn start(&mut self, journal: &mut Journal, _: &mut dyn Output) {
        self.since_us = os::clock::now().mono_ns / 1000;
        journal.deliver_to(&self.mailbox);
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn tick(&mut self, _: &mut Journal, out: &mut dyn Output) {
        for entry in self.mailbox.take() {
            if self.is_wanted(&entry) {
                self.write(&entry, out);
            }
        }
    }

    fn flush(&mut self, journal: &mut Journal, out: &mut dyn Output) {
        self.tick(journal, out);
        let (now_ns, total, failed) = (out.clock()(), self.total, self.failed);
        out.packet(&mut |packet| {
            packet.timestamp(now_ns).timestamp_clock_id(BOOTTIME);
            packet.journald_event().num_total(total).num_failed(failed);
        });
    }
}

impl JournaldProbe {
    fn is_wanted(&self, entry: &Entry) -> bool {
        let is_one_of = |wanted: &[String], value: &Option<String>| {
            wanted.is_empty() || value.as_ref().is_some_and(|value| wanted.contains(value))
        };
        entry.prio.is_some_and(|prio| prio <= self.min_prio)
            && is_one_of(&self.identifiers, &entry.tag)
            && is_one_of(&self.units, &entry.unit)
    }

    fn write(&mut self, entry: &Entry, out: &mut dyn Output) {
        let since_us = self.since_us;
        let Some(time_us) = entry.this_boot_us else {
            self.failed = self.failed.saturating_add(1);
            return;
        };
        let Some(time_ns) = time_us.checked_mul(1000).filter(|_| time_us >= since_us) else {
            return;
        };
        self.total = self.total.saturating_add(1);
        out.packet(&mut |packet| {
            packet.timestamp(time_ns).timestamp_clock_id(MONOTONIC);
            fill(&mut packet.journald_event(), entry);
        });
    }
}

/// Values that are not there, or are empty, are left out.
fn fill(event: &mut SystemdJournaldEventWriter<'_>, entry: &Entry) {
    type SetText = for<'a, 'w> fn(
        &'a mut SystemdJournaldEventWriter<'w>,
        &str,
    ) -> &'a mut SystemdJournaldEventWriter<'w>;
    type SetNumber = for<'a, 'w> fn(
        &'a mut SystemdJournaldEventWriter<'w>,
        u32,
    ) -> &'a mut SystemdJournaldEventWriter<'w>;
    let numbers: [(Option<u32>, SetNumber); 5] = [
        (entry.pid, |w, value| w.pid(value)),
        (entry.tid, |w, value| w.tid(value)),
        (entry.uid, |w, value| w.uid(value)),
        (entry.gid, |w, value| w.gid(value)),
        (entry.prio, |w, value| w.prio(value)),
    ];
    for (value, set) in numbers {
        if let Some(value) = value {
            set(event, value);
        }
    }
    let texts: [(&Option<String>, SetText); 7] = [
        (&entry.tag, |w, value| w.tag(value)),
        (&entry.message, |w, value| w.message(value)),
        (&entry.comm, |w, value| w.comm(value)),
        (&entry.exe, |w, value| w.exe(value)),
        (&entry.unit, |w, value| w.systemd_unit(value)),
        (&entry.hostname, |w, value| w.hostname(value)),
        (&entry.transport, |w, value| w.transport(value)),
    ];
    for (value, set) in texts {
        if let Some(value) = value {
            set(event, value);
        }
    }
}
