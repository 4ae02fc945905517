//! Fields of events, as annotations, messages, counters and names of tracks.

use core::fmt::{self, Write as _};
use std::error::Error;

use tracing::field::{Field, Visit};

use super::callsite::{CallSite, Role};
use crate::event::Event;
use crate::event::annotate::{Annotate, ByDebug, Value};
use crate::event::counter_value::CounterValue;
use crate::site::sticky::Counter;

/// How many causes of an error are recorded. A chain may have no end.
const CAUSES_MAX: usize = 16;

/// An error and its causes, outermost first.
pub(super) struct Causes<'a>(pub(super) &'a (dyn Error + 'static));

impl Causes<'_> {
    pub(super) fn each(&self, mut f: impl FnMut(&dyn fmt::Display)) {
        let mut next = Some(self.0);
        for _ in 0..CAUSES_MAX {
            let Some(error) = next else { break };
            f(&error);
            next = error.source();
        }
    }
}

/// Formats with `Display`.
struct Displayed<'a>(&'a dyn fmt::Display);

impl Annotate for Displayed<'_> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.display(self.0);
    }
}

impl Annotate for Causes<'_> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.list(|list| {
            self.each(|error| {
                list.item(&Displayed(error));
            });
        });
    }
}

/// Writes the fields of an event as annotations, except those with another meaning.
pub(super) struct Annotations<'a, 'e, 'p> {
    pub(super) site: &'static CallSite,
    pub(super) event: &'a mut Event<'e, 'p>,
}

impl Annotations<'_, '_, '_> {
    fn put(&mut self, field: &Field, value: &(impl Annotate + ?Sized)) {
        if let Some(key) = self.site.key(field.index()) {
            self.event.annotate_static(key, value);
        }
    }

    /// A value that a counter can have.
    fn put_number(&mut self, field: &Field, value: &impl Annotate) {
        if let Some(key) = self.site.key_of_number(field.index()) {
            self.event.annotate_static(key, value);
        }
    }
}

macro_rules! put {
    ($put:ident, $($method:ident: $type:ty,)*) => {$(
        fn $method(&mut self, field: &Field, value: $type) {
            self.$put(field, &value);
        }
    )*};
}

impl Visit for Annotations<'_, '_, '_> {
    put!(put_number, record_f64: f64, record_i64: i64, record_u64: u64, record_bool: bool,);

    put!(put, record_i128: i128, record_u128: u128, record_str: &str,);

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, &Causes(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, &ByDebug(value));
    }
}

/// A text, and where it came from.
#[derive(Default)]
pub(super) struct Message {
    pub(super) text: String,
    pieces: usize,
    address: usize,
}

impl Message {
    /// The address of the text, if it was not put together.
    pub(super) fn piece(&self) -> Option<usize> {
        (self.pieces == 1).then_some(self.address)
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.pieces = 0;
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.pieces += 1;
        self.address = text.as_ptr().addr();
        self.text.push_str(text);
        Ok(())
    }
}

/// Looks at the fields of an event with a meaning of their own, before the event is written. Records its counters.
#[derive(Default)]
pub(super) struct Special {
    pub(super) message: Message,
    pub(super) track: String,
    /// An event that has the fields of counters alone has a value that is no number.
    pub(super) has_annotation: bool,
}

impl Special {
    pub(super) fn visitor(&mut self, site: &'static CallSite) -> SpecialVisitor<'_> {
        SpecialVisitor { site, out: self }
    }
}

pub(super) struct SpecialVisitor<'a> {
    site: &'static CallSite,
    out: &'a mut Special,
}

impl SpecialVisitor<'_> {
    fn number(&mut self, field: &Field, value: impl Into<CounterValue>) {
        if let Some(Role::Counter(name)) = self.site.roles.get(field.index()) {
            Counter::new(name).record(self.site.category, value);
        }
    }
}

impl Visit for SpecialVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, i64::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // An error of the value's own: what was written stays.
        let _ = match self.site.roles.get(field.index()) {
            Some(Role::Message) => write!(self.out.message, "{value:?}"),
            Some(Role::Track) => write!(self.out.track, "{value:?}"),
            Some(Role::Counter(_)) => {
                self.out.has_annotation = self.site.only_counters;
                Ok(())
            }
            _ => Ok(()),
        };
    }
}
