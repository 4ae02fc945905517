//! The triggers that a session waits for.

use protos::{TraceConfig, TraceConfigTriggerConfigTrigger};

use crate::error::NameFilterError;
use crate::matching::NameRegex;
use abi::map::BlockMap;
use abi::sync::Arc;

/// What a session does when one of its triggers is activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum TriggerMode {
    /// The session has no triggers.
    #[default]
    None,
    Start,
    Stop,
    /// The session continues; its consumer clones it.
    Clone,
}

impl TriggerMode {
    /// As the config asks; `use_clone_snapshot_if_available` makes a clone of what would be a stop.
    fn of(config: &TraceConfig) -> Self {
        let Some(trigger) = &config.trigger_config else { return Self::None };
        if trigger.use_clone_snapshot_if_available == Some(true) {
            return Self::Clone;
        }
        match trigger.trigger_mode.map_or(0, |m| m.0) {
            1 => Self::Start,
            2 => Self::Stop,
            4 => Self::Clone,
            _ => Self::None,
        }
    }
}

/// One trigger of a config.
#[derive(Debug, Default)]
pub(crate) struct Trigger {
    pub(crate) producers: Option<NameRegex>,
    pub(crate) delay_ms: u64,
    /// Zero for any number.
    pub(crate) max_per_day: u32,
    pub(crate) skip_probability: f64,
}

/// The triggers of a session.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    pub(crate) mode: TriggerMode,
    pub(crate) by_name: BlockMap<Arc<str>, Trigger>,
}

impl Triggers {
    /// The triggers of a config, none of which is added yet.
    pub(crate) fn of_mode(config: &TraceConfig) -> Self {
        Self { mode: TriggerMode::of(config), by_name: BlockMap::new() }
    }

    /// Adds one of a config; `compile` makes an expression of a producer name.
    ///
    /// # Errors
    /// The error of `compile`.
    pub(crate) fn add(
        &mut self,
        trigger: &TraceConfigTriggerConfigTrigger,
        compile: impl FnOnce(&str) -> Result<NameRegex, NameFilterError>,
    ) -> Result<(), NameFilterError> {
        let regex = trigger.producer_name_regex.as_deref().unwrap_or_default();
        let made = Trigger {
            producers: (!regex.is_empty()).then(|| compile(regex)).transpose()?,
            delay_ms: trigger.stop_delay_ms.unwrap_or(0).into(),
            max_per_day: trigger.max_per_24_h.unwrap_or(0),
            skip_probability: trigger.skip_probability.unwrap_or(0.0),
        };
        self.by_name.insert(trigger.name.as_deref().unwrap_or_default().into(), made);
        Ok(())
    }
}
