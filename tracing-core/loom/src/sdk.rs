//! The models of the SDK: threads that record while sessions start, counters that change meanwhile, and clocks that get
//! snapshots.

use loom::thread;

use crate::bits::{Bits, Generation};
use crate::event::counter_value::CounterValue;
use crate::last_snapshot::LastSnapshot;
use crate::models::model;
use crate::remembered::Remembered;
use crate::sync::{Arc, AtomicU8, AtomicU32, AtomicU64, Mutex, Ordering, lock};
use crate::word::{self, Word};

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

/// A data source of the program's own: its word, and the instances in its slots, as serial numbers.
struct DataSource {
    word: Word,
    slots: Mutex<[u32; 2]>,
}

/// What a thread has for the instances of a data source.
#[derive(Default)]
struct Local {
    generation: u32,
    slots: [u32; 2],
}

impl DataSource {
    fn new() -> Self {
        let word = Word { bits: AtomicU32::new(word::NEW), generation: AtomicU32::new(0) };
        Self { word, slots: Mutex::new([0; 2]) }
    }

    fn start(&self, slot: usize, serial: u32) {
        let mut slots = lock(&self.slots);
        slots[slot] = serial;
        self.word.start(slot);
    }

    fn stop(&self, slot: usize) {
        let mut slots = lock(&self.slots);
        slots[slot] = 0;
        self.word.stop(slot);
    }

    /// A trace point. Returns the slots that it finds in use, and what it has for them.
    fn trace(&self, local: &mut Local) -> (u32, [u32; 2]) {
        if self.word.load() == 0 {
            return (0, local.slots);
        }
        self.word.set_registered();
        let (bits, generation) = self.word.current();
        if local.generation != generation {
            let slots = lock(&self.slots);
            (local.generation, local.slots) = (self.word.generation(), *slots);
        }
        (bits, local.slots)
    }
}

/// Instances of a data source start while a thread records: it has a writer for each instance whose bit it finds.
#[test]
fn an_instance_of_a_data_source_is_known_before_its_bit() {
    model(|| {
        let source = Arc::new(DataSource::new());
        let starter = {
            let source = source.clone();
            thread::spawn(move || {
                [(0, 1), (1, 2)].into_iter().for_each(|(at, it)| source.start(at, it))
            })
        };
        let recorder = thread::spawn(move || {
            let mut local = Local::default();
            for _ in 0..2 {
                let (bits, slots) = source.trace(&mut local);
                assert!(bits & 1 == 0 || slots[0] == 1, "a bit of an instance that is not known");
                assert!(bits & 2 == 0 || slots[1] == 2, "a bit of an instance that is not known");
            }
        });
        starter.join().unwrap();
        recorder.join().unwrap();
    });
}

/// An instance stops, and another one takes its slot, while a third one starts: a thread that finds the third one has
/// also learnt that the first one is gone. Otherwise it would write to a session that has ended, and not to the new one.
#[test]
fn a_slot_of_a_data_source_is_used_again() {
    model(|| {
        let source = Arc::new(DataSource::new());
        source.start(0, 1);
        let mut local = Local::default();
        assert_eq!(source.trace(&mut local).1, [1, 0]);
        let starter = {
            let source = source.clone();
            thread::spawn(move || {
                source.stop(0);
                source.start(0, 2);
                source.start(1, 3);
            })
        };
        let recorder = thread::spawn(move || {
            let (bits, slots) = source.trace(&mut local);
            assert!(bits & 2 == 0 || slots == [2, 3], "{bits} {slots:?}");
        });
        starter.join().unwrap();
        recorder.join().unwrap();
    });
}

/// Two threads register a data source with their first trace point, while an instance starts: one of them is told to.
#[test]
fn a_data_source_is_registered_once() {
    model(|| {
        let source = Arc::new(DataSource::new());
        let threads = [(); 2].map(|()| {
            let source = source.clone();
            thread::spawn(move || source.word.set_registered())
        });
        let starter = {
            let source = source.clone();
            thread::spawn(move || source.start(0, 1))
        };
        let first = threads.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(first.filter(|is_first| *is_first).count(), 1);
        starter.join().unwrap();
        assert_eq!(source.word.load(), 1);
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
    check(|last| last.add(4), CounterValue::Int(5));
}

/// A clock gets two snapshots while a thread records an event of it: the thread finds no id, or a snapshot to write in
/// front of the event.
#[test]
fn a_clock_with_an_id_has_a_snapshot() {
    model(|| {
        let clock_id = AtomicU32::new(0);
        let clock = Arc::new(LastSnapshot { clock_id, version: AtomicU32::new(0) });
        let writer = {
            let clock = clock.clone();
            thread::spawn(move || {
                clock.set_first(66);
                clock.set_version(2);
            })
        };
        if let Some(id) = clock.clock_id() {
            assert_eq!(id, 66);
            assert_ne!(clock.version(), 0, "an id without a snapshot");
        }
        writer.join().unwrap();
        assert_eq!((clock.clock_id(), clock.version()), (Some(66), 2));
    });
}
