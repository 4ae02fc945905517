//! How long the thread has been on a processor, in its events: `enable_thread_time_sampling` of `TrackEventConfig`.
//!
//! It is a counter beside the track of the thread, whose values travel in the events on that track
//! (`track_event.proto`). The opening of a sequence names the counter for all of its events. Values are differences,
//! the first one after an opening is the whole time:
//!
//! ```text
//!   opening: extra_counter_track_uuids ──> counter: thread time, incremental ──> event: 5200 ──> event: 31 ──> ...
//! ```
//!
//! With `thread_time_subsampling_ns`, an event that follows the last sample sooner has a zero, and no system call is
//! made.

use protos::{
    CounterDescriptorBuiltinCounterType, TrackDescriptorWriter, TrackEventDefaultsWriter,
};
use protozero::Writer as _;

use crate::fields;
use crate::source::settings::Settings;
use crate::track::describe::counter_field;
use crate::track::{Track, describe};

const NAME: &str = "thread_time";

/// See the [module](self).
pub(super) struct ThreadTime {
    /// Events that are closer to each other have no sample of their own.
    period_ns: u64,
    /// Of its values, as of times.
    unit_ns: u64,
    /// What the values of the sequence sum up to.
    written_ns: u64,
    /// When the last sample was taken.
    sampled_ns: Option<u64>,
}

impl ThreadTime {
    /// None if `settings` do not ask for it.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let period_ns = settings.thread_time_period_ns?;
        let unit_ns = settings.unit_ns;
        Some(Box::new(Self { period_ns, unit_ns, written_ns: 0, sampled_ns: None }))
    }

    /// The sequence opens: a reader sums up from zero.
    pub(super) fn open(&mut self, defaults: &mut TrackEventDefaultsWriter<'_>) {
        (self.written_ns, self.sampled_ns) = (0, None);
        defaults.extra_counter_track_uuids(uuid(&Track::current_thread()));
    }

    /// Describes the counter.
    pub(super) fn describe(&self, out: &mut TrackDescriptorWriter<'_>) {
        let thread = Track::current_thread();
        describe::begin(out, uuid(&thread), Some(thread.uuid()));
        describe::static_name(out, NAME);
        let mut counter = out.counter();
        let out = counter.scope_mut();
        let kind = CounterDescriptorBuiltinCounterType::COUNTER_THREAD_TIME_NS;
        fields::number(out, counter_field::TYPE, i64::from(kind.0).cast_unsigned());
        if self.unit_ns != 1 {
            fields::number(out, counter_field::UNIT_MULTIPLIER, self.unit_ns);
        }
        fields::number(out, counter_field::IS_INCREMENTAL, 1);
    }

    /// The value for an event that is recorded at `now_ns`.
    pub(super) fn sample(&mut self, now_ns: u64) -> i64 {
        let is_due =
            self.sampled_ns.is_none_or(|last| now_ns >= last.saturating_add(self.period_ns));
        if self.period_ns != 0 && !is_due {
            return 0;
        }
        self.sampled_ns = Some(now_ns);
        self.add(os::clock::thread_ns())
    }

    /// What leads from the values so far to `thread_ns`.
    fn add(&mut self, thread_ns: u64) -> i64 {
        let units = thread_ns.saturating_sub(self.written_ns) / self.unit_ns;
        // What is left over counts for the next value. (The C++ SDK loses it.)
        self.written_ns += units * self.unit_ns;
        units.cast_signed()
    }
}

fn uuid(thread: &Track<'_>) -> u64 {
    Track::counter(NAME).parent(thread).uuid()
}
