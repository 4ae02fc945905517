//! Every bound of what reading a trace takes, with its unit and the reason for its value: a trace may come from
//! anywhere. What a program writes into a trace of its own is bounded where it is written.

/// Bytes that one compressed packet may unpack to. Services compress some hundred KiB at once.
pub const UNPACKED_BYTES_MAX: u64 = 256 << 20;
/// How much longer than the file its compressed packets together may be, beside [`UNPACKED_BYTES_MAX`]. Recordings are
/// compressed to a tenth or so.
pub const UNPACKED_PER_BYTE: u64 = 1000;

/// Default for the bytes that all tables of a reader may take.
pub const MEMORY_MAX: usize = 256 << 20;
/// Findings of one packet that are kept.
pub(crate) const FINDINGS_MAX: usize = 64;
/// Categories of an event that are looked at. Programs write a few.
pub(crate) const CATEGORIES_MAX: usize = 64;
/// Extra counter values of one event that upstream's reader accepts.
pub(crate) const EXTRA_VALUES_MAX: usize = 8;
/// Those that are kept: one more, so that it is seen.
pub(crate) const EXTRA_VALUES_KEPT_MAX: usize = EXTRA_VALUES_MAX + 1;
/// Tracks of extra counters that defaults may have. An event with more than [`EXTRA_VALUES_MAX`] values is lost.
pub(crate) const DEFAULT_TRACKS_MAX: usize = 64;
/// Levels from which on upstream's reader refuses a track.
pub const LEVELS_MAX: usize = 100;
/// Bytes of a track's name that are kept.
pub(crate) const TRACK_NAME_BYTES_MAX: usize = 4096;
/// Snapshots of a clock that are kept, the latest ones.
pub(crate) const SNAPSHOTS_PER_CLOCK_MAX: usize = 64;
/// Clocks of one snapshot.
pub(crate) const CLOCKS_PER_SNAPSHOT_MAX: usize = 64;

/// Slices of one track that upstream's reader keeps open.
pub(crate) const OPEN_SLICES_MAX: usize = 512;
/// Pairs of a track that later ones are compared with, and ends without a begin that wait for one.
pub(crate) const PAIRS_MAX: usize = 64;
/// Begins and ends of a track that are put in order.
pub(crate) const MARKS_MAX: usize = 4096;

/// Levels of messages in a schema of extensions that are looked into. Each byte is read once for each level.
pub(crate) const SCHEMA_LEVELS_MAX: usize = 16;

/// Flows that `lint` remembers: each takes some 20 bytes.
pub(crate) const FLOWS_MAX: usize = 1 << 20;

/// Names of slices, sequences and kinds of packets that `stats` tells apart, each.
pub(crate) const ROWS_MAX: usize = 65_536;
/// Bytes of such a name. Longer ones are cut.
pub(crate) const STATS_NAME_BYTES_MAX: usize = 256;

/// Entries of a ledger that are kept. Our service has at most 130 of one session: 128 of producers, one for what has no
/// entry of its own, and one for a full file.
pub(crate) const LEDGER_ENTRIES_MAX: usize = 1024;
/// Rings of the kernel that are kept: more than the processors of a machine, times the data sources of a session.
pub(crate) const RINGS_MAX: usize = 16 * 1024;

/// Parts of the file whose earliest events a timeline knows.
pub(crate) const BLOCKS_MAX: usize = 1 << 16;
/// How often a trace is read for the rows of a timeline at most. Each time as many rows are written as memory takes.
pub const PASSES_MAX: u32 = 100;
/// Bytes of texts that a timeline makes for each byte that is read. An event of 15 bytes may have a line of 500.
pub(crate) const TEXT_PER_BYTE: u64 = 100;
/// Bytes that open slices of a timeline take.
pub(crate) const OPEN_BYTES_MAX: usize = 64 << 20;
/// Bytes that labels in memory may take. Beyond that they are made again.
pub(crate) const LABELS_BYTES_MAX: usize = 16 << 20;
/// Long names for which the result of the filter is known.
pub(crate) const FITTING_MAX: usize = 4096;
/// Bytes of an event's name that are kept: one character more than is shown.
pub(crate) const EVENT_NAME_BYTES_MAX: usize = 4 * (SHOWN_CHARS_MAX + 1);
/// Bytes of an event's arguments from which on the rest is left out.
pub(crate) const DETAILS_BYTES_MAX: usize = 64 << 10;
/// Levels of nested arguments that are shown.
pub(crate) const DETAILS_DEPTH_MAX: u32 = 32;

/// Characters of a text that are shown.
pub(crate) const SHOWN_CHARS_MAX: usize = 4096;
