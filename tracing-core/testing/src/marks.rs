//! Records the events of a run. An event that happens in no run is not tested, so many seeds together must leave
//! every mark.

use std::collections::BTreeMap;

use protos::GetAsyncCommandResponseCmd as Cmd;

use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use service::{FileSync, Input, Output};

/// The kind of mark, and its name.
pub type Mark = (&'static str, &'static str);

/// How often each event happened.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<Mark, u64>);

/// The name of an input: of a request, the name of its method.
pub(super) fn name_of(value: &Input) -> &'static str {
    match value {
        Input::ProducerRequest { request, .. } => ProducerPort::method_name(request),
        Input::ConsumerRequest { request, .. } => ConsumerPort::method_name(request),
        _ => input(value),
    }
}

impl core::fmt::Debug for Marks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut last = "";
        for ((kind, name), count) in &self.0 {
            let head = if core::mem::replace(&mut last, kind) == *kind { "," } else { "\n       " };
            write!(f, "{head} {kind} {name} {count}")?;
        }
        Ok(())
    }
}

/// A name for each variant, and the list of them all: a variant without a name does not compile.
macro_rules! names {
    ($name:ident, $all:ident, $type:ty { $($pattern:pat => $text:literal,)* }) => {
        const $all: &[&str] = &[$($text),*];

        fn $name(value: &$type) -> &'static str {
            match value { $($pattern => $text,)* }
        }
    };
}

names!(input, INPUTS, Input {
    Input::ProducerConnected { .. } => "ProducerConnected",
    Input::ProducerRefused { .. } => "ProducerRefused",
    Input::ProducerRequest { .. } => "ProducerRequest",
    Input::ProducerDisconnected { .. } => "ProducerDisconnected",
    Input::ProducerCut { .. } => "ProducerCut",
    Input::ConsumerConnected { .. } => "ConsumerConnected",
    Input::ConsumerRequest { .. } => "ConsumerRequest",
    Input::ConsumerDisconnected { .. } => "ConsumerDisconnected",
    Input::FileCreated { result: Ok(_), .. } => "FileCreated",
    Input::FileCreated { result: Err(_), .. } => "FileCreated with an error",
    Input::PrioritySet { result: Ok(()), .. } => "PrioritySet",
    Input::PrioritySet { result: Err(_), .. } => "PrioritySet with an error",
    Input::FileWritten { result: Ok(()), .. } => "FileWritten",
    Input::FileWritten { result: Err(_), .. } => "FileWritten with an error",
    Input::Drained { .. } => "Drained",
    Input::FramesDecoded { .. } => "FramesDecoded",
    Input::ShellCounted(_) => "ShellCounted",
});

names!(output, OUTPUTS, Output {
    Output::Reply { result: Ok(_), has_more: false, region: None, .. } => "Reply",
    Output::Reply { result: Ok(_), has_more: true, region: None, .. } => "Reply of many",
    Output::Reply { result: Ok(_), region: Some(_), .. } => "Reply with memory",
    Output::Reply { result: Err(_), .. } => "Reply: rejected",
    Output::Disconnect { .. } => "Disconnect",
    Output::CreateFile { .. } => "CreateFile",
    Output::WriteFile { sync: FileSync::No | FileSync::Begin, close: false, .. } => "WriteFile",
    Output::WriteFile { sync: FileSync::Wait, close: false, .. } => "WriteFile with sync",
    Output::WriteFile { close: true, .. } => "WriteFile and close",
    Output::CopyFile { .. } => "CopyFile",
    Output::AbandonFile { .. } => "AbandonFile",
    Output::SetPriority { boost: Some(_), .. } => "SetPriority",
    Output::SetPriority { boost: None, .. } => "SetPriority back",
    Output::CountMemory { .. } => "CountMemory",
    Output::ReleaseMemory { .. } => "ReleaseMemory",
    Output::Log { .. } => "Log",
});

names!(command, COMMANDS, Cmd {
    Cmd::SetupTracing(_) => "SetupTracing",
    Cmd::SetupDataSource(_) => "SetupDataSource",
    Cmd::StartDataSource(_) => "StartDataSource",
    Cmd::StopDataSource(_) => "StopDataSource",
    Cmd::Flush(_) => "Flush",
    Cmd::ClearIncrementalState(_) => "ClearIncrementalState",
});

/// Events that are no variant of an enum.
const EVENTS: &[&str] = &[
    "a session came after its config was checked in pieces",
    "a clone contains its trigger",
    "a file was full",
    "a gap with its mark",
    "a producer came during a lockdown",
    "a read after a flush was complete",
    "a slow reader",
    "a session was cloned",
    "a session was cloned for a trigger",
    "a session was detached",
    "a session was refused",
    "a session had no room for its buffers",
    "a clone had no room for its buffers",
    "a session was attached",
    "a trigger requested a clone",
    "a trigger is in the trace",
    "a trigger started a session",
    "a trigger stopped a session",
    "commits and memory forged",
    "data sources were slow to flush",
    "packets of a process that was killed are in the ledger",
    "an input came while a clone was copied",
    "as much was kept as there may be",
    "an input came while work waited",
    "a pass was compressed",
    "a packet tells of one that was left out",
    "a request waited for earlier work of its consumer",
    "a request waited for earlier work of its producer",
    "a config sets the shared memory of a producer",
    "the machine slept",
    "the machine slept for hours",
    "the wall clock was set",
];

impl Marks {
    fn add(&mut self, kind: &'static str, name: &'static str) {
        *self.0.entry((kind, name)).or_default() += 1;
    }

    pub(super) fn input(&mut self, value: &Input) {
        self.add("input", input(value));
        match value {
            Input::ProducerRequest { request, .. } => {
                self.add("producer", ProducerPort::method_name(request));
            }
            Input::ConsumerRequest { request, .. } => {
                self.add("consumer", ConsumerPort::method_name(request));
            }
            _ => {}
        }
    }

    pub(super) fn output(&mut self, value: &Output) {
        self.add("output", output(value));
    }

    pub(super) fn command(&mut self, value: &Cmd) {
        self.add("command", command(value));
    }

    pub(super) fn event(&mut self, name: &'static str) {
        debug_assert!(EVENTS.contains(&name), "no such mark: {name}");
        self.add("event", name);
    }

    /// Adds the marks of another run.
    pub fn merge(&mut self, other: &Self) {
        for (mark, count) in &other.0 {
            *self.0.entry(*mark).or_default() += count;
        }
    }

    /// The marks that were never left.
    #[must_use]
    pub fn missing(&self) -> Vec<Mark> {
        all().filter(|mark| !self.0.contains_key(mark)).collect()
    }

    /// How many different marks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no mark.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn all() -> impl Iterator<Item = Mark> {
    let of = |kind: &'static str, names: &'static [&'static str]| {
        names.iter().map(move |name| (kind, *name))
    };
    let producer = ProducerPort::METHODS.iter().map(|m| ("producer", m.name));
    let consumer = ConsumerPort::METHODS.iter().map(|m| ("consumer", m.name));
    of("input", INPUTS)
        .chain(of("output", OUTPUTS))
        .chain(of("command", COMMANDS))
        .chain(of("event", EVENTS))
        .chain(producer)
        .chain(consumer)
}
