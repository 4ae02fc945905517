//! What every contender offers, and the modes that it runs.

/// What one event of a burst is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// An instant while nothing is recorded. A contender without instants begins and ends a slice.
    Disabled = 0,
    /// A literal name, nothing else.
    Instant = 1,
    /// Begin and end.
    Slice = 2,
    /// With two numbers. A contender without instants begins and ends a slice.
    Args = 3,
    /// With a text of 16 bytes. A contender without instants begins and ends a slice.
    String = 4,
    /// A value of a counter.
    Counter = 5,
}

impl Mode {
    pub const ALL: [(&'static str, Self); 6] = [
        ("disabled", Self::Disabled),
        ("instant", Self::Instant),
        ("slice", Self::Slice),
        ("args", Self::Args),
        ("string", Self::String),
        ("counter", Self::Counter),
    ];
}

/// Size of the shared memory and of the buffer of those that have them.
pub const SHM_KB: u32 = 4096;
pub const BUFFER_KB: u32 = 65_536;

/// A way to trace a Rust program, or a C++ one.
pub struct Contender {
    pub name: &'static str,
    /// Called once, before everything else.
    pub init: fn(),
    /// From here on events are recorded.
    pub start: fn(),
    /// Records `count` events; false if it does not have the mode.
    pub burst: fn(Mode, u32) -> bool,
    /// Takes what a burst has left behind in the thread that calls it.
    pub clear_thread: fn(),
    /// Waits until what was recorded has left the memory that events go into.
    pub drain: fn(),
    /// Ends the recording: the bytes of the trace, 0 where there are none to compare.
    pub stop: fn() -> u64,
}

pub fn nothing() {}

pub fn no_bytes() -> u64 {
    0
}
