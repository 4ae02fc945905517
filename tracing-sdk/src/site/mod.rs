//! What the macros call, once they know that a session may record the event.
//!
//! | module | what |
//! |---|---|
//! | [`guard`] | slices that end when a guard is dropped |
//! | [`kept`] | what a guard keeps |
//! | [`future`] | slices of futures: whole lives and polls |
//! | [`sticky`] | counters and states whose last value every session gets |
//! | [`call_site`] | those of `counter!` and `state!` |
//! | [`dynamic`] | those whose names are made at run time |
//! | [`remembered`] | that last value, which one thread reads while others change it |

pub(crate) mod call_site;
mod dynamic;
pub(crate) mod future;
pub(crate) mod guard;
mod kept;
mod remembered;
pub(crate) mod sticky;
#[cfg(all(test, not(feature = "off")))]
mod tests;

use protos::TrackEventType;

use self::guard::{Slice, TrackSlice};
use crate::category::{CategoryRef, Members};
use crate::clock::event_time::When;
use crate::event::Event;
use crate::event::annotation_value::AnnotationValue;
pub use crate::intern::EventName as Name;
use crate::intern::StaticName;
use crate::sequence::thread::{self, Written};
use crate::sequence::{Arguments, Spec};
use crate::track::Track;

/// An event, apart from its arguments.
pub struct Site<'s, 't>(Spec<'s, 't>);

impl core::fmt::Debug for Site<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Site")
    }
}

impl<'s, 't> Site<'s, 't> {
    /// An event of these categories.
    #[inline(always)]
    pub fn new(category: impl CategoryRef, name: Name<'s>) -> Self {
        Self::of(category.members(), name)
    }

    #[inline(always)]
    pub(super) fn of(members: Members, name: Name<'s>) -> Self {
        Self(Spec::instant(members, name))
    }

    /// `track = expression`.
    #[must_use]
    #[inline(always)]
    pub fn track(mut self, track: &'s Track<'t>) -> Self {
        self.0.track = Some(track);
        self
    }

    /// `ts = expression`.
    #[must_use]
    #[inline(always)]
    pub fn when(mut self, when: When<'s>) -> Self {
        self.0.when = when;
        self
    }

    #[inline(always)]
    fn begin(mut self) -> Self {
        self.0.kind = TrackEventType::TYPE_SLICE_BEGIN;
        self
    }

    #[inline(always)]
    fn write(&self, arguments: Option<Arguments<'_>>) -> Written {
        match arguments {
            None => self.write_to_instances(None),
            Some(Arguments::Annotations(keys, values)) => self.write_annotated(keys, values),
            Some(Arguments::Closure(fill)) => self.write_with(fill),
            // No macro of ours has one.
            #[cfg(feature = "tracing")]
            Some(mut line @ Arguments::Log(_)) => self.write_to_instances(Some(&mut line)),
        }
    }

    #[inline(never)]
    fn write_annotated(
        &self,
        keys: &'static [StaticName],
        values: &[AnnotationValue<'_>],
    ) -> Written {
        self.write_to_instances(Some(&mut Arguments::Annotations(keys, values)))
    }

    #[inline(never)]
    fn write_with(&self, fill: &mut dyn FnMut(&mut Event<'_, '_>)) -> Written {
        self.write_to_instances(Some(&mut Arguments::Closure(fill)))
    }

    #[inline(never)]
    fn write_to_instances(&self, arguments: Option<&mut Arguments<'_>>) -> Written {
        match self.0.members.map_or(0, Members::instances) {
            0 => Written::default(),
            bits => thread::write(bits, &self.0, arguments),
        }
    }

    /// `instant!`
    #[inline(always)]
    pub fn instant(self, arguments: Option<Arguments<'_>>) {
        self.write(arguments);
    }

    /// `slice!`
    #[inline(always)]
    pub fn slice(self, arguments: Option<Arguments<'_>>) -> Slice {
        Slice::new(self.begin().write(arguments))
    }

    /// `slice!` with `track`.
    #[inline(always)]
    pub fn track_slice(self, arguments: Option<Arguments<'_>>) -> TrackSlice<'t> {
        let track = self.0.track.copied().unwrap_or(Track::GLOBAL);
        TrackSlice::new(self.begin().write(arguments), track)
    }
}

/// Gives a closure of a call site its type.
#[inline(always)]
pub fn closure<F: FnMut(&mut Event<'_, '_>)>(fill: F) -> F {
    fill
}

/// Calls the body of a function. A closure that is given to this one may return what it borrows from its captures.
pub fn call<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// A reference as to a static, for code that never runs.
#[cfg(feature = "off")]
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
