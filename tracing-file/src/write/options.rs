//! How a trace is encoded.

/// How a trace is encoded. The defaults are good for one file of one writer.
#[derive(Clone, Copy, Debug)]
pub struct TraceOptions {
    pub(super) interning: bool,
    pub(super) delta_timestamps: bool,
    pub(super) sequence_id: u32,
    pub(super) id_base: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { interning: true, delta_timestamps: false, sequence_id: 1, id_base: 0 }
    }
}

impl TraceOptions {
    /// The defaults: texts are interned, timestamps are absolute, the sequence is 1, ids begin at 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether repeated names and categories are written once and named by a number.
    #[must_use]
    pub const fn interning(self, interning: bool) -> Self {
        Self { interning, ..self }
    }

    /// Timestamps are differences to the previous event: fewer bytes. A reader then needs all packets of the
    /// sequence from the first on.
    #[must_use]
    pub const fn delta_timestamps(self, delta_timestamps: bool) -> Self {
        Self { delta_timestamps, ..self }
    }

    /// The `trusted_packet_sequence_id`. Traces that are joined need different ones. 0 becomes 1: a reader refuses
    /// events without a sequence.
    #[must_use]
    pub const fn sequence_id(self, sequence_id: u32) -> Self {
        Self { sequence_id: if sequence_id == 0 { 1 } else { sequence_id }, ..self }
    }

    /// Track uuids and fresh flow ids count up from the number after this one. Traces that are joined need ranges
    /// that do not meet, such as multiples of 2^32, and no process or thread that is in two of them: it would be shown
    /// twice.
    #[must_use]
    pub const fn id_base(self, id_base: u64) -> Self {
        Self { id_base, ..self }
    }
}
