//! The parties of a cell, and the paths of their programs.

use std::path::PathBuf;
use std::process::Command;

/// Which implementation a program is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Cpp,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Cpp => "cpp",
        }
    }
}

/// The source of data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `tracing-core/examples/producer.rs`, with one packet of 8 MB.
    Example,
    /// The same under the drop policy, writing more than shared memory can hold.
    Drop,
    /// The Linux data sources of tracing-probes, as a process.
    Probes,
    /// The C++ `traced_probes` with sched events of ftrace, as columns.
    Ftrace,
    /// The same with events one by one, and system calls.
    FtraceEach,
    /// Ours with the config of `Ftrace`.
    Kernel,
    /// Ours with the config of `FtraceEach`.
    KernelEach,
    /// The C++ SDK, `interop/sdk-producer`.
    Sdk,
    /// `tracing-sdk/examples/everything.rs`: every kind of event.
    Events,
    /// The same with the service inside the program, and no sockets.
    Inside,
    /// `tracing-sdk/examples/tracing_layer.rs`, as `Inside`: spans and events of the crate `tracing`.
    Layer,
    /// `tracing-sdk/examples/futures.rs`, as `Inside`.
    Futures,
    /// `tracing-sdk/examples/tracks_and_flows.rs`, as `Inside`.
    Tracks,
    /// `tracing-sdk/examples/custom_data_source.rs`, as `Inside`: packets that are no events.
    Custom,
    /// Both SDKs in one process, `interop/sdk-both`.
    Both,
    /// `tracing-sdk/examples/startup.rs`, which has recorded before the service runs.
    Startup,
    /// The README's first command: service, sources and consumer in one process, and no sockets.
    Alone,
}

impl Source {
    /// Those that are combined with every service and consumer.
    pub const ALL: [Self; 6] =
        [Self::Ftrace, Self::Kernel, Self::Sdk, Self::Example, Self::Probes, Self::Startup];

    /// Whether it takes events of the kernel, of which one daemon at a time has its own.
    pub fn is_of_kernel(self) -> bool {
        matches!(self, Self::Ftrace | Self::FtraceEach | Self::Kernel | Self::KernelEach)
    }

    /// Whether it writes track events with all that belongs to them.
    pub fn has_events(self) -> bool {
        matches!(self, Self::Sdk | Self::Events | Self::Inside | Self::Both)
            || matches!(self, Self::Layer | Self::Futures | Self::Tracks)
    }

    /// Our program that records itself into a file, if it is one.
    pub fn recorder(self) -> Option<&'static str> {
        match self {
            Self::Alone => Some("tracebox"),
            Self::Inside => Some("examples/everything"),
            Self::Layer => Some("examples/tracing_layer"),
            Self::Futures => Some("examples/futures"),
            Self::Tracks => Some("examples/tracks_and_flows"),
            Self::Custom => Some("examples/custom_data_source"),
            _ => None,
        }
    }

    /// The file with the events that a trace of it must have, if there is one.
    pub fn expected(self) -> Option<&'static str> {
        match self {
            Self::Events | Self::Inside => Some("events.txt"),
            Self::Both => Some("both.txt"),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Example => "example",
            Self::Drop => "drop",
            Self::Probes => "probes",
            Self::Ftrace => "ftrace",
            Self::FtraceEach => "ftraceeach",
            Self::Kernel => "kernel",
            Self::KernelEach => "kerneleach",
            Self::Sdk => "sdk",
            Self::Events => "events",
            Self::Inside => "inside",
            Self::Layer => "layer",
            Self::Futures => "futures",
            Self::Tracks => "tracks",
            Self::Custom => "custom",
            Self::Both => "both",
            Self::Startup => "startup",
            Self::Alone => "alone",
        }
    }
}

/// Paths of the programs.
pub struct Place {
    pub ours: PathBuf,
    pub peer: PathBuf,
    pub sdk: PathBuf,
    pub python: PathBuf,
    /// The folder `interop`.
    pub scripts: PathBuf,
    /// Lists of events are written, not compared.
    pub is_blessing: bool,
}

impl Place {
    /// A file of the folder `interop`.
    pub fn script(&self, name: &str) -> PathBuf {
        self.scripts.join(name)
    }

    /// A program of one of the sides.
    pub fn program(&self, side: Side, name: &str) -> Command {
        match side {
            Side::Ours => Command::new(self.ours.join(name)),
            Side::Cpp => Command::new(self.peer.join(name)),
        }
    }
}
