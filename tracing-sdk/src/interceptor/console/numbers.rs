//! Numbers of the fields that are printed, by message, as in `trace_packet.proto`, `track_event.proto` and the
//! files beside them.

/// Of `TracePacket`.
pub(super) mod packet {
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const TRACE_PACKET_DEFAULTS: u32 = 59;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

/// Of `TracePacketDefaults`, and of the `TrackEventDefaults` in it.
pub(super) mod defaults {
    pub const TRACK_EVENT_DEFAULTS: u32 = 11;
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const TRACK_UUID: u32 = 11;
}

/// Of `ClockSnapshot`, and of the clocks in it.
pub(super) mod snapshot {
    pub const CLOCKS: u32 = 1;
    pub const CLOCK_ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const UNIT_MULTIPLIER_NS: u32 = 4;
}

/// Of `InternedData`, and of all entries in it.
pub(super) mod interned {
    pub const EVENT_CATEGORIES: u32 = 1;
    pub const EVENT_NAMES: u32 = 2;
    pub const DEBUG_ANNOTATION_NAMES: u32 = 3;
    pub const DEBUG_ANNOTATION_STRING_VALUES: u32 = 29;
    pub const IID: u32 = 1;
    pub const TEXT: u32 = 2;
}

/// Of `TrackDescriptor`.
pub(super) mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const THREAD: u32 = 4;
    pub const STATIC_NAME: u32 = 10;
}

/// Of `ProcessDescriptor`.
pub(super) mod process {
    pub const PID: u32 = 1;
    pub const PROCESS_NAME: u32 = 6;
}

/// Of `ThreadDescriptor`.
pub(super) mod thread {
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const THREAD_NAME: u32 = 5;
}

/// Of `TrackEvent`.
pub(super) mod event {
    pub const CATEGORY_IIDS: u32 = 3;
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK_UUID: u32 = 11;
    pub const CATEGORIES: u32 = 22;
    pub const NAME: u32 = 23;
}

/// Of `DebugAnnotation`.
pub(super) mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const BOOL_VALUE: u32 = 2;
    pub const UINT_VALUE: u32 = 3;
    pub const INT_VALUE: u32 = 4;
    pub const DOUBLE_VALUE: u32 = 5;
    pub const STRING_VALUE: u32 = 6;
    pub const POINTER_VALUE: u32 = 7;
    pub const LEGACY_JSON_VALUE: u32 = 9;
    pub const NAME: u32 = 10;
    pub const DICT_ENTRIES: u32 = 11;
    pub const ARRAY_VALUES: u32 = 12;
    pub const STRING_VALUE_IID: u32 = 17;
}
