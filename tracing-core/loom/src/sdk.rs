//! The models of the SDK: threads that record while sessions start, and counters that change meanwhile.

use loom::thread;

use crate::bits::{Bits, Generation};
use crate::event::counter_value::CounterValue;
use crate::models::model;
use crate::remembered::Remembered;
use crate::sync::{Arc, AtomicU8, AtomicU32, AtomicU64, Mutex, Ordering, lock};

/// The bit of a category that is not registered.
const NEW: u32 = 1 << 31;

/// A category, and what the registry has under its lock.
struct Registry {
    category: Bits,
    generation: Generation,
    /// The running instances, one bit each.
    instances: Mutex<u32>,
}

impl Registry {
    fn new(bits: u32) -> Self {
        Self {
            category: Bits { instances: AtomicU32::new(bits), iid: AtomicU32::new(0) },
            generation: Generation(AtomicU32::new(0)),
            instances: Mutex::new(0),
        }
    }

    fn start(&self, bit: u32) {
        let mut instances = lock(&self.instances);
        *instances |= bit;
        self.generation.change();
        // A category that is not registered gets its bits when it is.
        if self.category.load() & NEW == 0 {
            self.category.switch_on(bit);
        }
    }

    fn stop(&self, bit: u32) {
        let mut instances = lock(&self.instances);
        self.category.switch_off(bit);
        *instances &= !bit;
        self.generation.change();
    }

    fn register(&self) {
        let instances = lock(&self.instances);
        if self.category.load() & NEW != 0 {
            self.category.register(1, *instances);
        }
    }
}

/// What a thread knows of the registry.
#[derive(Default)]
struct Known {
    generation: u32,
    instances: u32,
}

impl Known {
    /// An event. Returns the instances that the thread should write it to, and those that it knows.
    fn event(&mut self, registry: &Registry) -> (u32, u32) {
        let mut bits = registry.category.load();
        if bits & NEW != 0 {
            registry.register();
            bits = registry.category.load();
        }
        if bits == 0 {
            return (0, 0);
        }
        if self.generation != registry.generation.behind_bits() {
            let instances = lock(&registry.instances);
            (self.generation, self.instances) = (registry.generation.get(), *instances);
        }
        assert_eq!(registry.category.iid(), 1, "the number comes before the bits");
        (bits, self.instances)
    }
}

/// Two instances start while a thread records: it knows each instance whose bit it finds.
#[test]
fn an_instance_is_known_before_its_bit() {
    model(|| {
        let registry = Arc::new(Registry::new(0));
        registry.category.register(1, 0);
        let starter = {
            let registry = registry.clone();
            thread::spawn(move || [1, 2].into_iter().for_each(|bit| registry.start(bit)))
        };
        let recorder = thread::spawn(move || {
            let mut known = Known::default();
            for _ in 0..2 {
                let (bits, instances) = known.event(&registry);
                assert_eq!(bits & !instances, 0, "a bit of an instance that is not known");
            }
        });
        starter.join().unwrap();
        recorder.join().unwrap();
    });
}

/// An instance stops and another one starts: the thread finds no bit without an instance, unless it has just stopped.
#[test]
fn an_instance_stops_and_another_one_starts() {
    model(|| {
        let registry = Arc::new(Registry::new(0));
        registry.category.register(1, 0);
        registry.start(1);
        let starter = {
            let registry = registry.clone();
            thread::spawn(move || {
                registry.stop(1);
                registry.start(2);
            })
        };
        let recorder = thread::spawn(move || {
            let (bits, instances) = Known::default().event(&registry);
            assert!(bits & 2 == 0 || instances & 2 != 0, "a bit of an instance that is not known");
        });
        starter.join().unwrap();
        recorder.join().unwrap();
    });
}

/// A category is registered by its first event, by another thread at the same time, while an instance starts.
#[test]
fn a_category_is_registered_while_an_instance_starts() {
    model(|| {
        let registry = Arc::new(Registry::new(NEW));
        let threads = [(); 2].map(|()| {
            let registry = registry.clone();
            thread::spawn(move || {
                let (bits, instances) = Known::default().event(&registry);
                assert_eq!(bits & !instances, 0, "a bit of an instance that is not known");
            })
        });
        let starter = {
            let registry = registry.clone();
            thread::spawn(move || registry.start(1))
        };
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        starter.join().unwrap();
        assert_eq!(registry.category.load(), 1, "the instance records the category");
    });
}

/// A counter, whether a session records it, and a clock that never shows the same time twice.
struct Counter {
    last: Remembered,
    is_recorded: AtomicU32,
    clock: AtomicU64,
    /// What is in the trace: times and values.
    trace: Mutex<Vec<(u64, CounterValue)>>,
}

impl Counter {
    fn new() -> Self {
        let counter = Self {
            last: Remembered { bits: AtomicU64::new(0), form: AtomicU8::new(0) },
            is_recorded: AtomicU32::new(0),
            clock: AtomicU64::new(1),
            trace: Mutex::new(Vec::new()),
        };
        counter.last.set(CounterValue::Int(1));
        counter
    }

    fn now(&self) -> u64 {
        // A clock orders nothing else.
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// A thread changes the value.
    fn change(&self, change: impl FnOnce(&Remembered) -> CounterValue) {
        let value = change(&self.last);
        self.last.changed();
        if self.is_recorded.load(Ordering::Relaxed) != 0 {
            let time = self.now();
            lock(&self.trace).push((time, value));
        }
    }

    /// A session starts.
    fn replay(&self) {
        self.is_recorded.fetch_or(1, Ordering::Release);
        if let Some(value) = self.last.settled(|| self.now()) {
            lock(&self.trace).push(value);
        }
    }
}

/// A session starts while a counter changes: the last value in its trace is the last value, and no other value than
/// these two is there.
fn check(change: fn(&Remembered) -> CounterValue, last: CounterValue) {
    model(move || {
        let counter = Arc::new(Counter::new());
        let changer = {
            let counter = counter.clone();
            thread::spawn(move || counter.change(change))
        };
        let session = {
            let counter = counter.clone();
            thread::spawn(move || counter.replay())
        };
        changer.join().unwrap();
        session.join().unwrap();
        let mut trace = lock(&counter.trace).clone();
        trace.sort_by_key(|(time, _)| *time);
        assert_eq!(trace.last().map(|(_, value)| *value), Some(last));
        let is_value = |value| value == CounterValue::Int(1) || value == last;
        assert!(trace.iter().all(|(_, value)| is_value(*value)), "{trace:?}");
    });
}

fn set(last: &Remembered, value: CounterValue) -> CounterValue {
    last.set(value);
    value
}

#[test]
fn a_counter_that_is_set_ends_with_its_last_value() {
    check(|last| set(last, CounterValue::Int(7)), CounterValue::Int(7));
}

#[test]
fn a_counter_whose_kind_changes_has_no_value_of_both() {
    check(|last| set(last, CounterValue::Double(2.5)), CounterValue::Double(2.5));
}

#[test]
fn a_counter_that_grows_ends_with_its_last_value() {
    check(|last| CounterValue::Int(last.add(4)), CounterValue::Int(5));
}
