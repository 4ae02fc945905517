//! The instances of one kind, and which of them ticks next. It knows no thread and no clock: orders and the time go in.
//!
//! ```text
//!   carry_out(order) ──> start, first tick, clear, facts, flush, stop of one instance
//!   due_ns ──> tick ──> the instance that is due first, then its next due time: a multiple of its period
//! ```
//!
//! Instances that are due at the same time are one *batch*: what the first one reads, the others may use again. Due
//! times are multiples of periods, so equal sources of several sessions make one read. There are few instances, so the
//! one that is due first is searched for, and no heap has to agree with the map.

use std::time::Duration;

use abi::map::SortedMap;
use client::data_source::Ack;

use crate::Root;
use crate::inbox::{Key, Order};
use crate::limits::{CHUNK_HOLDERS_MAX, SHARED_AGE_NS_MAX};
use crate::output::Output;
use crate::probe::{Probe, Shared};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Scheduler<P: Probe, W> {
    root: Root,
    /// While there are instances.
    shared: Option<P::Shared>,
    running: SortedMap<Key, Running<P, W>>,
    batch: Option<Batch>,
}

#[derive(Debug)]
struct Running<P, W> {
    probe: P,
    out: W,
    /// Of the next tick. `None` if there are no ticks.
    due_ns: Option<u64>,
}

/// Ticks that may share what they read.
#[derive(Clone, Copy, Debug)]
struct Batch {
    due_ns: u64,
    begin_ns: u64,
}

impl<P: Probe, W: Output> Scheduler<P, W> {
    pub(crate) fn new(root: &Root) -> Self {
        Self { root: root.clone(), shared: None, running: SortedMap::new(), batch: None }
    }

    /// When [`tick`](Self::tick) has something to do, by the monotonic clock.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.running.values().filter_map(|running| running.due_ns).min()
    }

    /// Does what an order says. Returns the acknowledgement of a stop that was carried out. `clock` is the monotonic
    /// one, ns.
    pub(crate) fn carry_out(
        &mut self,
        key: Key,
        order: Order<W>,
        clock: &dyn Fn() -> u64,
    ) -> Option<Ack> {
        let Order { start, clear, facts, flush, stop } = order;
        if let Some((instance, out)) = start {
            let shared = self.shared.get_or_insert_with(|| P::Shared::new(&self.root));
            let probe = P::new(shared, instance.config());
            let mut running = Running { probe, out, due_ns: None };
            self.batch = None;
            shared.begin_batch();
            running.probe.start(shared, &mut running.out);
            running.tick(shared, clock);
            self.running.insert(key, running);
            self.share_chunks(key);
        }
        if let (Some(shared), Some(running)) = (&mut self.shared, self.running.get_mut(&key)) {
            if clear {
                self.batch = None;
                shared.begin_batch();
                running.probe.clear_incremental_state(shared, &mut running.out);
            }
            if !facts.is_empty() {
                self.batch = None;
                shared.begin_batch();
                running.probe.facts(shared, &facts, &mut running.out);
                running.plan_first(clock);
            }
            if flush.is_some() {
                self.batch = None;
                shared.begin_batch();
                running.probe.flush(shared, &mut running.out);
                running.out.commit();
            } else if !facts.is_empty() {
                self.share_chunks(key);
            }
        }
        drop(flush);
        if stop.is_some() {
            // The writer commits what it holds.
            drop(self.running.remove(&key));
            if self.running.is_empty() {
                self.shared = None;
            }
        }
        stop
    }

    /// Ticks the instance that is due first; false if none is due.
    pub(crate) fn tick(&mut self, clock: &dyn Fn() -> u64) -> bool {
        let due = self.running.iter().filter_map(|(key, it)| Some((it.due_ns?, *key))).min();
        let now_ns = clock();
        let Some((due_ns, key)) = due.filter(|(due_ns, _)| *due_ns <= now_ns) else { return false };
        let (Some(shared), Some(running)) = (&mut self.shared, self.running.get_mut(&key)) else {
            return false;
        };
        let is_fresh = |batch: &Batch| {
            batch.due_ns == due_ns && now_ns.saturating_sub(batch.begin_ns) < SHARED_AGE_NS_MAX
        };
        if !self.batch.as_ref().is_some_and(is_fresh) {
            self.batch = Some(Batch { due_ns, begin_ns: now_ns });
            shared.begin_batch();
        }
        running.tick(shared, clock);
        self.share_chunks(key);
        true
    }

    /// Makes an instance hand its chunk over, unless it is one of the few that keep theirs.
    fn share_chunks(&mut self, key: Key) {
        let keeps = self.running.keys().take(CHUNK_HOLDERS_MAX).any(|holder| *holder == key);
        if !keeps && let Some(running) = self.running.get_mut(&key) {
            running.out.commit();
        }
    }
}

impl<P: Probe, W: Output> Running<P, W> {
    /// Ticks, if there are ticks. Those that it misses because this one takes long are left out.
    fn tick(&mut self, shared: &mut P::Shared, clock: &dyn Fn() -> u64) {
        if self.probe.period().is_some() {
            self.probe.tick(shared, &mut self.out);
        }
        let now_ns = clock();
        let next_ns = |period| now_ns.saturating_add(until_tick_ns(now_ns, period));
        self.due_ns = self.probe.period().map(next_ns);
    }

    /// Plans a tick for an instance that had none to come. It is no multiple: at least the period passes.
    fn plan_first(&mut self, clock: &dyn Fn() -> u64) {
        if self.due_ns.is_none() {
            let period_ns = |period: Duration| u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
            let period_ns = self.probe.period().map(period_ns);
            self.due_ns = period_ns.map(|period_ns| clock().saturating_add(period_ns));
        }
    }
}

/// Time until the next multiple of `period` on the monotonic clock, ns. Instances with the same period tick at the
/// same time, which wakes the processor once.
fn until_tick_ns(mono_ns: u64, period: Duration) -> u64 {
    let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    period_ns - mono_ns % period_ns
}

#[cfg(test)]
mod tests;
