//! The values of a span. `tracing` gives them when the span is made, and its slice begins later.

use core::fmt::{self, Write as _};
use core::ops::Range;
use std::error::Error;
use std::sync::Arc;

use tracing::field::{Field, Visit};

use super::callsite::{CallSite, Role};
use super::field::Causes;
use crate::event::Event;
use crate::event::annotate::{Annotate, Simple, Value as Out};
use crate::event::annotation_value::AnnotationValue;
use crate::event::counter_value::CounterValue;
use crate::site::sticky::Counter;

/// How many fields a call site may have whose values are [arguments](Values::arguments).
pub(super) const ARGUMENTS_MAX: usize = 8;

/// How much memory for texts is kept for a later span, bytes.
const TEXT_BYTES_KEPT: usize = 4096;

#[derive(Clone, Debug)]
enum Stored {
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    /// A part of `Values::texts`.
    Text(Range<usize>),
    /// As `Text`, of the field `track`, which came too late to be the name of the track.
    LateTrack(Range<usize>),
    Causes(Arc<Vec<String>>),
}

#[derive(Clone, Debug)]
struct Value {
    field: usize,
    stored: Stored,
    /// It came after the slice had begun.
    is_late: bool,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<Value>,
    texts: String,
}

impl Values {
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether the texts need more memory than is kept. Those of errors have memory of their own.
    pub(super) fn is_large(&self) -> bool {
        let is_error = |value: &Value| matches!(value.stored, Stored::Causes(_));
        self.texts.capacity() > TEXT_BYTES_KEPT || self.values.iter().any(is_error)
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.texts.clear();
        self.texts.shrink_to(TEXT_BYTES_KEPT);
    }

    /// Becomes the same, in the memory that it has.
    pub(super) fn copy(&mut self, other: &Self) {
        self.clear();
        self.values.extend_from_slice(&other.values);
        self.texts.push_str(&other.texts);
    }

    /// Replaces values of the same fields, and adds all others, as late ones. The name of the track is not replaced,
    /// and there is no new one if a slice `has_begun`.
    pub(super) fn merge(&mut self, site: &'static CallSite, has_begun: bool, late: &mut Self) {
        for mut value in late.values.drain(..) {
            let is_track = site.is_track(value.field);
            if is_track && (has_begun || self.track_name(site).is_some()) {
                value.stored = value.stored.without_name();
            }
            let is_replaced = |old: &Value| {
                let is_name = is_track && matches!(old.stored, Stored::Text(_));
                old.field == value.field && !is_name
            };
            if let Some(at) = self.values.iter().position(is_replaced) {
                self.remove(at);
            }
            if let Stored::Text(range) | Stored::LateTrack(range) = &mut value.stored {
                let start = self.texts.len();
                self.texts.push_str(late.texts.get(range.clone()).unwrap_or_default());
                *range = start..self.texts.len();
            }
            self.values.push(Value { is_late: true, ..value });
        }
    }

    /// Removes a value and its text: a span that records one field again and again must not grow.
    fn remove(&mut self, at: usize) {
        let (Stored::Text(removed) | Stored::LateTrack(removed)) = self.values.remove(at).stored
        else {
            return;
        };
        self.texts.replace_range(removed.clone(), "");
        for value in &mut self.values {
            if let Stored::Text(range) | Stored::LateTrack(range) = &mut value.stored
                && range.start >= removed.end
            {
                *range = range.start - removed.len()..range.end - removed.len();
            }
        }
    }

    /// From now on none is late.
    pub(super) fn set_written(&mut self) {
        self.values.iter_mut().for_each(|value| value.is_late = false);
    }

    /// Writes values: all, or late ones.
    pub(super) fn annotate(
        &self,
        event: &mut Event<'_, '_>,
        site: &'static CallSite,
        only_late: bool,
    ) {
        for value in &self.values {
            let is_name = || matches!(value.stored, Stored::Text(_));
            let track = || site.track_key(value.field).filter(|_| !is_name());
            if let Some(key) = site.key(value.field).or_else(track)
                && (value.is_late || !only_late)
            {
                event.annotate_static(key, &Shown { stored: &value.stored, texts: &self.texts });
            }
        }
    }

    /// All values as arguments, if there are few, all of them of basic types and in the order of the fields of their
    /// call site: the place of each is that of its field, and those behind the last one are left out.
    pub(super) fn arguments<'v, 'o>(
        &'v self,
        site: &'static CallSite,
        out: &'o mut [AnnotationValue<'v>; ARGUMENTS_MAX],
    ) -> Option<&'o [AnnotationValue<'v>]> {
        let mut count = 0;
        for value in &self.values {
            let place = out.get_mut(value.field).filter(|_| value.field >= count)?;
            site.key(value.field)?;
            *place = AnnotationValue::Simple(simple(&value.stored, &self.texts)?);
            count = value.field + 1;
        }
        out.get(..count)
    }

    /// The value of the field `track`.
    pub(super) fn track_name(&self, site: &'static CallSite) -> Option<&str> {
        if !site.has_track {
            return None;
        }
        self.values.iter().find_map(|value| match (site.roles.get(value.field), &value.stored) {
            (Some(Role::Track), Stored::Text(range)) => self.texts.get(range.clone()),
            _ => None,
        })
    }
}

impl Stored {
    /// The same, as a value of the field `track` that is not the name.
    fn without_name(self) -> Self {
        match self {
            Self::Text(range) => Self::LateTrack(range),
            other => other,
        }
    }
}

struct Shown<'a> {
    stored: &'a Stored,
    texts: &'a str,
}

impl Annotate for Shown<'_> {
    fn annotate(&self, value: Out<'_, '_>) {
        if let Stored::Causes(texts) = self.stored {
            texts.as_slice().annotate(value);
        }
    }

    fn simple(&self) -> Option<Simple<'_>> {
        simple(self.stored, self.texts)
    }
}

fn simple<'v>(stored: &Stored, texts: &'v str) -> Option<Simple<'v>> {
    Some(match stored {
        Stored::U64(number) => Simple::uint(*number),
        Stored::I64(number) => Simple::int(*number),
        Stored::F64(number) => Simple::double(*number),
        Stored::Bool(truth) => Simple::bool(*truth),
        Stored::Text(range) | Stored::LateTrack(range) => {
            Simple::Str(texts.get(range.clone()).unwrap_or_default())
        }
        Stored::Causes(_) => return None,
    })
}

/// Collects values of a span. Records its counters.
pub(super) struct Collect<'v> {
    pub(super) site: &'static CallSite,
    pub(super) values: &'v mut Values,
}

impl Collect<'_> {
    fn number(&mut self, field: &Field, stored: Stored, counter: impl Into<CounterValue>) {
        match self.site.roles.get(field.index()) {
            Some(Role::Counter(name)) => Counter::new(name).record(self.site.category, counter),
            _ => self.push(field, stored),
        }
    }

    fn push(&mut self, field: &Field, stored: Stored) {
        self.values.values.push(Value { field: field.index(), stored, is_late: false });
    }
}

impl Visit for Collect<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, Stored::F64(value), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, Stored::I64(value), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, Stored::U64(value), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, Stored::Bool(value), i64::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let start = self.values.texts.len();
        self.values.texts.push_str(value);
        self.push(field, Stored::Text(start..self.values.texts.len()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut texts = Vec::new();
        Causes(value).each(|error| texts.push(error.to_string()));
        self.push(field, Stored::Causes(Arc::new(texts)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let start = self.values.texts.len();
        // An error of the value's own: what was written stays.
        let _ = write!(self.values.texts, "{value:?}");
        self.push(field, Stored::Text(start..self.values.texts.len()));
    }
}
