//! What a data source of this crate consists of: a kind of probe.
//!
//! ```text
//!   a kind (linux.sys_stats)     one thread, one `Probe::Shared`: files that stay open, what was read just now
//!     ├─ an instance (session 1) one `Probe`: its config, its period, what it wrote last; and its trace writer
//!     └─ an instance (session 2)
//! ```
//!
//! A probe knows no threads, no clocks but that of its [`Output`], and no other instances. It may block: that delays
//! its kind alone.
//!
//! To add one:
//!
//! 1. If it has a config, add that to the schema: `protos/README.md`.
//! 2. Implement [`Probe`] in a module of its own. [`Probe::Shared`] is [`Root`] if files are opened at each reading
//!    (`sysfs_power`), or `PolledFiles` if the same files are read at each tick (`sys_stats`). Bounds go into `limits`.
//! 3. Register it in `register_all_at`; add its name to [`NAMES`](crate::NAMES) and to the tables that a test compares
//!    with them: in `lib.rs`, in the two READMEs, and in the manual page `traced_probes`.
//! 4. Tests: `tests::World` is a folder in place of `/`, `tests::Alone` runs one instance. Add the kind to
//!    `thousands_of_instances_and_flushes_take_one_thread` (`source/tests.rs`).

use std::time::Duration;

use protos::{DataSourceConfig, DataSourceDescriptor};

use crate::Root;
use crate::facts::{Facts, Wanted};
use crate::output::Output;

/// One instance of a kind: reads files and fills packets.
pub(crate) trait Probe: Send + Sized + 'static {
    /// Name of the data source.
    const NAME: &'static str;
    /// Whether a reader must remember its earlier packets to understand a later one.
    const HAS_INCREMENTAL_STATE: bool;

    /// What all instances of the kind read with. [`Root`] if they share nothing.
    type Shared: Shared;

    /// Whether an instance with this config would record anything. It must not read: it runs on the thread of the
    /// producer, which other kinds need.
    ///
    /// # Errors
    /// Why it would not. The instance is refused, and the ledger of its session tells that.
    fn check(config: &DataSourceConfig) -> Result<(), String> {
        let _ = config;
        Ok(())
    }

    /// A probe for one instance. It must not read yet.
    fn new(shared: &mut Self::Shared, config: &DataSourceConfig) -> Self;

    /// Called once, when recording starts.
    fn start(&mut self, shared: &mut Self::Shared, out: &mut dyn Output);

    /// Time until the next tick. `None`: there are no ticks, until facts come. A config can ask for any period, so the
    /// probe has a shortest one.
    fn period(&self) -> Option<Duration>;

    /// Called right after the start, then at each multiple of the period. A multiple that passes meanwhile is left out.
    fn tick(&mut self, shared: &mut Self::Shared, out: &mut dyn Output);

    /// What an instance with this config wants to be told of the events that ftrace records in its session.
    fn wanted(config: &DataSourceConfig) -> Wanted {
        let _ = config;
        Wanted::default()
    }

    /// Takes facts of the events that ftrace has read. Afterwards there may be a period where there was none: then the
    /// first tick comes when it has passed.
    fn facts(&mut self, shared: &mut Self::Shared, facts: &Facts, out: &mut dyn Output) {
        let _ = (shared, facts, out);
    }

    /// A flush asks for what there is. The packets so far are handed over afterwards.
    fn flush(&mut self, shared: &mut Self::Shared, out: &mut dyn Output) {
        let _ = (shared, out);
    }

    /// A reader may have lost the packets so far: write again what it must remember.
    fn clear_incremental_state(&mut self, shared: &mut Self::Shared, out: &mut dyn Output) {
        let _ = (shared, out);
    }
}

/// What the instances of a kind share. It exists while there are any.
pub(crate) trait Shared: Send + 'static {
    /// For files below `root`.
    fn new(root: &Root) -> Self;

    /// What was read until now is old. Between two calls, instances tick at the same time and may use one read.
    fn begin_batch(&mut self) {}
}

impl Shared for Root {
    fn new(root: &Root) -> Self {
        root.clone()
    }
}

/// The descriptor that a kind registers.
pub(crate) fn descriptor<P: Probe>() -> DataSourceDescriptor {
    DataSourceDescriptor {
        name: Some(P::NAME.to_owned()),
        handles_incremental_state_clear: P::HAS_INCREMENTAL_STATE.then_some(true),
        ..Default::default()
    }
}
