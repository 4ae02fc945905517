//! Handles of tracks, one type for each kind, so that a value can only go where a reader accepts it.

use super::counter::CounterValue;
use super::slices::Slices;

/// A track within one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackId {
    pub(super) trace: u32,
    pub(super) idx: u32,
    pub(super) uuid: u64,
}

/// A track of any kind.
pub trait Track: sealed::Sealed {
    /// The track.
    fn id(&self) -> TrackId;

    /// Its `TrackDescriptor.uuid`, for packets of one's own.
    fn uuid(&self) -> u64 {
        self.id().uuid
    }
}

/// A track that may have tracks below it.
pub trait Parent: Track {}

/// A track that takes slices and instants.
pub trait SliceTrack: Track {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! tracks {
    ($($(#[$doc:meta])* $name:ident: $($role:ident)*;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub(super) TrackId);
        impl sealed::Sealed for $name {}
        impl Track for $name {
            fn id(&self) -> TrackId {
                self.0
            }
        }
        $(impl $role for $name {})*)*
    };
}

tracks! {
    /// A process. Slices on it belong to none of its threads.
    ProcessTrack: Parent SliceTrack;
    /// A thread. It shares its track with what the kernel says of that thread. Readers take a thread of another writer
    /// with the same ids for a later thread, which got the ids again.
    ThreadTrack: Parent SliceTrack;
    /// A track with a name.
    NamedTrack: Parent SliceTrack;
    /// A track whose slices may overlap: each goes to a lane that is free.
    LanesTrack: SliceTrack;
    /// Values over time.
    CounterTrack:;
    /// One state at a time.
    StateTrack:;
}

/// An open slice, to be ended once. It cannot be copied, so it cannot end twice.
#[derive(Debug)]
#[must_use = "a slice that is not ended is open at the end of the trace"]
pub struct OpenSlice {
    pub(super) track: TrackId,
    /// The lane, and the id of the slice on it. `None`: its begin was refused, and so is its end.
    pub(super) place: Option<(u32, u64)>,
}

/// What the writer knows of a track.
#[derive(Debug)]
pub(super) struct KnownTrack {
    /// Number of tracks above it.
    pub(super) depth: u32,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Slices(Slices),
    /// Lanes, and the descriptor of a further one but for its uuid.
    Lanes {
        lanes: Vec<(u64, Slices)>,
        descriptor: Box<[u8]>,
    },
    Counter {
        /// The sum of what is written, if values are written as differences.
        sum: Option<CounterValue>,
    },
    State,
}
