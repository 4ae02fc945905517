//! What the macros call, once they know that a session may record the event. Nothing here is inlined into call sites.

use protos::TrackEventType;

use super::Event;
use super::guard::{Slice, TrackSlice};
use crate::category::{CategoryRef, Members};
use crate::sequence::intern::StaticName;
use crate::sequence::thread::{self, Written};
use crate::sequence::{EventName, Fill, Spec};
use crate::track::Track;

/// The name of an event, as a call site gives it.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A literal.
    Static(&'static StaticName),
    /// `name = expression`.
    Dynamic(&'a str),
    /// `name = @expression`.
    Interned(&'a str),
}

impl<'a> From<Name<'a>> for EventName<'a> {
    fn from(name: Name<'a>) -> Self {
        match name {
            Name::Static(name) => Self::Static(name),
            Name::Dynamic(name) => Self::Dynamic(name),
            Name::Interned(name) => Self::Interned(name),
        }
    }
}

/// An event, apart from its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Site<'s, 't> {
    members: Members,
    name: Name<'s>,
    track: Option<&'s Track<'t>>,
    time_ns: Option<u64>,
}

impl<'s, 't> Site<'s, 't> {
    /// An event of these categories.
    #[inline]
    pub fn new(category: impl CategoryRef, name: Name<'s>) -> Self {
        Self { members: category.members(), name, track: None, time_ns: None }
    }

    /// `track = expression`.
    #[must_use]
    #[inline]
    pub fn track(mut self, track: &'s Track<'t>) -> Self {
        self.track = Some(track);
        self
    }

    /// `ts = expression`.
    #[must_use]
    #[inline]
    pub fn time_ns(mut self, time_ns: u64) -> Self {
        self.time_ns = Some(time_ns);
        self
    }

    fn write(self, kind: TrackEventType, fill: Option<&mut Fill<'_>>) -> Written {
        let bits = self.members.instances();
        if bits == 0 {
            return Written::default();
        }
        let Self { members, name, track, time_ns } = self;
        let spec = Spec { kind, members: Some(members), name: name.into(), track, time_ns };
        thread::write(bits, &spec, fill)
    }

    /// `instant!`
    #[inline(never)]
    pub fn instant(self, fill: Option<&mut Fill<'_>>) {
        self.write(TrackEventType::TYPE_INSTANT, fill);
    }

    /// `slice!`
    #[inline(never)]
    pub fn slice(self, fill: Option<&mut Fill<'_>>) -> Slice {
        Slice::new(self.write(TrackEventType::TYPE_SLICE_BEGIN, fill))
    }

    /// `slice!` with `track`.
    #[inline(never)]
    pub fn track_slice(self, fill: Option<&mut Fill<'_>>) -> TrackSlice<'t> {
        let track = self.track.copied().unwrap_or(Track::GLOBAL);
        TrackSlice::new(self.write(TrackEventType::TYPE_SLICE_BEGIN, fill), track)
    }
}

/// Gives a closure of a call site its type.
#[inline(always)]
pub fn closure<F: FnMut(&mut Event<'_, '_>)>(fill: F) -> F {
    fill
}
