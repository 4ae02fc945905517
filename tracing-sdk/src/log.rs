//! Records of the crate `log`, as instants with a line of the log (feature `log`).
//!
//! ```text
//!   log::info!(..) ──> Logger ──┬── a session wants the target ──> instant
//!                               └── the other logger, if there is one
//! ```
//!
//! The category is the target, and the level is its tag: `error`, `warn`, `info`, `debug` or `trace`. Sessions must ask
//! for the last two. The name of the event is the message, also in the log of the trace.

use core::fmt::Write as _;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};

use crate::category::{Category, Members};
use crate::event::Event;
use crate::fork::Held;
use crate::intern::EventName;
use crate::intern::{Location, StaticName};
use crate::level::Level;
use crate::sequence::{Arguments, Spec, thread};
use crate::source::registry;

/// How much memory for a message a thread keeps for its next record, bytes.
const TEXT_BYTES_KEPT: usize = 16 * 1024;

/// A logger whose records sessions see, and that has no other logger behind it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// tracing_sdk::init()?;
/// tracing_sdk::log::logger().install(log::LevelFilter::Debug)?;
/// log::info!("ready");
/// # Ok(())
/// # }
/// ```
pub fn logger() -> Logger {
    Logger { others: Vec::new() }
}

/// See [`logger`].
///
/// ```
/// use log::LevelFilter;
/// use tracing_sdk::log::Logger;
///
/// /// For a program that has more to do before it logs.
/// struct Setup {
///     logger: Logger,
/// }
///
/// impl Setup {
///     fn finish(self) -> Result<(), log::SetLoggerError> {
///         self.logger.install(LevelFilter::Info)
///     }
/// }
/// ```
#[must_use]
pub struct Logger {
    others: Vec<Box<dyn Log>>,
}

impl core::fmt::Debug for Logger {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Logger").field("others", &self.others.len()).finish()
    }
}

impl Logger {
    /// Passes all records on to `other`, too, which has its own filter.
    pub fn tee(mut self, other: impl Log + 'static) -> Self {
        self.others.push(Box::new(other));
        self
    }

    /// Makes it the logger of the program, for records up to `level`. Sessions see no records above that level. These
    /// cost one load.
    ///
    /// With the default features of `tracing-subscriber`, its `init` makes a logger that passes records on to layers.
    /// If ours is one of them, sessions see all records by it, so this does nothing then; but a logger that was given
    /// to [`tee`](Self::tee) would get none, which is an error. Install this logger after that `init`, which panics if
    /// there is a logger.
    ///
    /// # Errors
    /// When the program has another logger.
    pub fn install(self, level: LevelFilter) -> Result<(), SetLoggerError> {
        let is_alone = self.others.is_empty();
        match log::set_boxed_logger(Box::new(self)) {
            Ok(()) => log::set_max_level(level),
            Err(_) if is_alone && gets_log_records() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether sessions see the records of the program's logger by a layer.
fn gets_log_records() -> bool {
    #[cfg(feature = "tracing")]
    return crate::layer::gets_log_records();
    #[cfg(not(feature = "tracing"))]
    false
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_wanted(metadata) || self.others.iter().any(|other| other.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if registry::is_recording() {
            write(record);
        }
        for other in &self.others {
            if other.enabled(record.metadata()) {
                other.log(record);
            }
        }
    }

    fn flush(&self) {
        self.others.iter().for_each(|other| other.flush());
    }
}

fn is_wanted(metadata: &Metadata<'_>) -> bool {
    registry::is_recording() && category(metadata).is_enabled()
}

const fn level(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::Error,
        log::Level::Warn => Level::Warn,
        log::Level::Info => Level::Info,
        log::Level::Debug => Level::Debug,
        log::Level::Trace => Level::Trace,
    }
}

thread_local! {
    /// Literals by address and length.
    static LITERALS: RefCell<HashMap<(usize, usize), &'static StaticName>> = RefCell::default();
    /// Memory for a message. A record inside a value of another one finds none, and makes its own.
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

fn category(metadata: &Metadata<'_>) -> &'static Category {
    level(metadata.level()).category_of_record(metadata.target())
}

pub(crate) type Literals = Option<HashMap<&'static str, &'static StaticName>>;

static ALL: Mutex<Literals> = Mutex::new(None);

/// All literals, while the process forks.
pub(crate) fn lock_for_fork() -> Held<Literals> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).into()
}

/// The name of events whose message is a literal of the program.
fn literal(text: &'static str) -> &'static StaticName {
    let key = (text.as_ptr().addr(), text.len());
    let find = || LITERALS.try_with(|known| known.try_borrow().ok()?.get(&key).copied());
    find().ok().flatten().unwrap_or_else(|| {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        let name = *all.entry(text).or_insert_with(|| Box::leak(Box::new(StaticName::event(text))));
        let _ = LITERALS.try_with(|known| known.borrow_mut().insert(key, name));
        name
    })
}

fn write(record: &Record<'_>) {
    let members = Members::One(category(record.metadata()));
    let bits = members.instances();
    if bits == 0 {
        return;
    }
    let mut text = TEXT.try_with(Cell::take).unwrap_or_default();
    text.clear();
    let fixed = record.args().as_str();
    if fixed.is_none() {
        // An error of a value's own: what was written stays.
        let _ = write!(text, "{}", record.args());
    }
    let name = match fixed {
        Some(fixed) => EventName::Static(literal(fixed)),
        None => EventName::Dynamic(&text),
    };
    let priority = level(record.level()).priority();
    let location = record.file_static().zip(record.line());
    let location = location.map(|(file, line)| Location { file, function: "", line });
    let spec = Spec::instant(members, name);
    let mut fill = |event: &mut Event<'_, '_>| {
        match fixed {
            Some(fixed) => {
                event.log_at(fixed, priority, location);
            }
            None => event.log_formatted(&text, priority, location),
        }
        if let Some(location) = location {
            event.location(location);
        }
    };
    thread::write(bits, &spec, Some(&mut Arguments::Closure(&mut fill)));
    if text.capacity() <= TEXT_BYTES_KEPT {
        let _ = TEXT.try_with(|kept| kept.set(text));
    }
}
