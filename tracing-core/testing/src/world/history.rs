//! The events of the simulation so far, to compare with the reports of the service.

use std::collections::BTreeSet;

use protos::Trigger;

use crate::workload::{AGAIN, producer_name};
use abi::time::Now;

/// The instants and triggers so far.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) now_ns: u64,
    /// The clocks at each instant, in the order in which a snapshot lists them.
    pub(super) instants: BTreeSet<[u64; 6]>,
    /// Triggers: boot time in ns, user id of the producer, name.
    pub(super) fired: BTreeSet<(u64, u32, String)>,
}

impl History {
    /// Records the instant of an event.
    pub(super) fn at(&mut self, now: &Now) {
        self.now_ns = now.boot_ns;
        self.instants.insert([
            now.boot_ns,
            now.real_coarse_ns,
            now.mono_coarse_ns,
            now.real_ns,
            now.mono_ns,
            now.mono_raw_ns,
        ]);
    }

    /// Whether a trigger was fired as a packet or an event claims.
    pub(super) fn has_fired(&self, at_ns: u64, trigger: &Trigger) -> bool {
        let uid = trigger.trusted_producer_uid.unwrap_or(0).cast_unsigned();
        let name = trigger.trigger_name.clone().unwrap_or_default();
        // A producer that is refused under its own name tries another one.
        let by = trigger.producer_name.as_deref();
        let says_so = by == Some(&producer_name(uid)) || by == Some(AGAIN);
        says_so && self.fired.contains(&(at_ns, uid, name))
    }
}
