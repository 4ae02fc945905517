//! What is wrong with a trace config, by what it is about.

use std::fmt;

use crate::filter::FilterConfigError;
use crate::output::Boost;

/// What is wrong with a trace config. Texts keep the key words of upstream's.
#[derive(Clone, Debug)]
pub(crate) enum ConfigError {
    DurationTooLong { duration_ms: u64, max_ms: u64, guardrails: bool },
    Trigger(TriggerError),
    DeferredStartWithGuardrails,
    BufferNotMultipleOf4(u32),
    BuffersTooLarge { sum_kb: u64, max_kb: u64 },
    TooManyBuffers { count: usize, max: usize },
    DuplicateBuffer(String),
    DataSource(DataSourceError),
    NameFilter(NameFilterError),
    TooManySemaphores { count: usize, max: usize },
    Priority(PriorityError),
    FileXorPath,
    BufferSize { bytes: u64, max_kb: u64 },
    BufferSizeV2 { bytes: u64, max_kb: u64 },
    Filter(FilterConfigError),
}

const GUARDED: &str = " with enable_extra_guardrails";

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DurationTooLong { duration_ms, max_ms, guardrails } => {
                let guards = if *guardrails { GUARDED } else { "" };
                write!(
                    f,
                    "trace too long: duration_ms is {duration_ms}, at most {max_ms} is allowed{guards}"
                )
            }
            Self::DeferredStartWithGuardrails => {
                f.write_str("deferred_start is not supported in unsupervised traces")
            }
            Self::BufferNotMultipleOf4(kb) => {
                write!(f, "buffer sizes must be a multiple of 4 KB, {kb} is not")
            }
            Self::BuffersTooLarge { sum_kb, max_kb } => {
                write!(f, "buffers too large: {sum_kb} KB in all, at most {max_kb} are allowed")
            }
            Self::TooManyBuffers { count, max } => {
                write!(f, "too many buffers: {count}, at most {max} are allowed")
            }
            Self::DuplicateBuffer(name) => write!(f, "Duplicate buffer name: {name:?}"),
            Self::TooManySemaphores { count, max } => {
                write!(f, "too many session_semaphores: {count}, at most {max} are allowed")
            }
            Self::NameFilter(error) => error.fmt(f),
            Self::Priority(error) => error.fmt(f),
            Self::FileXorPath => f.write_str(
                "write_into_file needs exactly one of a file descriptor and output_path (fd xor path)",
            ),
            Self::BufferSize { bytes, max_kb } => {
                write!(f, "Invalid buffer sizes: {bytes} bytes, size_kb is from 1 to {max_kb}")
            }
            Self::BufferSizeV2 { bytes, max_kb } => write!(
                f,
                "Invalid buffer sizes: {bytes} bytes, size_kb of TRACE_BUFFER_V2 is from 1 to {max_kb}"
            ),
            Self::Filter(error) => error.fmt(f),
            Self::DataSource(error) => error.fmt(f),
            Self::Trigger(error) => error.fmt(f),
        }
    }
}

/// What is wrong with the triggers of a config, or with what does not go with them.
#[derive(Clone, Debug)]
pub(crate) enum TriggerError {
    Timeout { timeout_ms: u64, max_ms: u64 },
    Mode(i32),
    CloneIfAvailableWithoutStop,
    WithDuration,
    BugreportFilename(char),
    WithFile,
    Duplicate(String),
}

impl From<TriggerError> for ConfigError {
    fn from(error: TriggerError) -> Self {
        Self::Trigger(error)
    }
}

impl fmt::Display for TriggerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout { timeout_ms, max_ms } => write!(
                f,
                "traces with triggers need a positive trigger_timeout_ms of at most {max_ms}, not \
                 {timeout_ms}"
            ),
            Self::Mode(mode) => write!(f, "invalid trigger mode {mode}"),
            Self::CloneIfAvailableWithoutStop => f.write_str(
                "trigger_mode must be STOP_TRACING with use_clone_snapshot_if_available",
            ),
            Self::WithDuration => f.write_str(
                "duration_ms is not allowed with triggers: they have trigger_timeout_ms",
            ),
            Self::BugreportFilename(bad) => {
                write!(f, "bugreport_filename contains the invalid char {bad:?}")
            }
            Self::WithFile => {
                f.write_str("write_into_file with STOP_TRACING or CLONE_SNAPSHOT is unsupported")
            }
            Self::Duplicate(name) => write!(f, "duplicate trigger name {name:?}"),
        }
    }
}

/// What is wrong with the buffer, or the length, of one data source of a config.
#[derive(Clone, Debug)]
pub(crate) enum DataSourceError {
    TargetNameUnknown { source: String, target: String },
    TargetMismatch { source: String, index: usize, target: String, resolved: usize },
    TargetOutOfBounds { source: String, index: usize, count: usize },
    TooLarge { source: String, bytes: usize, max: usize },
}

impl From<DataSourceError> for ConfigError {
    fn from(error: DataSourceError) -> Self {
        Self::DataSource(error)
    }
}

impl fmt::Display for DataSourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TargetNameUnknown { source, target } => write!(
                f,
                "data source {source:?}: target_buffer_name {target:?} does not match any buffer"
            ),
            Self::TargetMismatch { source, index, target, resolved } => write!(
                f,
                "data source {source:?}: target_buffer {index} and target_buffer_name {target:?} \
                 (buffer {resolved}) don't match"
            ),
            Self::TargetOutOfBounds { source, index, count } => write!(
                f,
                "data source {source:?}: target_buffer {index} is out of bounds, there are {count} \
                 buffers"
            ),
            Self::TooLarge { source, bytes, max } => write!(
                f,
                "data source {source:?}: a config of {bytes} bytes, at most {max} can be sent to a \
                 producer"
            ),
        }
    }
}

/// How much of a regular expression an error repeats.
const REGEX_QUOTED_CHARS: usize = 80;

/// What is wrong with the names, and the expressions for names, of producers and machines.
#[derive(Clone, Debug)]
pub(crate) enum NameFilterError {
    TooManyRegexes {
        max: usize,
    },
    TooManyNames {
        max: usize,
    },
    /// Those of a config that was changed.
    TooLarge {
        max_kib: usize,
    },
    RegexInvalid {
        field: &'static str,
        text: String,
        reason: String,
    },
    RegexesTooLarge {
        max_kib: usize,
    },
}

impl From<NameFilterError> for ConfigError {
    fn from(error: NameFilterError) -> Self {
        Self::NameFilter(error)
    }
}

impl fmt::Display for NameFilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyRegexes { max } => {
                write!(f, "too many regular expressions, at most {max} are allowed")
            }
            Self::TooManyNames { max } => write!(
                f,
                "too many names in producer_name_filter and machine_name_filter, at most {max} are allowed in all"
            ),
            Self::TooLarge { max_kib } => write!(
                f,
                "the new producer filters are too large: at most {max_kib} KiB are allowed, counted for each data \
                 source that gets them"
            ),
            Self::RegexInvalid { field, text, reason } => {
                let short: String = text.chars().take(REGEX_QUOTED_CHARS).collect();
                let rest = if short.len() < text.len() { "…" } else { "" };
                write!(f, "{field} {short:?}{rest} is invalid: {reason}")
            }
            Self::RegexesTooLarge { max_kib } => write!(
                f,
                "the regular expressions are too large: at most {max_kib} KiB, compiled, are allowed \
                 in all"
            ),
        }
    }
}

/// Why a config may not ask for a priority.
#[derive(Clone, Debug)]
pub(crate) enum PriorityError {
    OutOfRange(Boost),
    Policy(i32),
    /// The priority of the service.
    OfOther {
        uid: u32,
    },
    /// That of a producer.
    OfSource {
        uid: u32,
        source: String,
    },
}

impl fmt::Display for PriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange(Boost::Other(priority)) => write!(
                f,
                "priority_boost: the priority of POLICY_SCHED_OTHER is from 0 to 20, not {priority}"
            ),
            Self::OutOfRange(Boost::Fifo(priority)) => write!(
                f,
                "priority_boost: the priority of POLICY_SCHED_FIFO is from 1 to 99, not {priority}"
            ),
            Self::Policy(policy) => write!(
                f,
                "priority_boost: policy {policy} is neither POLICY_SCHED_OTHER nor POLICY_SCHED_FIFO"
            ),
            Self::OfOther { uid } => write!(
                f,
                "priority_boost: user {uid} may not change the priority of the service; remove it from the config, or \
                 record as root or as the user of the service"
            ),
            Self::OfSource { uid, source } => write!(
                f,
                "data source {source:?}: priority_boost: user {uid} may not change the priority of a producer; remove \
                 it from the config, or record as root or as the user of the service"
            ),
        }
    }
}
