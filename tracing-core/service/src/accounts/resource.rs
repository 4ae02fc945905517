//! What is on the accounts of users.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Registered data sources and writers.
    SourcesAndWriters,
    /// Shared memory that the service touched. Users that were caught have another share of it.
    Memory,
    /// What compresses the traces of its sessions.
    Codecs,
    /// Registered data sources, as a number: their bytes have a limit.
    Registrations,
    /// Trace buffers of its sessions, as large as they may become with their indexes, and numbers of sequences; and
    /// what its clones hold.
    Buffers,
    /// Answers of producers that flushes of its sessions wait for, as a number.
    Answers,
}

/// How many there are.
pub(super) const RESOURCES: usize = 6;
