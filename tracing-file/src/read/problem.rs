//! What a reader finds wrong in a trace, and what it costs.

use crate::packets::Place;

/// How much a finding costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost, but it is not what its writer wanted.
    Note,
    /// Something is lost or shown at the wrong place.
    Warning,
    /// Events are lost.
    Error,
    /// Readers refuse the whole file.
    Fatal,
}

impl Severity {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Note, Self::Warning, Self::Error, Self::Fatal];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

/// A problem at one place of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub problem: Problem,
    /// The packet.
    pub place: Place,
    /// The number that it is about: see [`Problem::subject`].
    pub value: u64,
}

impl Finding {
    /// The uuid of the track that it is about.
    #[must_use]
    pub fn track(&self) -> Option<u64> {
        (self.problem.subject() == TRACK).then_some(self.value)
    }
}

/// The subject of problems of tracks.
const TRACK: &str = "track";

macro_rules! problems {
    ($($name:ident: $severity:ident, $id:literal, $subject:literal, $advice:literal;)*) => {
        /// What can be wrong. Names are those of upstream's statistics where it has one for that.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Problem {
            $(#[doc = $advice] $name,)*
        }

        impl Problem {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// A stable name, for scripts.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// What it costs.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What the number of a finding is: "track", "sequence", ... Empty if it has none.
            #[must_use]
            pub const fn subject(self) -> &'static str {
                match self { $(Self::$name => $subject,)* }
            }

            /// What happens, and what to do about it.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)* }
            }
        }
    };
}

problems! {
    BrokenPacket: Error, "broken_packet", "byte",
        "the packet is not valid protobuf; check the lengths of its messages";
    BrokenCompression: Error, "broken_compressed_packets", "byte",
        "compressed packets cannot be unpacked; compress whole packets with their tags";
    LimitReached: Warning, "limit_reached", "sequence",
        "a limit of the reader is reached: its memory, or 64 categories of an event; clear incremental state more \
         often, write fewer categories, or raise the limit of memory";
    FatalSequence: Fatal, "sequence_state_without_sequence", "clock",
        "flag 2 or a clock of 64 to 127 without a sequence id: set trusted_packet_sequence_id";
    MissingSequenceId: Error, "track_event_missing_sequence_id", "",
        "an event without a sequence id is dropped; set trusted_packet_sequence_id";
    StateMissingSequenceId: Warning, "incremental_state_missing_sequence_id", "",
        "flag 1, defaults or interned data without a sequence id are ignored; set trusted_packet_sequence_id";
    MissingTimestamp: Error, "track_event_missing_timestamp", "sequence",
        "an event without a timestamp is dropped; write timestamp, also if it is 0";
    InvalidTimestamp: Error, "track_event_invalid_timestamp", "time",
        "the time is not below 2^63 ns; check the unit and the clock";
    EventWithSnapshot: Error, "event_in_clock_snapshot", "sequence",
        "an event or descriptor in a packet with a clock snapshot is lost; write it in a packet of its own";
    UnknownClock: Error, "clock_sync_failure_unknown_source_clock", "clock",
        "no earlier snapshot has the clock; write a ClockSnapshot with it and BOOTTIME first";
    NoClockPath: Error, "clock_sync_failure_no_path", "clock",
        "no snapshot relates the clock to the trace's clock, or the clock went back; write a ClockSnapshot with both";
    InvalidSnapshot: Error, "invalid_clock_snapshots", "clock",
        "a snapshot has a clock twice, or changes its unit, and is refused; keep the unit, and name each clock once";
    ClockWentBack: Note, "clock_went_back", "clock",
        "the clock is earlier than in the snapshot before; readers give it up and lose what uses it from here on, so \
         use another clock then";
    NoType: Error, "track_event_without_type", "sequence",
        "an event without a type is dropped; set TrackEvent.type";
    SkippedInvalid: Error, "packet_skipped_seq_needs_incremental_state_invalid", "sequence",
        "flag 2 before any flag 1, or after a loss: begin the sequence, and go on after a loss, with flag 1";
    SkippedCut: Warning, "packet_skipped_seq_beginning_lost", "sequence",
        "flag 2, and the last flag 1 is lost: a ring overwrote it, or the service lost it; use a larger buffer, or \
         clear incremental state more often";
    InternedInvalid: Warning, "interned_data_skipped_incremental_state_invalid", "sequence",
        "interned data before any flag 1 is not kept; set flag 1 in the first packet of the sequence";
    UnknownIid: Warning, "interned_data_tokenizer_errors", "iid",
        "nothing defines the iid; define it in the same packet or earlier, after the last flag 1";
    ZeroIid: Warning, "iid_zero", "sequence",
        "iid 0 means that there is none; count iids from 1";
    IidRedefined: Note, "iid_redefined", "iid",
        "the iid has another text already, which stays; use a new iid";
    NeverDescribed: Note, "track_never_described", "track",
        "the track has no descriptor and is named after its first event; write a TrackDescriptor";
    UnknownParent: Error, "track_hierarchy_missing_uuid", "track",
        "no descriptor has the parent's uuid, so all events of the track are lost; describe the parent";
    ParentLoop: Error, "track_event_track_hierarchy_loop", "track",
        "the track is its own ancestor, so all its events are lost; correct parent_uuid";
    TracksTooDeep: Error, "track_event_track_hierarchy_too_deep", "track",
        "100 levels of tracks or more, so all events of the track are lost; nest less";
    TrackConflict: Warning, "track_descriptor_conflicting_reservation", "track",
        "the uuid has another descriptor already, and this one is ignored; use a uuid for one track only";
    TrackRenamed: Note, "track_renamed", "track",
        "the uuid has another name already, which stays; use a uuid for one track only";
    MissingTid: Error, "track_descriptor_thread_missing_pid_tid", "track",
        "a thread without pid or tid is ignored; write both, also if they are 0";
    MissingUuid: Error, "track_descriptor_missing_uuid", "",
        "a descriptor without uuid is ignored; set TrackDescriptor.uuid";
    RootWithParent: Error, "track_descriptor_default_track_with_parent", "track",
        "uuid 0 is the root and has no parent; use another uuid";
    ThreadTwice: Warning, "thread_with_two_tracks", "track",
        "another uuid has the same pid and tid, so the thread is shown twice; use one uuid for each thread";
    ProcessTwice: Warning, "process_with_two_tracks", "track",
        "another uuid has the same pid, so the process is shown twice; use one uuid for each process, unless another \
         process got the pid again";
    CounterTrack: Error, "track_event_counter_invalid_track_uuid", "track",
        "a value whose track is no counter at that point of the file is lost; write the counter's descriptor first";
    CounterIgnored: Error, "counter_beside_thread_or_process", "track",
        "a counter or state beside thread or process is ignored; use a uuid of its own";
    CounterMultiplier: Note, "counter_multiplier_not_positive", "track",
        "readers ignore a unit_multiplier that is not above 0, so values are shown as they are; correct it";
    CounterValue: Error, "track_event_counter_missing_value", "track",
        "a counter event without a value is lost; set counter_value or double_counter_value";
    ExtraNoTracks: Error, "track_event_extra_counter_missing_track_uuids", "sequence",
        "extra values without tracks lose the event; set extra_counter_track_uuids in it or in the defaults";
    ExtraTrack: Error, "track_event_extra_counter_invalid_track", "sequence",
        "an extra value whose track is missing or no counter loses the event; describe a counter for each value";
    ExtraTooMany: Error, "track_event_extra_counter_exceeds_max", "sequence",
        "more than 8 extra values lose the event; write counter events of their own";
    StateTrack: Error, "track_event_state_invalid_track", "track",
        "a state on a track without a state descriptor is lost; set TrackDescriptor.state";
    StateNoTrack: Error, "track_event_state_missing_track_uuid", "sequence",
        "a state without a track is lost; set track_uuid";
    EndWithoutBegin: Warning, "slice_end_without_begin", "track",
        "no open slice fits the end, which is ignored; leave name and category out, and end once what began";
    SliceNotEnded: Note, "slice_without_end", "track",
        "slices are open at the end of the trace: right if they went on after it; else write their ends";
    EndBeforeBegin: Error, "slice_ends_before_begin", "track",
        "the end is earlier than the begin, so both fit other slices; check the times";
    CrossingSlices: Error, "misplaced_end_event", "track",
        "slices of one track overlap and exchange their ends; give each a track of its own, with one name";
    SlicesOfTwoSequences: Note, "slices_of_two_sequences", "track",
        "an end closes a slice that another thread began, and one of its own thread is open; if they belong to two \
         tasks, their ends are exchanged: give each task a track of its own, with one name (in tracing-sdk by \
         `Track::id`)";
    SliceTooDeep: Error, "slice_max_depth_exceeded", "track",
        "slices nested deeper than 512 are dropped; end slices, and give those that overlap a track each";
    LogTrack: Warning, "log_message_without_thread", "track",
        "a log message on a track that is no thread's is lost; use the thread's track";
    NamelessAnnotation: Warning, "debug_annotation_without_name", "sequence",
        "an annotation without a name is lost; set name or name_iid";
    FlowInBothLists: Note, "flow_in_both_lists", "flow",
        "the flow continues and ends in one event: an arrow to itself; use one of the lists";
    FlowIgnored: Note, "flow_without_slice", "flow",
        "flows of counters and states are ignored; attach them to slices and instants";
    UnknownFlowEnd: Note, "flow_terminated_unknown", "flow",
        "nothing before it has the flow, so its end is ignored; begin it with flow_ids";
    Packed: Error, "packed_repeated_field", "field",
        "packed values are ignored or misread; write repeated numbers unpacked";
    ExtensionUnknown: Warning, "unknown_extension_fields", "field",
        "no extension_descriptor packet before has the field, so it may be lost; write one first";
    NoTrackEvents: Note, "no_track_events", "",
        "the config asks for track events and no program recorded one; compare its categories with the program's, and \
         check that the program connects (with tracing-sdk: `init`)";
    ServiceLoss: Warning, "loss_ledger_not_empty", "entries",
        "the service says which programs lost data, and why; `tracebox stats` prints it";
    KernelLoss: Warning, "ftrace_events_lost", "events",
        "the kernel overwrote events before the probes read them; raise buffer_size_kb of linux.ftrace, lower \
         drain_period_ms, or record fewer events";
    KernelGap: Warning, "ftrace_cpu_has_data_loss", "cpu",
        "before these events the kernel lost others, and no counters say how many; raise buffer_size_kb of \
         linux.ftrace, lower drain_period_ms, or record fewer events";
    KernelRingsLeftOut: Warning, "ftrace_rings_left_out", "sequence",
        "the trace has more rings of the kernel than are looked at, so what these lost is not known; record fewer \
         data sources at once";
    Loss: Warning, "packets_lost", "sequence",
        "packets before this one are missing; use a larger buffer or shared memory";
}
