//! The sequences of the calling thread, one for each session that records.

use core::sync::atomic::Ordering;
use std::any::Any;
use std::cell::RefCell;
use std::panic::resume_unwind;

use protos::TrackEventType;

use super::{Arguments, LOST, Sequence, Spec};
use crate::clock;
#[cfg(feature = "tracing")]
use crate::clock::event_time::When;
use crate::fork;
use crate::on::ON;
use crate::slots::COUNT;
use crate::source::registry;

/// Borrowed while an event is written. So an event inside an argument of another one (a `Display` that traces, say)
/// finds it borrowed and is left out.
struct Sequences {
    /// The value of [`fork::count`] in the process that they belong to.
    forks: u32,
    generation: u32,
    last_serial: u32,
    slots: [Option<Box<Sequence>>; COUNT],
}

thread_local! {
    static SEQUENCES: RefCell<Sequences> = const {
        RefCell::new(Sequences {
            forks: 0,
            generation: 0,
            last_serial: 0,
            slots: [const { None }; COUNT],
        })
    };
}

impl Sequences {
    /// Forgets sequences of a parent process: their destructors would write into its memory.
    fn forget_after_fork(&mut self) {
        let forks = fork::count();
        if core::mem::replace(&mut self.forks, forks) != forks {
            self.slots.iter_mut().for_each(|sequence| core::mem::forget(sequence.take()));
        }
    }

    /// Drops the sequences of instances that have stopped, and makes those of new ones.
    #[cold]
    fn refresh(&mut self) {
        self.forget_after_fork();
        let instances = registry::instances();
        self.generation = instances.generation;
        self.last_serial = instances.last_serial;
        for (sequence, running) in self.slots.iter_mut().zip(instances.slots) {
            let serial = sequence.as_ref().map(|sequence| sequence.serial());
            if serial != running.as_ref().map(|running| running.serial) {
                let ended = sequence.take();
                *sequence = running.map(|running| Box::new(Sequence::new(running)));
                if let Some(ended) = ended {
                    ended.end();
                }
            }
            if let Some(sequence) = sequence {
                sequence.check_clears();
            }
        }
    }

    /// An argument panicked, so the call site gets no guard: a slice that began in the instances in `bits` ends here.
    #[cold]
    fn unwind(&mut self, bits: u32, spec: &Spec<'_, '_>, panic: Box<dyn Any + Send>) -> ! {
        if spec.kind == TrackEventType::TYPE_SLICE_BEGIN {
            let now_ns = clock::now_ns();
            let end = Spec::end(spec.track);
            for slot in slots_of(bits) {
                if let Some(Some(sequence)) = self.slots.get_mut(slot) {
                    let _stored = sequence.write_long(now_ns, &end, None);
                }
            }
        }
        resume_unwind(panic)
    }
}

impl Drop for Sequences {
    fn drop(&mut self) {
        self.forget_after_fork();
        // Those of sessions that have ended must not write what is late.
        let has_late_ends = self.slots.iter().flatten().any(|sequence| sequence.has_late_ends());
        if has_late_ends && self.generation != registry::generation() {
            self.refresh();
        }
    }
}

/// In a forked process, on its only thread.
pub(crate) fn forget_after_fork() {
    // If an argument of an event forks, its sequence is in use, and is forgotten with the next event.
    refresh();
}

/// The instances that an event was written to. Those that lost it are not among them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Their slots.
    pub(crate) bits: u32,
    /// The last instance that had started at that time: an instance with a higher number is not among them.
    pub(crate) last_serial: u32,
}

impl Written {
    /// Whether the instance `serial` in `slot` is one of them.
    fn has(self, slot: usize, serial: u32) -> bool {
        // Serial numbers wrap, so what counts is which one is ahead.
        let is_later = serial.wrapping_sub(self.last_serial).cast_signed() > 0;
        self.bits & (1 << slot) != 0 && !is_later
    }
}

/// Writes an event to the instances in `bits`.
#[inline(always)]
pub(crate) fn write(
    bits: u32,
    spec: &Spec<'_, '_>,
    arguments: Option<&mut Arguments<'_>>,
) -> Written {
    write_and(None, bits, spec, arguments)
}

/// As [`write()`], of a caller that has read the clock.
#[cfg(feature = "tracing")]
pub(crate) fn write_at(
    now_ns: u64,
    bits: u32,
    spec: &Spec<'_, '_>,
    arguments: Option<&mut Arguments<'_>>,
) -> Written {
    write_and(Some(now_ns), bits, spec, arguments)
}

#[inline(always)]
fn write_and(
    now_ns: Option<u64>,
    bits: u32,
    spec: &Spec<'_, '_>,
    mut arguments: Option<&mut Arguments<'_>>,
) -> Written {
    with(|sequences| {
        let now_ns = now_ns.unwrap_or_else(clock::now_ns);
        let mut written = Written { bits: 0, last_serial: sequences.last_serial };
        let mut panic = None;
        for slot in slots_of(bits) {
            if let Some(Some(sequence)) = sequences.slots.get_mut(slot) {
                let outcome = sequence.write(now_ns, spec, arguments.as_deref_mut());
                written.bits |= u32::from(outcome.is_stored) << slot;
                if outcome.panic.is_some() {
                    // The other sessions get the event without arguments.
                    (panic, arguments) = (outcome.panic, None);
                }
            }
        }
        if let Some(panic) = panic {
            sequences.unwind(written.bits, spec, panic);
        }
        written
    })
}

/// The slots in `bits`.
#[inline(always)]
fn slots_of(mut bits: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let slot = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(slot)
    })
}

/// Writes an event to those instances of `written` that still run.
pub(crate) fn write_to(
    written: Written,
    spec: &Spec<'_, '_>,
    mut arguments: Option<&mut Arguments<'_>>,
) {
    let done = try_with(|sequences| {
        let now_ns = clock::now_ns();
        let mut panic = None;
        for slot in slots_of(written.bits) {
            if let Some(Some(sequence)) = sequences.slots.get_mut(slot)
                && written.has(slot, sequence.serial())
            {
                let outcome = sequence.write(now_ns, spec, arguments.as_deref_mut());
                if outcome.panic.is_some() {
                    // The other sessions get the event without arguments.
                    (panic, arguments) = (outcome.panic, None);
                }
            }
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        Written::default()
    });
    if done.is_none() {
        lose_end(written);
    }
}

/// The thread is ending and has no sequences any more, so an open slice stays open in the trace.
#[cold]
fn lose_end(written: Written) {
    let instances = registry::instances();
    let running = instances.slots.iter().enumerate();
    let running = running.filter_map(|(slot, running)| Some((slot, running.as_ref()?.serial)));
    let lost = running.filter(|(slot, serial)| written.has(*slot, *serial)).count();
    LOST.fetch_add(lost as u64, Ordering::Relaxed);
}

/// What an event would be written to.
#[cfg(feature = "tracing")]
pub(crate) fn instances(bits: u32) -> Written {
    with(|sequences| Written { bits, last_serial: sequences.last_serial })
}

/// Writes an event to those instances in `bits` that are not in `written`, and adds them there. To instances in `since`
/// it is written with the time of `spec`, to all others with the present one.
#[cfg(feature = "tracing")]
pub(crate) fn write_missing(
    bits: u32,
    written: &mut Written,
    since: Written,
    spec: &Spec<'_, '_>,
    mut arguments: Option<&mut Arguments<'_>>,
) {
    let before = *written;
    let after = with(|sequences| {
        let now_ns = clock::now_ns();
        let late = Spec { when: When::NOW, ..*spec };
        let (mut kept, mut added) = (0, 0);
        for slot in 0..COUNT {
            let Some(Some(sequence)) = sequences.slots.get_mut(slot) else { continue };
            let serial = sequence.serial();
            if before.has(slot, serial) {
                kept |= 1 << slot;
            } else if bits & (1 << slot) != 0 {
                let spec = if since.has(slot, serial) { spec } else { &late };
                let arguments = arguments.as_deref_mut();
                let outcome = sequence.write(now_ns, spec, arguments);
                added |= u32::from(outcome.is_stored) << slot;
                if let Some(panic) = outcome.panic {
                    sequences.unwind(added, spec, panic);
                }
            }
        }
        Written { bits: kept | added, last_serial: sequences.last_serial }
    });
    if after.bits != 0 {
        *written = after;
    }
}

/// Nothing, if an event is being written or the thread is ending. The caller holds no lock of the library: code of the
/// program may run, and the thread may wait for memory.
#[inline(always)]
fn with(run: impl FnOnce(&mut Sequences) -> Written) -> Written {
    try_with(run).unwrap_or_default()
}

/// As [`with`]. None if the thread is ending.
#[inline(always)]
fn try_with(run: impl FnOnce(&mut Sequences) -> Written) -> Option<Written> {
    let run = |sequences: &RefCell<Sequences>| {
        let Ok(mut sequences) = sequences.try_borrow_mut() else { return Written::default() };
        if sequences.generation != registry::generation() {
            sequences.refresh();
        }
        run(&mut sequences)
    };
    SEQUENCES.try_with(run).ok()
}

/// Drops the sequences of instances that have stopped, and with them their chunks.
pub(crate) fn refresh() {
    with(|_| Written::default());
}

/// Hands the events of the calling thread to the service, which otherwise gets them when a chunk of 4 KiB is full, when
/// the session flushes or ends, and when the thread ends.
pub fn flush() {
    if !ON {
        return;
    }
    with(|sequences| {
        sequences.slots.iter_mut().flatten().for_each(|sequence| sequence.flush());
        Written::default()
    });
}
