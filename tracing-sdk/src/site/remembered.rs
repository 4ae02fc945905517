//! The last value of a counter, which one thread reads while others change it.
//!
//! ```text
//!   set:     value ──────────> fence ──> does a session record? what time is it?
//!   replay:  session records ──> value, time ──> fence ──> the same value?
//! ```
//!
//! One of both fences comes first. So a replay reads the new value behind its fence, or the thread that sets it sees
//! the session and writes the value itself, with a later time than that of the replay.
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicU8, AtomicU64, Ordering, fence};

use crate::event::counter_value::CounterValue;

/// How many times a counter is read that changes all the time.
const READS_MAX: usize = 16;

const NONE: u8 = 0;
const INT: u8 = 1;
const DOUBLE: u8 = 2;

/// 64 bits and what they mean; first 0, nothing.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub(crate) bits: AtomicU64,
    pub(crate) form: AtomicU8,
}

impl Remembered {
    #[inline]
    pub(crate) fn set(&self, value: CounterValue) {
        match value {
            CounterValue::Int(value) => self.store(INT, value.cast_unsigned()),
            CounterValue::Double(value) => self.store(DOUBLE, value.to_bits()),
        }
    }

    fn store(&self, form: u8, bits: u64) {
        if self.form.load(Ordering::Relaxed) != form {
            // Nobody takes the new bits for a value of the old form: `settled` reads the form again behind the bits.
            self.form.store(NONE, Ordering::Relaxed);
        }
        self.bits.store(bits, Ordering::Release);
        // `load` reads the form first: then it finds these bits.
        self.form.store(form, Ordering::Release);
    }

    /// Returns the sum.
    #[inline]
    pub(crate) fn add(&self, delta: i64) -> CounterValue {
        if self.form.load(Ordering::Relaxed) == DOUBLE {
            return self.add_to_double(delta);
        }
        let before = self.bits.fetch_add(delta.cast_unsigned(), Ordering::Relaxed);
        self.form.store(INT, Ordering::Relaxed);
        CounterValue::Int(before.cast_signed().wrapping_add(delta))
    }

    #[cold]
    fn add_to_double(&self, delta: i64) -> CounterValue {
        let sum = |bits| f64::from_bits(bits) + delta as f64;
        let order = Ordering::Relaxed;
        let mut before = self.bits.load(order);
        while let Err(other) =
            self.bits.compare_exchange_weak(before, sum(before).to_bits(), order, order)
        {
            before = other;
        }
        CounterValue::Double(sum(before))
    }

    pub(crate) fn forget(&self) {
        self.form.store(NONE, Ordering::Relaxed);
        self.bits.store(0, Ordering::Relaxed);
    }

    /// Comes after the value was stored, and before the categories and the clock are looked at.
    #[inline]
    pub(crate) fn changed(&self) {
        fence(Ordering::SeqCst);
    }

    /// The last value, and a time at which it was the last one. None also while it changes: the thread that changes it
    /// sees that the session records, and writes the new value itself.
    pub(crate) fn settled(&self, now_ns: impl Fn() -> u64) -> Option<(u64, CounterValue)> {
        for _ in 0..READS_MAX {
            let before = self.load();
            let time_ns = now_ns();
            // With the fence in `changed`.
            fence(Ordering::SeqCst);
            if self.load() == before {
                let (form, bits) = before;
                return match form {
                    INT => Some((time_ns, CounterValue::Int(bits.cast_signed()))),
                    DOUBLE => Some((time_ns, CounterValue::Double(f64::from_bits(bits)))),
                    _ => None,
                };
            }
        }
        None
    }

    fn load(&self) -> (u8, u64) {
        let form = self.form.load(Ordering::Acquire);
        (form, self.bits.load(Ordering::Acquire))
    }
}
