//! The words for what a user gets no more of.

use std::fmt;

use super::resource::Resource;

/// Why there is no room for more on an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(super) what: Resource,
    pub(super) uid: u32,
    pub(super) asked: usize,
    /// What the user has, and may have.
    pub(super) own: (usize, usize),
    /// The same for all users to whom the same limit applies.
    pub(super) all: (usize, usize),
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, uid, asked, own: (held, max), all: (total, total_max) } = self;
        let (unit, advice) = match what {
            Resource::Answers => {
                ("answers of producers", "wait until earlier flushes are over, or flush as root")
            }
            Resource::SourcesAndWriters => (
                "bytes of data sources and writers",
                "register fewer data sources, or end other producers of that user",
            ),
            Resource::Codecs => (
                "bytes of memory to compress with",
                "end other sessions of that user, or choose a lower level",
            ),
            Resource::Memory => (
                "bytes of shared memory that the service may pay for",
                "end all processes of that user that have such memory open, or restart the service",
            ),
            Resource::Buffers | Resource::Registrations => (
                "bytes with indexes",
                "use fewer or smaller buffers, end other sessions and clones, give the service more memory, or ask \
                 as root",
            ),
        };
        write!(f, "{asked} {unit} are asked for, and user {uid} has {held} of at most {max}")?;
        if held.saturating_add(*asked) <= *max {
            let all = match what {
                Resource::Memory => "users that removed shared memory",
                _ => "users other than root and that of the service",
            };
            write!(f, "; {all} have {total} of at most {total_max} together")?;
        }
        write!(f, ": {advice}")
    }
}
