//! Why an event is not in the trace.

use std::fmt;
use std::io;

/// Why an event, a track or the whole trace could not be written.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[non_exhaustive]
pub enum WriteError {
    /// The output refused bytes. Nothing is written after that.
    Io(io::Error),
    /// An earlier write failed, so that this event is not in the trace either.
    Stopped,
    /// A packet is too long for its length field.
    TooLong,
    /// A track, slice or clock of another trace.
    Foreign,
    /// The description of the track was refused.
    NoTrack,
    /// A slice ends before it begins.
    EndBeforeBegin {
        /// Begin of the slice, ns of trace time.
        begin_ns: u64,
        /// Its end.
        end_ns: u64,
    },
    /// A slice begins before an earlier one of its track.
    OutOfOrder {
        /// Begin of the slice, ns of trace time.
        begin_ns: u64,
        /// The latest begin or end on the track.
        latest_ns: u64,
    },
    /// Two slices of one track overlap, and neither contains the other.
    Crossing {
        /// Begin of the slice, ns of trace time.
        begin_ns: u64,
        /// Its end.
        end_ns: u64,
        /// End of the slice around it, or below it.
        other_end_ns: u64,
    },
    /// The slice is not the innermost open one of its track.
    NotInnermost,
    /// A slice is begun within a slice whose end is written already.
    InsideComplete {
        /// Begin of the slice, ns of trace time.
        begin_ns: u64,
        /// End of the slice around it.
        end_ns: u64,
    },
    /// More than 512 slices are open on one track.
    TooManyOpen,
    /// More than 4096 slices of a lanes track overlap, or they are not in the order of their begins.
    TooManyLanes,
    /// More than 99 levels of tracks.
    TracksTooDeep,
    /// The time is not in the range of a trace: 0 to 2^63 - 1 ns.
    TimeRange {
        /// The time in ns, or in units of its clock.
        value: u64,
    },
    /// More than 62 clocks of one's own.
    TooManyClocks,
    /// The unit of a clock is 0, its id is none of a built-in clock besides BOOTTIME, or it was declared before.
    BadClock,
    /// A clock is earlier than when it was related to that of the trace before. Readers give such a clock up, and lose
    /// all events that use it.
    ClockWentBack {
        /// Its time now, in units of the clock.
        value: u64,
        /// Its time then.
        latest: u64,
    },
    /// The clock of the trace is earlier than when another one was related to it before. Upstream's reader refuses
    /// that.
    TraceTimeWentBack {
        /// Its time now, ns.
        trace_ns: u64,
        /// Its time then, ns.
        latest_ns: u64,
    },
    /// Values of a counter would be multiplied by a number that is not above 0.
    BadMultiplier {
        /// The number.
        multiplier: i64,
    },
    /// An event begins or continues a flow and ends it.
    FlowTwice {
        /// Id of the flow.
        id: u64,
    },
    /// The trace ends while slices are open.
    OpenSlices {
        /// Number of them.
        count: u64,
    },
    /// Events were refused, and nobody asked for their errors.
    Refused {
        /// Number of refused events.
        count: u64,
        /// The number of the first of them: how many events came before it.
        event_idx: u64,
        /// Why it was refused.
        first: Box<WriteError>,
    },
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const IN_ORDER: &str = "call `sync_clock` in the order of time";

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot write the trace: {error}"),
            Self::Stopped => f.write_str("not written, because an earlier write failed"),
            Self::TooLong => f.write_str("a packet is too long; shorten its annotations"),
            Self::Foreign => f.write_str("its track, slice or clock belongs to another trace"),
            Self::NoTrack => f.write_str("the track is not in the trace, because it was refused"),
            Self::EndBeforeBegin { begin_ns, end_ns } => {
                write!(f, "the slice begins at {begin_ns} and ends at {end_ns}, which is earlier")
            }
            Self::OutOfOrder { begin_ns, latest_ns } => write!(
                f,
                "the slice begins at {begin_ns}, but its track is at {latest_ns} already; write the slices of a \
                 track in the order of their begins, or use a lanes track"
            ),
            Self::Crossing { begin_ns, end_ns, other_end_ns } => write!(
                f,
                "the slice from {begin_ns} to {end_ns} crosses one that ends at {other_end_ns}; use a lanes track"
            ),
            Self::NotInnermost => {
                f.write_str("the slice has open slices within it; end these first, or use a lanes track")
            }
            Self::InsideComplete { begin_ns, end_ns } => write!(
                f,
                "the slice begins at {begin_ns} within one that was written as a whole and ends at {end_ns}; write \
                 it as a whole, too"
            ),
            Self::TooManyOpen => f.write_str("more than 512 slices are open on the track"),
            Self::TooManyLanes => f.write_str(
                "more than 4096 lanes; write the slices of a lanes track in the order of their begins",
            ),
            Self::TracksTooDeep => f.write_str("more than 99 levels of tracks"),
            Self::TimeRange { value } => {
                write!(f, "the time {value} is not between 0 and 2^63 - 1 ns of the trace")
            }
            Self::TooManyClocks => f.write_str("more than 62 clocks of one's own"),
            Self::BadClock => f.write_str(
                "the unit of the clock is 0, its id is not 1 to 5 or 7 to 63, or it was declared before",
            ),
            Self::ClockWentBack { value, latest } => write!(
                f,
                "the clock goes back from {latest} to {value}; {IN_ORDER}, and declare another clock with `own_clock` \
                 where one was set back"
            ),
            Self::TraceTimeWentBack { trace_ns, latest_ns } => {
                write!(f, "the time of the trace goes back from {latest_ns} to {trace_ns} ns; {IN_ORDER}")
            }
            Self::BadMultiplier { multiplier } => write!(
                f,
                "the multiplier of a counter is {multiplier}, and readers ignore all that are not above 0"
            ),
            Self::FlowTwice { id } => {
                write!(f, "the event both continues and ends the flow {id}; choose one")
            }
            Self::OpenSlices { count: 1 } => f.write_str(
                "a slice is open at the end of the trace; end it, or leave it open with `leave_open`",
            ),
            Self::OpenSlices { count } => write!(
                f,
                "{count} slices are open at the end of the trace; end them, or leave them open with `leave_open`"
            ),
            Self::Refused { count: 1, event_idx, first } => {
                write!(f, "event {event_idx} was refused: {first}")
            }
            Self::Refused { count, event_idx, first } => {
                write!(f, "{count} events were refused, the first is event {event_idx}: {first}")
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Refused { first, .. } => Some(first),
            _ => None,
        }
    }
}
