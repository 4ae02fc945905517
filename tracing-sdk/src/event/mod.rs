//! Events and what they carry.
//!
//! | module | what |
//! |---|---|
//! | [`counter_value`] | the value of a counter |
//! | [`mod@annotation_value`] | what call sites hand over |
//! | [`annotate`] | values of annotations: the trait, and what a value is written with |
//! | [`schema`] | schemas of the program's own fields |
//! | [`types`] | types of the standard library as annotations |

pub(crate) mod annotate;
pub(crate) mod annotation_value;
pub(crate) mod counter_value;
pub(crate) mod schema;
mod types;

use protos::{DebugAnnotationWriter, TrackEventWriter};
use protozero::Writer as _;
use protozero::wire::varint;

use self::annotate::{Annotate, Simple, Value};
use self::annotation_value::{AnnotationValue, annotation_value};
use crate::flow::Flow;
#[cfg(feature = "tracing")]
use crate::intern::Place;
use crate::intern::{Interning, Location, StaticName, TextKind};

/// An event that is being written: for fields that have no key in the macros.
///
/// ```
/// use tracing_sdk::{Priority, categories, instant};
///
/// categories! { NET = "net"; }
///
/// instant!(NET, "retry", |event| {
///     event.log("connection refused", Priority::Warn);
///     event.location(tracing_sdk::here!());
/// });
/// ```
///
/// A function may fill it for many call sites:
///
/// ```
/// use tracing_sdk::{Event, Flow, categories, instant};
///
/// categories! { NET = "net"; }
///
/// /// What all events of one request have.
/// fn of_request(event: &mut Event<'_, '_>, request: u64, is_last: bool) {
///     let flow = Flow::process(request);
///     match is_last {
///         false => event.flow(flow),
///         true => event.end_flow(flow),
///     };
///     event.correlation(request).annotate("request", &request);
/// }
///
/// instant!(NET, "sent", |event| of_request(event, 7, false));
/// instant!(NET, "answered", |event| of_request(event, 7, true));
/// ```
pub struct Event<'e, 'p> {
    message: &'e mut TrackEventWriter<'p>,
    interning: &'e mut Interning,
    /// The session wants no annotations.
    drop_annotations: bool,
}

impl core::fmt::Debug for Event<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Event")
    }
}

/// How important a log message is (`android/log.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Priority {
    /// Details of details.
    Verbose = 2,
    /// Details for developers.
    Debug = 3,
    /// Worth knowing.
    Info = 4,
    /// May need attention.
    Warn = 5,
    /// Something failed.
    Error = 6,
    /// The program cannot go on.
    Fatal = 7,
}

impl<'e, 'p> Event<'e, 'p> {
    pub(crate) fn new(
        message: &'e mut TrackEventWriter<'p>,
        interning: &'e mut Interning,
        drop_annotations: bool,
    ) -> Self {
        Self { message, interning, drop_annotations }
    }

    /// Adds an annotation whose key is known at run time. Keys of the macros cost less.
    pub fn annotate(&mut self, key: &str, value: &(impl Annotate + ?Sized)) -> &mut Self {
        if !self.drop_annotations && !value.is_absent() {
            let mut message = self.message.debug_annotations();
            message.name(key);
            value.annotate(Value::new(message, self.interning));
        }
        self
    }

    /// Adds an annotation with a literal key.
    #[doc(hidden)]
    #[inline(always)]
    pub fn annotate_static(
        &mut self,
        key: &'static StaticName,
        value: &(impl Annotate + ?Sized),
    ) -> &mut Self {
        self.annotate_with(key, annotation_value(&value));
        self
    }

    /// For all call sites, so that they stay small.
    #[inline(never)]
    pub(crate) fn annotate_with(&mut self, key: &'static StaticName, value: AnnotationValue<'_>) {
        if self.drop_annotations {
            return;
        }
        let is_absent = match value {
            AnnotationValue::Simple(value) => matches!(value, Simple::Absent),
            AnnotationValue::Other(value) => value.is_absent(),
        };
        if is_absent {
            return;
        }
        let mut message = annotation(self.message, key, self.interning.key(key));
        match value {
            AnnotationValue::Simple(Simple::Absent) => {}
            AnnotationValue::Simple(Simple::Varint(tag, value)) => {
                let mut field = [tag; 1 + varint::LEN_MAX];
                let mut bytes = [0; varint::LEN_MAX];
                let len = varint::encode(value, &mut bytes);
                field[1..].copy_from_slice(&bytes);
                message.append_raw(&field[..1 + len]);
            }
            AnnotationValue::Simple(Simple::Double(value)) => {
                message.double_value(value);
            }
            AnnotationValue::Simple(Simple::Str(value)) => {
                message.string_value(value);
            }
            AnnotationValue::Other(value) => value.annotate(Value::new(message, self.interning)),
        }
    }

    /// Lets `flow` go through this event, or begin here.
    pub fn flow(&mut self, flow: Flow) -> &mut Self {
        self.message.flow_ids(flow.id());
        self
    }

    /// Lets `flow` end at this event.
    pub fn end_flow(&mut self, flow: Flow) -> &mut Self {
        self.message.terminating_flow_ids(flow.id());
        self
    }

    /// Names the place in the source, usually with [`here!`](crate::here).
    pub fn location(&mut self, location: Location) -> &mut Self {
        let iid = self.interning.location(location);
        self.message.source_location_iid(iid);
        self
    }

    /// Adds a line of a log. Readers show it if the event is on the track of a thread.
    pub fn log(&mut self, body: &str, priority: Priority) -> &mut Self {
        self.log_at(body, priority, None)
    }

    /// As [`log`](Self::log), with the place where the line was logged.
    pub fn log_at(
        &mut self,
        body: &str,
        priority: Priority,
        location: Option<Location>,
    ) -> &mut Self {
        // Long lines are rarely equal, but the format has no other place for them.
        let iid = self.interning.text_of_any_length(TextKind::LogBody, body);
        let location = location.map(|location| self.interning.location(location));
        self.log_iid(iid, priority, location);
        self
    }

    /// As [`log_at`](Self::log_at), with a line that was put together, so that a later one is rarely equal.
    #[cfg(feature = "log")]
    pub(crate) fn log_formatted(
        &mut self,
        body: &str,
        priority: Priority,
        location: Option<Location>,
    ) {
        let iid = self.interning.text_once(TextKind::LogBody, body);
        let location = location.map(|location| self.interning.location(location));
        self.log_iid(iid, priority, location);
    }

    /// As [`log_at`](Self::log_at), of a call site that logs `literal`; without one, a line that was put together.
    #[cfg(feature = "tracing")]
    pub(crate) fn log_of_site(
        &mut self,
        body: &str,
        literal: Option<&'static StaticName>,
        priority: Priority,
        place: Option<&Place>,
    ) {
        let iid = match literal {
            Some(literal) => self.interning.log_body(literal),
            None => self.interning.text_once(TextKind::LogBody, body),
        };
        let location = place.map(|place| self.interning.place(place));
        self.log_iid(iid, priority, location);
    }

    fn log_iid(&mut self, iid: u64, priority: Priority, location: Option<u64>) {
        let mut message = self.message.log_message();
        message.body_iid(iid).prio(protos::LogMessagePriority(priority as i32));
        if let Some(location) = location {
            message.source_location_iid(location);
        }
    }

    /// Events of one correlation id belong together, and may be shown in one colour.
    pub fn correlation(&mut self, id: u64) -> &mut Self {
        self.message.correlation_id(id);
        self
    }

    /// As [`correlation`](Self::correlation), with a text.
    pub fn correlation_name(&mut self, id: &str) -> &mut Self {
        match self.interning.text(TextKind::CorrelationId, id) {
            Some(iid) => self.message.correlation_id_str_iid(iid),
            None => self.message.correlation_id_str(id),
        };
        self
    }

    /// Adds a callstack, outermost frame first.
    pub fn callstack(&mut self, frames: impl IntoIterator<Item = Location>) -> &mut Self {
        let mut callstack = self.message.callstack();
        for frame in frames {
            let mut out = callstack.frames();
            out.function_name(frame.function).source_file(frame.file).line_number(frame.line);
        }
        drop(callstack);
        self
    }

    /// The message itself, for every other field of `TrackEvent`, and for fields that have no writer.
    ///
    /// ```
    /// # use tracing_sdk::{categories, instant};
    /// use tracing_sdk::protozero::{Writer as _, field};
    ///
    /// # categories! { GPU = "gpu"; }
    /// instant!(GPU, "frame", |event| {
    ///     event.message().callstack_weight(0.5);
    ///     // Number 7 in field 1 of an extension.
    ///     let mut frame = event.message().scope_mut().nested::<9901>();
    ///     field::uint64::<1>(&mut frame, 7);
    /// });
    /// ```
    pub fn message(&mut self) -> &mut TrackEventWriter<'p> {
        self.message
    }

    /// Writes message field `N` of an extension of `TrackEvent`, with a writer that was generated from its schema, or
    /// declared by [`message_writer!`](crate::message_writer).
    ///
    /// A reader shows it if it knows the schema: [`register_extensions`](crate::register_extensions).
    ///
    /// ```
    /// # use tracing_sdk::{categories, instant};
    /// // message Frame { optional uint64 number = 1; optional string name = 2; }
    /// tracing_sdk::message_writer! { FrameWriter, "com.example.Frame";
    ///     value number(u64) = 1 as uint64;
    ///     value name(&str) = 2 as string;
    /// }
    ///
    /// # categories! { GPU = "gpu"; }
    /// instant!(GPU, "frame", |event| {
    ///     event.extension::<9901, FrameWriter<'_>>().number(7).name("first");
    /// });
    /// ```
    pub fn extension<'m, const N: u32, W: protozero::Writer<'m>>(&'m mut self) -> W {
        protozero::field::message::<N, W>(self.message.scope_mut())
    }

    pub(crate) fn lost_events(&mut self, count: u64) {
        static KEY: StaticName = StaticName::key("lost_events_before");
        self.annotate_static(&KEY, &count);
    }
}

/// Begins an annotation; `iid` is the number of its key, or 0.
#[inline(always)]
fn annotation<'m>(
    event: &'m mut TrackEventWriter<'_>,
    key: &'static StaticName,
    iid: u64,
) -> DebugAnnotationWriter<'m> {
    let mut message = event.debug_annotations();
    match iid {
        0 => message.name(key.text()),
        iid => message.name_iid(iid),
    };
    message
}
