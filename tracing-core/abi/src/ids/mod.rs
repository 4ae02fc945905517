//! Ids as newtypes, so that two kinds of ids cannot be confused.
//!
//! Each newtype is the width the wire or the shared memory gives it; arithmetic exists
//! only where it means something, and that is one place: [`ChunkId`] wraps around.
//!
//! Zero is "none" for every id that a producer can name ([`WriterId`], [`BufferId`],
//! [`ProducerId`]). The types allow it, since peers may send it, so code that reads an id from a peer
//! checks [`is_none`](WriterId::is_none).

use core::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($repr:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($repr);

        impl $name {
            /// The id with this number.
            #[inline]
            pub const fn new(number: $repr) -> Self {
                Self(number)
            }

            /// Its number.
            #[inline]
            pub const fn get(self) -> $repr {
                self.0
            }

            /// Whether this is zero, which the protocol keeps for "none".
            #[inline]
            pub const fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

ids! {
    /// A connected producer, as the service numbers it. A producer never learns or sends its own:
    /// it follows from the connection (`basic_types.h`).
    ProducerId(u16);
    /// One trace writer of one producer: 1..=[`WriterId::MAX`]; 0 writes nowhere.
    WriterId(u16);
    /// One chunk in the life of a writer. Starts at 0, wraps; compare with [`ChunkId::distance`].
    ChunkId(u32);
    /// A central buffer, global in the service: 1..=65535.
    BufferId(u16);
    /// A buffer that a producer writes for before the service has named it, 1..=65535. It is never sent.
    ReservationId(u16);
    /// A tracing session of the service, never reused while it runs.
    SessionId(u64);
    /// One running instance of a data source, global in the service.
    InstanceId(u64);
    /// A flush that the service asked for. Later ones have higher numbers; an acknowledgement covers all lower ones.
    FlushId(u64);
    /// A connection to the service, of either port; never reused.
    ClientId(u64);
    /// A call on a connection that expects an answer.
    CallId(u64);
    /// A file the service writes through its shell.
    FileId(u64);
    /// A clone of a session until it is a session itself, never reused while the service runs.
    CloneId(u64);
    /// A request of the service to its shell, which the answer names.
    ShellToken(u64);
}

impl WriterId {
    /// The largest id of a writer: the top bit of the 16 is not used for ids
    /// (`kMaxWriterID`, `basic_types.h`).
    pub const MAX: u16 = 0x7fff;
}

impl ChunkId {
    /// The id after this one; wraps at 2^32.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// How far `self` lies after `earlier`: negative if it is the older one.
    ///
    /// Ids wrap, so order is only meaningful within half the range, as for TCP sequence numbers.
    #[inline]
    #[must_use]
    pub const fn distance(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0).cast_signed()
    }
}

#[cfg(test)]
mod tests;
