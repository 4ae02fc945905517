//! All categories and all running instances, under one lock.
//!
//! The rule that keeps them together: the bits of a registered category are those of the instances whose config enables
//! it. A category that is registered is held against all configs, and a config that starts against all categories.

use core::sync::atomic::{AtomicU32, Ordering};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use client::data_source::Instance;
use protos::TrackEventConfig;

use super::running::Running;
use super::settings::Settings;
use crate::bits::Generation;
use crate::category::{Category, is_reserved, rules};
use crate::interceptor::ForThreads;
use crate::slots::{COUNT, Slots};

/// How many dynamic categories there can be, and how many dynamic counters and states.
const DYNAMIC_MAX: usize = 16_384;

static GENERATION: Generation = Generation(AtomicU32::new(0));

/// The slots of running instances, one bit each.
static RUNNING: AtomicU32 = AtomicU32::new(0);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// Called when consumers can see more categories than before.
static NEW_CATEGORIES: OnceLock<fn()> = OnceLock::new();

type DynamicKey = (&'static str, &'static [&'static str]);

pub(super) struct Registry {
    categories: Vec<&'static Category>,
    listed: Listed,
    /// By the uuids of their tracks. They are here because a fork takes this lock.
    interned: Option<HashMap<(u64, bool), Interned>>,
    dynamic: Option<HashMap<DynamicKey, &'static Category>>,
    slots: Slots<Running>,
}

impl Registry {
    pub(super) const fn new() -> Self {
        Self {
            categories: Vec::new(),
            listed: Listed::new(),
            interned: None,
            dynamic: None,
            slots: Slots::new(),
        }
    }

    fn enabled(&self, category: &Category) -> u32 {
        let nothing = TrackEventConfig::default();
        let mut bits = 0;
        for slot in 0..COUNT {
            let on = |running: &Arc<Running>| {
                let config = running.instance.config().track_event_config.as_ref();
                rules::is_enabled(config.unwrap_or(&nothing), category.name(), category.tag_list())
            };
            bits |= u32::from(self.slots.get(slot).is_some_and(on)) << slot;
        }
        bits
    }

    /// True if consumers can see more categories than before.
    pub(super) fn register(&mut self, category: &'static Category) -> bool {
        if category.is_registered() {
            return false;
        }
        self.categories.push(category);
        let iid = u32::try_from(self.categories.len()).unwrap_or(u32::MAX);
        let (iid, is_new) =
            if category.is_listed() { self.listed.add(category, iid) } else { (iid, false) };
        category.set_registered(iid, self.enabled(category));
        is_new
    }
}

/// The categories that consumers may see.
///
/// Statics of one name are one category to them: the first that was registered. `cat!` makes a static for each call
/// site, so there may be thousands of one name; they share its number, which a sequence then defines once.
struct Listed {
    categories: Vec<&'static Category>,
    // A map of this type is in every program: see `intern`.
    numbers: Option<HashMap<&'static str, u32>>,
}

impl Listed {
    const fn new() -> Self {
        Self { categories: Vec::new(), numbers: None }
    }

    /// The number of its name, which is `number` if the name is new; then the second value is true.
    fn add(&mut self, category: &'static Category, number: u32) -> (u32, bool) {
        let numbers = self.numbers.get_or_insert_with(HashMap::new);
        if let Some(known) = numbers.get(category.name()) {
            return (*known, false);
        }
        numbers.insert(category.name(), number);
        self.categories.push(category);
        (number, true)
    }
}

fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number that changes when a thread must look at its instances again. Call it after the bits of a category were
/// found not zero.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.behind_bits()
}

/// Whether any instance runs. The answer may be a moment old.
#[cfg(any(feature = "log", feature = "tracing"))]
pub(crate) fn is_recording() -> bool {
    crate::on::ON && RUNNING.load(Ordering::Relaxed) != 0
}

/// The running instances at one moment.
pub(crate) struct Instances {
    /// The generation they belong to.
    pub(crate) generation: u32,
    /// The serial number of the instance that was started last.
    pub(crate) last_serial: u32,
    pub(crate) slots: [Option<Arc<Running>>; COUNT],
}

pub(crate) fn instances() -> Instances {
    let registry = lock();
    Instances {
        generation: GENERATION.get(),
        last_serial: registry.slots.last_serial(),
        slots: registry.slots.all(),
    }
}

/// Calls `callback`, without a lock, whenever consumers can see more categories than before.
pub(crate) fn on_new_categories(callback: fn()) {
    // It is always the same function.
    let _ = NEW_CATEGORIES.set(callback);
}

fn tell_of_categories() {
    if let Some(callback) = NEW_CATEGORIES.get() {
        callback();
    }
}

pub(crate) fn register(categories: &[&'static Category]) {
    let mut registry = lock();
    let mut has_new = false;
    for category in categories {
        has_new |= registry.register(category);
    }
    drop(registry);
    if has_new {
        tell_of_categories();
    }
}

/// Registers a category at its first use, and returns its instances.
#[cold]
pub(crate) fn register_one(category: &'static Category) -> u32 {
    let mut registry = lock();
    let has_new = registry.register(category);
    let bits = registry.enabled(category);
    drop(registry);
    if has_new {
        tell_of_categories();
    }
    bits
}

pub(crate) fn dynamic(name: &str, tags: &'static [&'static str]) -> &'static Category {
    static OTHER: Category = Category::unlisted("other", &[]);
    let clean = |c: char| match u8::try_from(c) {
        Ok(byte) if is_reserved(byte) => '_',
        _ => c,
    };
    let mut registry = lock();
    let known = registry.dynamic.get_or_insert_with(HashMap::new);
    if let Some(category) = known.get(&(name, tags)) {
        return category;
    }
    if known.len() >= DYNAMIC_MAX {
        return &OTHER;
    }
    let text: String = name.chars().map(clean).collect();
    let text: &'static str = Box::leak(text.into_boxed_str());
    let category: &'static Category = Box::leak(Box::new(Category::unlisted(text, tags)));
    let key: &'static str = if text == name { text } else { Box::leak(Box::from(name)) };
    known.insert((key, tags), category);
    registry.register(category);
    category
}

/// A counter or a state that was made a static at run time.
pub(crate) type Interned = &'static (dyn Any + Send + Sync);

/// What has the track with this [`key`](crate::track::Track::key); `make` makes it, and is no code of the program. None
/// if there are too many.
pub(crate) fn interned(track: (u64, bool), make: impl FnOnce() -> Interned) -> Option<Interned> {
    let mut registry = lock();
    let known = registry.interned.get_or_insert_with(HashMap::new);
    if let Some(interned) = known.get(&track) {
        return Some(*interned);
    }
    if known.len() >= DYNAMIC_MAX {
        return None;
    }
    let interned = make();
    known.insert(track, interned);
    Some(interned)
}

/// The categories that consumers may see, in the order in which they were registered.
pub(crate) fn listed() -> Vec<&'static Category> {
    lock().listed.categories.clone()
}

/// All categories that the program has used or registered.
#[cfg(feature = "session")]
pub(crate) fn known() -> Vec<&'static Category> {
    lock().categories.clone()
}

/// Starts an instance, and returns its slot; none if all are taken. Calls `before` while no other instance can start or
/// stop.
pub(crate) fn start(
    instance: Instance,
    interceptor: Option<ForThreads>,
    before: fn(),
) -> Option<usize> {
    let mut registry = lock();
    before();
    let settings = Settings::new(instance.config().track_event_config.as_ref());
    let clears = AtomicU32::new(0);
    let make = |settings, serial| Running { serial, instance, settings, interceptor, clears };
    let (slot, _) = registry.slots.put(settings, make).ok()?;
    RUNNING.fetch_or(1 << slot, Ordering::Relaxed);
    // Before the bits.
    GENERATION.change();
    for category in &registry.categories {
        let bit = registry.enabled(category) & (1 << slot);
        if bit != 0 {
            category.switch_on(bit);
        }
    }
    Some(slot)
}

/// Makes every thread write its next event as if it were the first.
pub(crate) fn clear(slot: usize) {
    let registry = lock();
    if let Some(running) = registry.slots.get(slot) {
        running.clears.fetch_add(1, Ordering::Relaxed);
        GENERATION.change();
    }
}

/// As `clear`, for all instances. Also for tests, to which a service's clears would come at any time.
pub fn clear_all() {
    for slot in 0..COUNT {
        clear(slot);
    }
}

pub(crate) fn stop(slot: usize) {
    let mut registry = lock();
    for category in &registry.categories {
        category.switch_off(1 << slot);
    }
    if registry.slots.take(slot).is_some() {
        RUNNING.fetch_and(!(1 << slot), Ordering::Relaxed);
        GENERATION.change();
    }
}

/// The registry, while the process forks.
pub(crate) struct LockedRegistry(MutexGuard<'static, Registry>);

pub(crate) fn lock_for_fork() -> LockedRegistry {
    LockedRegistry(lock())
}

impl LockedRegistry {
    /// In a forked process: nothing records here. No destructor runs.
    pub(crate) fn forget_instances(&mut self) {
        for slot in 0..COUNT {
            core::mem::forget(self.0.slots.take(slot));
        }
        for category in &self.0.categories {
            category.switch_off((1 << COUNT) - 1);
        }
        RUNNING.store(0, Ordering::Relaxed);
        GENERATION.change();
    }
}
