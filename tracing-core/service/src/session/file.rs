//! The file that a session writes its trace into: the bytes written, and the writes that follow.
//!
//! ```text
//!   timer ─> [flush] ─> pass ─> WriteFile ─> FileWritten ─> more? pass … : sleep until the next period
//!                       pass ─> WriteFile          └─ the last one of the session closes the file
//! ```
//!
//! ```text
//!   WAITING <───> DRAINING         a drain is some passes, until the buffers are empty
//!      └──────┬──────┘
//!             v
//!        LAST DRAIN                the recording is over
//!             v
//!          CLOSING                 nothing more gets into it; from any of the others, if it is full
//! ```
//!
//! Two writes are in flight at a time: while the disk takes one, the next is made, and memory is bounded whatever
//! the disk does. Between writes the file is a valid trace. After an error nothing more is written, and the
//! session ends with that error for its consumer.

use protos::TraceConfig;

use crate::limits;
use crate::output::FileSync;
use abi::ids::FileId;

/// The period of writes that a config asks for, ms.
pub(crate) fn period_ms(config: &TraceConfig) -> u64 {
    match config.file_write_period_ms.unwrap_or(0) {
        0 => limits::FILE_PERIOD_MS,
        ms => u64::from(ms).max(limits::FILE_PERIOD_MS_MIN),
    }
}

/// How far the file is: see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Draining,
    LastDrain,
    Closing,
}

/// The file of a session.
#[derive(Debug)]
pub(crate) struct SessionFile {
    pub(crate) id: FileId,
    pub(crate) period_ms: u64,
    /// Largest size, bytes; zero for any.
    bytes_max: u64,
    bytes_sent: u64,
    /// Bytes sent since the disk was last asked to write.
    bytes_unsynced: usize,
    sync: bool,
    /// `WriteFile`s without an answer.
    in_flight: usize,
    /// One of them has a long packet: the next piece waits until all are written.
    has_long_in_flight: bool,
    phase: Phase,
}

/// What follows a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AfterPass {
    /// How to write the piece of the pass; none if there is nothing to write.
    pub(crate) write: Option<FileSync>,
    /// The piece is the last one of the file.
    pub(crate) close: bool,
    /// The drain is over: the next one comes with the next period.
    pub(crate) wait: bool,
}

impl SessionFile {
    pub(crate) fn new(id: FileId, config: &TraceConfig) -> Self {
        Self {
            id,
            period_ms: period_ms(config),
            bytes_max: config.max_file_size_bytes.unwrap_or(0),
            bytes_sent: 0,
            bytes_unsynced: 0,
            sync: config.fflush_post_write.is_some_and(|m| m.0 == 2),
            in_flight: 0,
            has_long_in_flight: false,
            phase: Phase::Waiting,
        }
    }

    /// Whether nothing more can get into it.
    pub(crate) fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    /// Begins to write what the buffers hold; joins a drain in progress.
    pub(crate) fn begin_drain(&mut self) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Draining;
        }
    }

    /// Begins the last drain.
    pub(crate) fn begin_last_drain(&mut self) {
        if self.phase != Phase::Closing {
            self.phase = Phase::LastDrain;
        }
    }

    /// Whether there is something to write, and fewer than `window` pieces are in flight.
    pub(crate) fn wants_pass(&self, window: usize) -> bool {
        let window = if self.has_long_in_flight { 1 } else { window };
        self.is_draining() && self.in_flight < window
    }

    /// Whether passes go on.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining | Phase::LastDrain)
    }

    /// Whether this drain is its last one.
    pub(crate) fn is_in_last_drain(&self) -> bool {
        self.phase == Phase::LastDrain
    }

    /// How many bytes it may still get, exclusive.
    pub(crate) fn bytes_left(&self) -> u64 {
        match self.bytes_max {
            0 => u64::MAX,
            max => max.saturating_sub(self.bytes_sent),
        }
    }

    /// A pass was read. `has_more`: it did not reach the end of the buffers. Drains that begin from here on need
    /// another one.
    pub(crate) fn after_read(&mut self, has_more: bool) {
        debug_assert!(self.is_draining(), "a pass that nobody wants");
        if !has_more {
            self.phase = match self.phase {
                Phase::Waiting | Phase::Draining => Phase::Waiting,
                Phase::LastDrain | Phase::Closing => Phase::Closing,
            };
        }
    }

    /// Accounts for a pass that gave `bytes`. `full`: a packet found no room.
    pub(crate) fn after_pass(&mut self, bytes: usize, full: bool) -> AfterPass {
        if full {
            self.phase = Phase::Closing;
        }
        let sync = self.sync_of(bytes);
        // A pass whose packets were all filtered out writes an empty piece: its answer leads to the next pass.
        let writes = bytes > 0 || sync == FileSync::Wait || self.is_draining();
        if writes {
            self.in_flight = self.in_flight.saturating_add(1);
            self.has_long_in_flight |= bytes > limits::FILE_PIECE_LONG_BYTES;
            self.bytes_sent = self.bytes_sent.saturating_add(bytes as u64);
        }
        AfterPass {
            write: writes.then_some(sync),
            close: self.is_closing(),
            wait: self.phase == Phase::Waiting,
        }
    }

    /// How durable a piece of so many bytes must be.
    fn sync_of(&mut self, piece: usize) -> FileSync {
        self.bytes_unsynced = self.bytes_unsynced.saturating_add(piece);
        let sync = match self.phase {
            Phase::Closing => FileSync::Wait,
            // It is the last piece of a drain.
            Phase::Waiting if self.sync => FileSync::Wait,
            // The recording is over, so a slow disk delays nothing but the end, which it would delay later.
            Phase::LastDrain if self.bytes_unsynced >= limits::FILE_SYNC_BYTES => FileSync::Begin,
            Phase::Waiting | Phase::Draining | Phase::LastDrain => FileSync::No,
        };
        if sync != FileSync::No {
            self.bytes_unsynced = 0;
        }
        sync
    }

    /// Whether an answer to a `WriteFile` is due.
    pub(crate) fn has_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// A `WriteFile` was answered. Returns whether the file is closed now.
    pub(crate) fn note_answer(&mut self) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.has_long_in_flight &= self.in_flight > 0;
        self.is_closing() && self.in_flight == 0
    }
}
