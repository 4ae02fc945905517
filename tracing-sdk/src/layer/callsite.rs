//! What is known of a call site of `tracing`: its category, its name, and what each of its fields means.
//!
//! It is made once for each call site and stays in memory until the program ends, as the call site does. A thread
//! finds it without a lock, by the address of its metadata or in a table of its own; the lock is for the first use on
//! a thread.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::Metadata;
use tracing::callsite::Identifier;

use super::chunks::Chunks;
use crate::category::Category;
use crate::event::Priority;
use crate::fork::Held;
use crate::hash::WordHasher;
use crate::intern::{Location, Place, StaticName};
use crate::level::Level;

/// The longest message that counts as a literal, bytes: it stays in memory.
const LITERAL_BYTES_MAX: usize = 256;

/// What a field of a span or an event means. A value whose type does not fit is an annotation.
pub(super) enum Role {
    /// Its key is in [`CallSite::keys`].
    Annotation,
    /// `counter.NAME`, of numbers.
    Counter(&'static str),
    /// The text of an event.
    Message,
    /// The name of a track, which is a text.
    Track,
}

/// See the [module](self).
pub(super) struct CallSite {
    /// Among all call sites of the process.
    pub(super) number: u32,
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) category: &'static Category,
    pub(super) name: StaticName,
    pub(super) priority: Priority,
    pub(super) place: Option<Place>,
    pub(super) roles: Box<[Role]>,
    /// The names of the fields.
    pub(super) keys: Box<[StaticName]>,
    /// The name of an event was made by a macro: a file and a line.
    has_default_name: bool,
    /// It is one of those that all records of `log` have: the category of each event is another one.
    pub(super) is_of_log: bool,
    /// The fields are those of counters and nothing else.
    pub(super) only_counters: bool,
    /// The only field is the message.
    pub(super) is_only_message: bool,
    /// A field names the track.
    pub(super) has_track: bool,
    pub(super) enter_count: EnterCount,
    literal: OnceLock<Literal>,
    /// Its messages differ.
    is_formatted: AtomicBool,
}

/// A message that is the same each time.
pub(super) struct Literal {
    address: usize,
    pub(super) name: StaticName,
    pub(super) body: StaticName,
}

/// Whether spans of a call site are entered more than once.
#[derive(Default)]
pub(super) struct EnterCount(AtomicU8);

const UNKNOWN: u8 = 0;
const ONCE: u8 = 1;
const OFTEN: u8 = 2;

impl EnterCount {
    pub(super) fn is_unknown(&self) -> bool {
        self.0.load(Ordering::Relaxed) == UNKNOWN
    }

    pub(super) fn is_once(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ONCE
    }

    pub(super) fn is_often(&self) -> bool {
        self.0.load(Ordering::Relaxed) == OFTEN
    }

    /// A span has ended that was entered once.
    pub(super) fn set_once(&self) {
        if self.is_unknown() {
            // Another thread may have seen meanwhile that it is often.
            let order = Ordering::Relaxed;
            let _ = self.0.compare_exchange(UNKNOWN, ONCE, order, order);
        }
    }

    /// A span was entered for the second time.
    pub(super) fn set_often(&self) {
        self.0.store(OFTEN, Ordering::Relaxed);
    }
}

/// Whether it is one of the call sites that all records of `log` have: see `log_record`.
pub(super) fn is_of_log(metadata: &Metadata<'_>) -> bool {
    metadata.name() == "log event" && metadata.fields().field("log.target").is_some()
}

pub(super) fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::TRACE => Level::Trace,
    }
}

/// The category of a span or an event.
pub(super) fn category(metadata: &Metadata<'_>) -> &'static Category {
    level(*metadata.level()).category(metadata.target())
}

impl CallSite {
    fn new(number: u32, metadata: &'static Metadata<'static>) -> Self {
        let role = |name: &'static str| match name {
            "message" if metadata.is_event() => Role::Message,
            "track" => Role::Track,
            _ => match name.strip_prefix("counter.") {
                Some(name) if !name.is_empty() => Role::Counter(name),
                _ => Role::Annotation,
            },
        };
        let fields = || metadata.fields().iter().map(|field| field.name());
        let roles: Box<[Role]> = fields().map(role).collect();
        let is_counter = |role: &Role| matches!(role, Role::Counter(_));
        let location = metadata.file().zip(metadata.line());
        let is_of_log = is_of_log(metadata);
        Self {
            number,
            metadata,
            category: category(metadata),
            name: StaticName::event(metadata.name()),
            priority: level(*metadata.level()).priority(),
            has_default_name: is_of_log
                || location
                    .is_some_and(|(file, line)| metadata.name() == format!("event {file}:{line}")),
            is_of_log,
            place: location.map(|(file, line)| Place::new(Location { file, function: "", line })),
            only_counters: roles.iter().any(is_counter) && roles.iter().all(is_counter),
            is_only_message: matches!(*roles, [Role::Message]),
            has_track: roles.iter().any(|role| matches!(role, Role::Track)),
            roles,
            keys: fields().map(StaticName::key).collect(),
            enter_count: EnterCount::default(),
            literal: OnceLock::new(),
            is_formatted: AtomicBool::new(false),
        }
    }

    /// The key of field `index`, if that is `track`.
    #[cold]
    pub(super) fn track_key(&'static self, index: usize) -> Option<&'static StaticName> {
        self.keys.get(index).filter(|_| self.is_track(index))
    }

    /// Whether field `index` may name the track.
    pub(super) fn is_track(&self, index: usize) -> bool {
        matches!(self.roles.get(index), Some(Role::Track))
    }

    /// The key of field `index`, if a value that is no number is an annotation there.
    pub(super) fn key(&'static self, index: usize) -> Option<&'static StaticName> {
        let is_shown =
            || matches!(self.roles.get(index), Some(Role::Annotation | Role::Counter(_)));
        self.keys.get(index).filter(|_| is_shown())
    }

    /// The key of field `index`, if a number is an annotation there.
    pub(super) fn key_of_number(&'static self, index: usize) -> Option<&'static StaticName> {
        match self.roles.get(index) {
            Some(Role::Annotation) => self.keys.get(index),
            Some(Role::Track) => self.track_key(index),
            _ => None,
        }
    }

    /// The name of an event that the program chose.
    pub(super) fn chosen_name(&'static self) -> Option<&'static StaticName> {
        (!self.has_default_name).then_some(&self.name)
    }

    /// The message of an event, which is `text`, if that is a literal: then it is one piece, at the same address
    /// each time. A message that differs once is not asked again.
    pub(super) fn literal(
        &'static self,
        text: &str,
        piece: Option<usize>,
    ) -> Option<&'static Literal> {
        if self.is_formatted.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(address) = piece.filter(|_| text.len() <= LITERAL_BYTES_MAX && !text.is_empty())
        {
            let make = || {
                let text = Box::leak(Box::from(text));
                Literal { address, name: StaticName::event(text), body: StaticName::log_body(text) }
            };
            let literal = self.literal.get().unwrap_or_else(|| {
                // A fork waits for the lock, so it finds no half of a literal.
                let _all = all();
                self.literal.get_or_init(make)
            });
            if literal.address == address && literal.name.text() == text {
                return Some(literal);
            }
        }
        self.is_formatted.store(true, Ordering::Relaxed);
        None
    }
}

type Table = HashMap<Identifier, &'static CallSite, BuildHasherDefault<WordHasher>>;

pub(super) type CallSites = Option<Table>;

static ALL: Mutex<CallSites> = Mutex::new(None);

/// The same by their numbers, for those who have no lock.
static BY_NUMBER: Chunks<OnceLock<&'static CallSite>> = Chunks::new();

fn all() -> MutexGuard<'static, CallSites> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All call sites, while the process forks.
pub(super) fn lock_for_fork() -> Held<CallSites> {
    all().into()
}

/// How many places a thread has for call sites that it finds without its table.
const PLACES: usize = 64;

thread_local! {
    static KNOWN: RefCell<Table> = RefCell::default();
    /// The call site that was used last of those that share a place. It has no destructor, so no state to check.
    static LAST: [Cell<Option<&'static CallSite>>; PLACES] =
        const { [const { Cell::new(None) }; PLACES] };
}

/// The call site that has `metadata`.
#[inline]
pub(super) fn of(metadata: &'static Metadata<'static>) -> &'static CallSite {
    LAST.with(|last| {
        let address = ptr::from_ref(metadata).addr() as u64;
        // The top bits of the product depend on all bits of the address.
        let place = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACES.ilog2());
        let last = &last[place as usize % PLACES];
        match last.get() {
            Some(site) if ptr::eq(site.metadata, metadata) => site,
            _ => {
                let site = by_id(metadata);
                last.set(Some(site));
                site
            }
        }
    })
}

#[inline(never)]
fn by_id(metadata: &'static Metadata<'static>) -> &'static CallSite {
    let id = metadata.callsite();
    known(&id).unwrap_or_else(|| {
        let mut all = all();
        let all = all.get_or_insert_default();
        let number = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let site = *all.entry(id.clone()).or_insert_with(|| add(number, metadata));
        remember(id, site);
        site
    })
}

/// Makes call site `number`. The caller holds the lock.
#[cold]
fn add(number: u32, metadata: &'static Metadata<'static>) -> &'static CallSite {
    let site = Box::leak(Box::new(CallSite::new(number, metadata)));
    if BY_NUMBER.get(number).is_none() {
        BY_NUMBER.grow(|_| OnceLock::new());
    }
    if let Some(place) = BY_NUMBER.get(number) {
        place.get_or_init(|| site);
    }
    site
}

/// The call site that has `number`.
pub(super) fn numbered(number: u32) -> Option<&'static CallSite> {
    BY_NUMBER.get(number)?.get().copied()
}

/// The call site `id`, if its metadata was seen.
pub(super) fn find(id: &Identifier) -> Option<&'static CallSite> {
    known(id).or_else(|| {
        let all = all();
        let site = *all.as_ref()?.get(id)?;
        remember(id.clone(), site);
        Some(site)
    })
}

#[inline]
fn known(id: &Identifier) -> Option<&'static CallSite> {
    KNOWN.try_with(|known| known.try_borrow().ok()?.get(id).copied()).ok().flatten()
}

#[cold]
fn remember(id: Identifier, site: &'static CallSite) {
    let insert = |known: &RefCell<Table>| {
        if let Ok(mut known) = known.try_borrow_mut() {
            known.insert(id, site);
        }
    };
    // A thread that is ending does not need it.
    let _ = KNOWN.try_with(insert);
}
