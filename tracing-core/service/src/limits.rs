//! The bounds of the service, each with its unit and the reason for its value. What only one algorithm knows, such as
//! the sizes of its tables, is beside it.
//!
//! Two kinds live here. Those of the protocol (first part, and those of [`abi::limits`]) are shared with every
//! other service and producer: changing one changes what old peers see. Those of this implementation (second part)
//! only keep a hostile or broken peer from using up memory or time: each is far above what an honest peer needs, and
//! each says what is lost when it is reached.

pub use abi::limits::*;

/// How many of each kind the service keeps, as a value: tests and the simulator make it small, and reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// See [`PRODUCERS_MAX`].
    pub producers_max: usize,
    /// See [`DATA_SOURCES_PER_PRODUCER_MAX`].
    pub data_sources_per_producer_max: usize,
    /// See [`WRITERS_PER_PRODUCER_MAX`].
    pub writers_per_producer_max: usize,
    /// See [`COMMANDS_UNSENT_MAX`].
    pub commands_unsent_max: usize,
    /// See [`COMMAND_WINDOW_BYTES`].
    pub command_window_bytes: usize,
    /// See [`INSTANCES_PER_SESSION_MAX`].
    pub instances_per_session_max: usize,
    /// See [`SEQUENCES_PER_SESSION_MAX`].
    pub sequences_per_session_max: usize,
    /// See [`FLUSHES_PENDING_MAX`].
    pub flushes_pending_max: usize,
    /// See [`FLUSH_ANSWERS_PER_USER_MAX`].
    pub flush_answers_per_user_max: usize,
    /// See [`SNAPSHOTS_PENDING_MAX`].
    pub snapshots_pending_max: usize,
    /// See [`LIFECYCLE_EVENTS_MAX`].
    pub lifecycle_events_max: usize,
    /// See [`CONCURRENT_EVENTS_MAX`].
    pub concurrent_events_max: usize,
    /// See [`TRIGGERS_RECEIVED_MAX`].
    pub triggers_received_max: usize,
    /// See [`CLONE_HITS_PENDING_MAX`].
    pub clone_hits_pending_max: usize,
    /// See [`TRIGGER_NAMES_MAX`].
    pub trigger_names_max: usize,
    /// See [`TRIGGER_HISTORY_MAX`].
    pub trigger_history_max: usize,
    /// See [`GUARDRAIL_NAMES_MAX`].
    pub guardrail_names_max: usize,
}

impl Limits {
    /// The limits of the service.
    pub const DEFAULT: Self = Self {
        producers_max: PRODUCERS_MAX,
        data_sources_per_producer_max: DATA_SOURCES_PER_PRODUCER_MAX,
        writers_per_producer_max: WRITERS_PER_PRODUCER_MAX,
        commands_unsent_max: COMMANDS_UNSENT_MAX,
        command_window_bytes: COMMAND_WINDOW_BYTES,
        instances_per_session_max: INSTANCES_PER_SESSION_MAX,
        sequences_per_session_max: SEQUENCES_PER_SESSION_MAX,
        flushes_pending_max: FLUSHES_PENDING_MAX,
        flush_answers_per_user_max: FLUSH_ANSWERS_PER_USER_MAX,
        snapshots_pending_max: SNAPSHOTS_PENDING_MAX,
        lifecycle_events_max: LIFECYCLE_EVENTS_MAX,
        concurrent_events_max: CONCURRENT_EVENTS_MAX,
        triggers_received_max: TRIGGERS_RECEIVED_MAX,
        clone_hits_pending_max: CLONE_HITS_PENDING_MAX,
        trigger_names_max: TRIGGER_NAMES_MAX,
        trigger_history_max: TRIGGER_HISTORY_MAX,
        guardrail_names_max: GUARDRAIL_NAMES_MAX,
    };
}

// ---------------------------------------------------------------- protocol: IPC

/// Changes of instances in one reply to an observer, bytes; the rest of the frame is for the other events.
pub const OBSERVED_BYTES_MAX: usize = 64 * 1024;
/// Questions about the state of the service of one consumer that wait until older answers were read.
pub const QUERIES_PER_CONSUMER_MAX: usize = 16;
/// Packets read from the buffers before a pass of `ReadBuffers` over IPC ends, bytes (soft).
pub const READ_PASS_BYTES: usize = 32 * 1024;
/// Packets read from the buffers before a pass of a file write ends, bytes (soft), if they are compressed: upstream
/// compresses as many into one packet.
pub const FILE_PASS_BYTES: usize = 1024 * 1024;

// ---------------------------------------------------------------- protocol: sessions

/// Live producers. Their ids are `u16` and never zero.
pub const PRODUCERS_MAX: usize = 65535;
/// Sessions at a time, of all users.
pub const SESSIONS_MAX: usize = 15;
/// Sessions at a time of one user.
pub const SESSIONS_PER_UID_MAX: usize = 5;
/// Trace buffers of one session.
pub const BUFFERS_PER_SESSION_MAX: usize = 128;
/// Longest `duration_ms`: seven days.
pub const DURATION_MS_MAX: u64 = 7 * 24 * 3600 * 1000;
/// Longest `duration_ms` with `enable_extra_guardrails`: a day.
pub const GUARDRAIL_DURATION_MS_MAX: u64 = 24 * 3600 * 1000;
/// Sum of the buffers with `enable_extra_guardrails`, KiB, unless overridden.
pub const GUARDRAIL_BUFFERS_KB_MAX: u64 = 128 * 1024;
/// Time between two sessions of one name with `enable_extra_guardrails`, ns.
pub const GUARDRAIL_SPACING_NS: u64 = 300 * 1_000_000_000;
/// How far back `max_per_24_h` looks, ns.
pub const TRIGGER_WINDOW_NS: u64 = 24 * 3600 * 1_000_000_000;
/// Wait for data sources to acknowledge their stop, unless configured, ms.
pub const STOP_TIMEOUT_MS: u32 = 5000;
/// After this long without all data sources started the slow ones are named in the trace, ms.
pub const SLOW_START_MS: u64 = 20_000;
/// Data sources in a list of slow ones.
pub const SLOW_SOURCES_MAX: usize = 32;
/// Flushes in flight in one session; one more is refused once there are more than this.
pub const FLUSHES_PENDING_MAX: usize = 1000;
/// Period of clock snapshots unless configured, ms.
pub const SNAPSHOT_PERIOD_MS: u64 = 10_000;
/// Period of file writes unless configured, ms.
pub const FILE_PERIOD_MS: u64 = 5000;
/// Shortest period of file writes, ms.
pub const FILE_PERIOD_MS_MIN: u64 = 100;
/// Period of the flush before file writes when the mode is "auto", ms.
pub const AUTO_FLUSH_PERIOD_MS: u64 = 5000;
/// Clock snapshots waiting to be read, 64 bytes each. If there are more, some between others go, and the ledger has
/// those that a reader lacks: with clocks that drift apart by 20 ppm none for a day.
pub const SNAPSHOTS_PENDING_MAX: usize = 256;
/// How far a clock must have drifted against boot time for a new snapshot to be worth keeping, ns.
pub const SNAPSHOT_DRIFT_NS: u64 = 10_000_000;
/// Kept events of the kinds that repeat (a flush started, all flushed) until they are read.
pub const LIFECYCLE_EVENTS_MAX: usize = 64;
/// Kept state changes of other sessions until they are read.
pub const CONCURRENT_EVENTS_MAX: usize = 4096;

// ---------------------------------------------------------------- implementation: bounds on peers

/// Sessions at a time of all users but root and the user of the service, so that a few users with
/// [`SESSIONS_PER_UID_MAX`] each leave some to those without a session.
pub const SESSIONS_OF_USERS_MAX: usize = 9;
/// The same when one of them asks that has none. What is left is for root and the user of the service alone.
pub const SESSIONS_OF_USERS_AT_FIRST_MAX: usize = 12;
/// Shortest time between two clears of the sequences of a session because a ring was written, ms: a small ring that
/// fills at once must not have its producers do nothing else.
pub const CLEARED_RING_PAUSE_MS: u64 = 10;
/// Packets read from the buffers before a pass of a file write ends, bytes (soft), if they are not compressed: the size
/// of a pass does not show in the file then ([`FILE_PASS_BYTES`] if they are).
pub const FILE_PIECE_BYTES: usize = 128 * 1024;
/// Writes of uncompressed packets that one file has in flight: the disk takes one while the next is made.
pub const FILE_PIECES_MAX: usize = 2;
/// A piece of more bytes has a long packet. No other one follows until all are written: the shell counts such a piece
/// for the user of the file.
pub const FILE_PIECE_LONG_BYTES: usize = 4 * FILE_PIECE_BYTES;
/// Bytes written to a file that is being completed, before the disk is asked to write them.
pub const FILE_SYNC_BYTES: usize = 4 * 1024 * 1024;
/// Registrations of one producer. Upstream has no limit; further registrations are ignored.
pub const DATA_SOURCES_PER_PRODUCER_MAX: usize = 4096;
/// What the data sources take that producers of one user registered, bytes: their encoded descriptors and names, and
/// [`SOURCE_BYTES`] for each; and their writers. Further registrations are ignored. A program with a hundred categories
/// has about 8 KiB.
pub const SOURCE_BYTES_PER_USER_MAX: usize = 16 * 1024 * 1024;
/// Names of data sources that one producer could not register, for sessions that want them later. Of others, and of
/// those longer than [`LEDGER_NAME_BYTES_MAX`], a later session knows only that it perhaps wants some.
pub const UNREGISTERED_PER_PRODUCER_MAX: usize = 4;
/// Names that are compared, for one session that is set up, to know whether producers offer what they could not
/// register before. Beyond it the session is told that it perhaps misses something.
pub const UNREGISTERED_LOOKS_MAX: usize = 64 * 1024;
/// What the service needs for a registration beside its descriptor and name, bytes: its entries in three maps.
pub const SOURCE_BYTES: usize = 320;
/// What the service needs for a registered writer, bytes: on the same account. Its entries in two maps.
pub const WRITER_BYTES: usize = 24;
/// Work is counted in bytes that are copied, about a third of a nanosecond each. An entry of an index that is added,
/// removed or looked at counts for this many.
pub const WORK_PER_ENTRY: u64 = 256;
/// What a number of dropped packets counts for: its session is searched by its buffer, among those of all sessions.
pub const WORK_PER_DROPPED: u64 = 16 * WORK_PER_ENTRY;
/// What a request counts for, beside what it causes: decoding a small one, and its answer.
pub const WORK_PER_REQUEST: u64 = 2 * 1024;
/// What a byte counts for that the transport decoded: about one or two nanoseconds.
pub const WORK_PER_DECODED_BYTE: u64 = 4;
/// What the decoded requests of one user may take that wait, bytes, before no further one is decoded. The last one may
/// be longer ([`IPC_DECODED_BYTES_MAX`]). Those of all users may take a few times as much ([`USERS_SHARE`]), and one of
/// each user.
pub const DECODED_BYTES_PER_USER_MAX: usize = 8 * 1024 * 1024;
/// What a name counts for that is compared, and a rule or a word of a config that is looked at.
pub const WORK_PER_NAME: u64 = 16;
/// What the number of a sequence counts for that is moved to those that clones share.
pub const WORK_PER_MOVED_SEQUENCE: u64 = 32;
/// What a trigger that a session waits for counts for: clocks and the trigger are noted in its trace.
pub const WORK_PER_TRIGGER: u64 = 16 * 1024;
/// Triggers of one request that are activated at once, whatever that costs: all that an honest producer names. But the
/// name of the producer is matched later if it was matched for [`TRIGGER_MATCHES_AT_ONCE`] in this turn.
pub const TRIGGERS_AT_ONCE: usize = 16;
/// Work of matching the name of a producer for its triggers in one turn, but for the last match, which may cost sixteen
/// times as much.
pub const TRIGGER_MATCHES_AT_ONCE: u64 = WORK_PER_TURN;
/// What a step of matching a regular expression counts for.
pub const WORK_PER_REGEX_STEP: u64 = 8;
/// What a byte of a regular expression counts for that is compiled.
pub const WORK_PER_COMPILED_BYTE: u64 = 32;
/// What a byte of an answer that is encoded counts for.
pub const WORK_PER_ENCODED_BYTE: u64 = 8;
/// What the histograms of one writer in the statistics of a session count for.
pub const WORK_PER_WRITER_STATS: u64 = 2 * 1024;
/// What an instance counts for whose state a consumer begins to observe: it is told in a message with two names.
pub const WORK_PER_OBSERVED_INSTANCE: u64 = 1024;
/// What a byte that is read from a buffer for a reply or a file counts for.
pub const WORK_PER_READ_BYTE: u64 = 4;
/// Work of one peer or session in one turn, about 40 microseconds. The rest waits for its next turn.
pub const WORK_PER_PEER: u64 = 128 * 1024;
/// Work of all that wait in one turn. About a third of a millisecond.
pub const WORK_PER_TURN: u64 = 1024 * 1024;
/// After how long a timer is looked at again whose session has not paid for the last time yet, ms.
pub const TIMER_PUT_OFF_MS: u64 = 1;
/// Bytes that are compressed in one turn, of one session; sessions take turns. A third of a millisecond, and five times
/// that for data that a producer chose to be slow.
pub const COMPRESS_PIECE_BYTES: usize = 64 * 1024;
/// What one of them counts for.
pub const WORK_PER_COMPRESSED_BYTE: u64 = 16;
/// What an instance that is set up, started or removed counts for: its config is copied, commands are sent.
pub const WORK_PER_INSTANCE: u64 = 8 * 1024;
/// Shared memory of the producers of one user that the service touched, bytes. What is touched beyond it is looked up
/// before each use, which costs a system call. Of a user that was caught removing what it committed no more is touched,
/// and it has less where the memory is small ([`CAUGHT_SMB_PARTS`]).
pub const SMB_BYTES_PER_USER_MAX: usize = 64 * 1024 * 1024;
/// Uses of pages, on average, after which the system is asked again whether one holds data: each chunk that is copied,
/// and each look of a scrape. It costs some hundred nanoseconds. A producer that removes pages is caught after as many
/// of them.
pub const USES_PER_CHECK: u64 = 256;
/// After how long the kernel may be asked again how much memory it cannot reclaim, ns.
pub const UNRECLAIMABLE_ASKED_NS: u64 = 1_000_000_000;
/// What compresses passes of the sessions of one user at a time, bytes: tables of the codecs, and copies of the
/// packets. A pass that would need more is not compressed. One needs up to 7 MiB, unless a packet is longer.
pub const CODEC_BYTES_PER_USER_MAX: usize = 40 * 1024 * 1024;
/// Answers of producers that the flushes of all sessions of one user wait for at a time; further flushes are refused.
/// Each takes an entry in the flush and one in the producer. At the end of a session all its entries are removed in one
/// turn.
pub const FLUSH_ANSWERS_PER_USER_MAX: usize = 128 * 1024;
/// What the trace buffers and clones of one user may have of the memory that the service may use, as a fraction: with
/// the index of each buffer and its histograms, as large as they can become, and with the numbers of sequences. What
/// else the service needs is to fit beside those of all users.
pub const BUFFERS_OF_ONE: (u64, u64) = (1, 2);
/// The same for all users but root and the user of the service.
pub const BUFFERS_OF_USERS: (u64, u64) = (3, 4);
/// The least memory of the service, bytes, of which all users together cannot take the whole. With less, users may have
/// what they have with this much.
pub const MEMORY_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// Shares of a small memory are counted in so many parts of it: buffers of all users are 192 of them, and files in
/// memory 18, and what waits to be written into files 2.
pub const MEMORY_PARTS: u64 = 256;
/// [`SOURCE_BYTES_PER_USER_MAX`] in these parts, where that is less: of one user, and of all users but root and the
/// user of the service.
pub const SOURCE_PARTS: (u64, u64) = (2, 3);
/// [`SMB_BYTES_PER_USER_MAX`] of users that were caught removing what they committed, in the same way.
pub const CAUGHT_SMB_PARTS: (u64, u64) = (2, 3);
/// [`CODEC_BYTES_PER_USER_MAX`] in the same way: that of one user is enough for a pass of the highest level.
pub const CODEC_PARTS: (u64, u64) = (8, 10);
/// [`DECODED_BYTES_PER_USER_MAX`] in the same way.
pub const DECODED_PARTS: (u64, u64) = (1, 2);
/// Users of whom it is remembered how often something was refused to them.
pub const FAULTY_USERS_MAX: usize = 1024;
/// Users whose shared memory is not trusted and that are remembered (`accounts::Distrust`).
pub const DISTRUSTED_USERS_MAX: usize = 64 * 1024;
/// How many of them may be of one block of 65,536 user ids. Beyond it the whole block is trusted no more: it is a range
/// of ids of one person (`/etc/subuid`). So many that were caught make all of it count as caught; so many that are not
/// trusted, all of it distrusted. The block of the lowest ids, which has the users of most machines, stays as it is.
pub const DISTRUSTED_USERS_PER_BLOCK_MAX: usize = 1024;
/// Blocks that are not trusted and are remembered.
pub const DISTRUSTED_BLOCKS_MAX: usize = 1024;
/// How many times the limit of one user all users together may reach. Root and the user of the service do not count:
/// what others take is never missing to them.
pub const USERS_SHARE: usize = 4;
/// Writers registered by one producer. Further ones are ignored: their data is still accepted.
pub const WRITERS_PER_PRODUCER_MAX: usize = 65536;
/// Commands kept for a producer that has not opened its command stream yet. One more disconnects it.
pub const COMMANDS_UNSENT_MAX: usize = 1024;
/// Commands for one producer that the transport holds, bytes; the last one may be longer. The others wait in the
/// service until it has sent them. A daemon disconnects a producer with four times as much.
pub const COMMAND_WINDOW_BYTES: usize = 256 * 1024;
/// Data source instances of one session. Further matches are not set up.
///
/// They are set up, started and stopped in pieces, and removed so when their producer leaves.
pub const INSTANCES_PER_SESSION_MAX: usize = 16 * 1024;
/// The instances that a session may have, and the bytes of their configs, are divided into so many parts. The producers
/// of one user get at most one part.
pub const QUOTA_PARTS: usize = 4;
/// The producers of all users together get so many of these parts. Those of root, of the user of the service and of the
/// user of the session have no such limit.
pub const QUOTA_PARTS_OF_USERS: usize = 3;
/// Entries in the ledger of a session, each for losses of one producer for one reason. Further ones share an entry.
pub const LEDGER_ENTRIES_MAX: usize = 128;
/// Those of the producers of one user.
pub const LEDGER_ENTRIES_PER_USER: usize = LEDGER_ENTRIES_MAX / 8;
/// Those of the producers of all users, but for root and the users of the service and of the session.
pub const LEDGER_ENTRIES_OF_USERS: usize = LEDGER_ENTRIES_MAX / QUOTA_PARTS * QUOTA_PARTS_OF_USERS;
/// As much of a name as the message of a ledger has, bytes.
pub const LEDGER_NAME_BYTES_MAX: usize = 128;
/// Sum of the encoded configs of the instances of one session, bytes: each is sent twice in one turn, with the
/// set-up and the start. Further matches are not set up.
pub const INSTANCE_CONFIG_BYTES_PER_SESSION_MAX: usize = 32 * 1024 * 1024;
/// Log lines about one peer. Further errors are only counted, and their number is logged when the peer leaves.
pub const LOG_LINES_PER_PEER_MAX: u32 = 16;
/// Sequences numbered in one session. Beyond it the numbers of those users are forgotten that have the most, and
/// their sequences get new ones. That is done in one pass of reading, which takes about 10 ms.
pub const SEQUENCES_PER_SESSION_MAX: usize = 1 << 18;
/// What a sequence counts for, bytes: an entry of a map that is at least half full.
pub const SEQUENCE_BYTES: usize = 24;
/// What a producer counts for whose sequences have numbers, bytes: the same, with its identity.
pub const SEQUENCE_OWNER_BYTES: usize = 48;
/// So many bytes at a time are charged for the numbers of sequences: those of 4,096. A session has the first ones for
/// nothing. A session whose user has no room for more forgets half of them, as one that has as many as there may be.
pub const SEQUENCES_PIECE_BYTES: usize = 4096 * SEQUENCE_BYTES;
/// Sequences of a session of which it is remembered that packets were left out since the last one that was read. A
/// clone copies all of these in one step. Beyond it the next packet of a sequence does not tell that one before it is
/// missing, but has a new number.
pub const LEFT_OUT_PER_SESSION_MAX: usize = 4096;
/// What a sequence counts for that is moved when others are forgotten, in bytes that are read.
pub const MOVED_SEQUENCE_BYTES_READ: usize = 16;
/// Bytes of replies to one consumer that may wait in the transport before a stream pauses. The last packet is never
/// cut, so it may be a packet more: at most what its buffer holds.
///
/// About what a socket holds: while the consumer reads that, the service makes the next replies, which are still in
/// the cache when they are sent.
pub const READ_WINDOW_BYTES: usize = 256 * 1024;
/// What a byte of an encoded config takes when it is decoded, bytes: an empty data source has two. A clone counts for
/// so much, as its source may have another config later, or be gone.
pub const CONFIG_BYTES_PER_ENCODED: usize = 40;
/// Steps of the service that memory is kept for between events.
pub const STEPS_KEPT_MAX: usize = 256;
/// Memory of sent replies and written file pieces that is recycled for the next ones, bytes: as much as is in flight
/// at a time.
pub const POOL_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Smallest piece of memory that is worth recycling, bytes.
pub const POOL_BYTES_MIN: usize = 16 * 1024;
/// Bytes of a producer's shared memory, from its start, that the service keeps mapped once it has read them.
pub const SMB_MAPPED_BYTES: usize = 128 * 1024;
/// Bytes of it read beyond those before they are unmapped again: often enough that they do not add up in the
/// memory of the service, seldom enough that it costs next to nothing.
pub const SMB_MAPPED_AGAIN_BYTES: usize = 256 * 1024;
/// Distinct session names remembered for [`GUARDRAIL_SPACING_NS`]; more refuse the session.
pub const GUARDRAIL_NAMES_MAX: usize = 4096;
/// The names of one user are so many times fewer at most, but for root and the user of the service.
pub const GUARDRAIL_NAMES_USER_PART: usize = 16;
/// Compiled size of one regular expression of a config, bytes.
pub const REGEX_BYTES_MAX: usize = 64 * 1024;
/// Cost of matching the expressions of one user against the name of one producer in a second: states of the
/// expression times bytes of the name, some nanoseconds each. Beyond it expressions do not match.
pub const REGEX_STEPS_PER_PRODUCER_MAX: u64 = 8 * 1024 * 1024;
/// The same for the names of all producers. A session that needs more is refused.
pub const REGEX_STEPS_PER_USER_MAX: u64 = 64 * 1024 * 1024;
/// When that is used up, so many more are for producers of users that used no more than [`REGEX_STEPS_FEW`] of it.
pub const REGEX_STEPS_RESERVED: u64 = 8 * 1024 * 1024;
/// See [`REGEX_STEPS_RESERVED`].
pub const REGEX_STEPS_FEW: u64 = 1024 * 1024;
/// Sum of the compiled sizes of the expressions of one session, each rounded up to 1, 4, 16 or 64 KiB.
pub const REGEX_BYTES_PER_SESSION_MAX: usize = 1024 * 1024;
/// Semaphores of one session. They are compared with those of all other sessions.
pub const SEMAPHORES_PER_SESSION_MAX: usize = 256;
/// Regular expressions kept compiled in one session.
pub const REGEXES_PER_SESSION_MAX: usize = 1024;
/// Names of producers and machines that the data sources of one config are for, in all. They are sorted, so that the
/// name of a producer is compared with a few of them.
pub const FILTER_NAMES_PER_SESSION_MAX: usize = 4096;
/// What the producer filters take that a change of a session gives to its data sources, bytes. Each gets a copy.
pub const CHANGED_FILTERS_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of the name of a producer, of a session in events of other traces, and of a data source where a consumer is
/// told of it: names are kept with each instance, trigger and event. Longer ones are cut.
pub const NAME_BYTES_MAX: usize = 1024;
/// Received triggers kept in one session. Further ones are missing in the trace until it is read.
pub const TRIGGERS_RECEIVED_MAX: usize = 4096;
/// Triggers of one session of which its consumer is not told yet: their delay runs, or no consumer wants to know. No
/// snapshot is taken for further ones, which the ledger tells.
pub const CLONE_HITS_PENDING_MAX: usize = 256;
/// Longest packet that is read from a buffer, bytes. A longer one is left out, and counted with the invalid ones of its
/// producer: the service copies a whole packet in one turn, and 16 MiB take some milliseconds. Data sources of Perfetto
/// split what is longer than some hundred kilobytes.
pub const PACKET_BYTES_MAX: usize = 16 << 20;
/// No packet is longer than this part of the memory of the service, if that is known. What waits to be written into
/// files may be twice as much.
pub const PACKET_PART: u64 = 256;
/// Packets of so many bytes are read, however little memory the service has. The copy of a longer one is on the account
/// of the session's user, with the buffers of the session.
pub const LONG_PACKET_BYTES: usize = 1 << 20;
/// Names of triggers whose activations are remembered for [`TRIGGER_WINDOW_NS`], of all users. The name goes first
/// whose last activation is the oldest, of the user that has the most.
pub const TRIGGER_NAMES_MAX: usize = 1024;
/// Activations remembered of one trigger: a larger `max_per_24_h` counts as this.
pub const TRIGGER_HISTORY_MAX: usize = 1024;
/// Clones at a time, of all users: each holds a copy of the buffers. Upstream has no limit. All users but root and the
/// user of the service have the same parts of them as of sessions.
pub const CLONES_MAX: usize = 48;
/// Clones at a time of those users together: 28.
pub const CLONES_OF_USERS_MAX: usize = CLONES_MAX * SESSIONS_OF_USERS_MAX / SESSIONS_MAX;
/// Clones at a time of those users together, when one that has none asks: 38.
pub const CLONES_OF_USERS_AT_FIRST_MAX: usize =
    CLONES_MAX * SESSIONS_OF_USERS_AT_FIRST_MAX / SESSIONS_MAX;
/// Clones at a time of one user.
pub const CLONES_PER_UID_MAX: usize = 16;
/// Bytes of buffers that are copied for clones in one turn of the service: it takes about as long as a pass of
/// reading.
pub const CLONE_PIECE_BYTES: usize = 1024 * 1024;
/// Bytes of a buffer without a session that are freed in one turn of the service.
pub const FREE_PIECE_BYTES: usize = 4 * 1024 * 1024;
/// Sequences of such a buffer that are freed in one turn, before its bytes: each has two or three pieces of memory.
pub const FREE_PIECE_SEQUENCES: usize = 1024;
/// What each of them counts for.
pub const WORK_PER_FREED_SEQUENCE: u64 = 1024;
/// What a record counts for that a chunk overwrites: there may be one for each 16 bytes of the chunk.
pub const WORK_PER_EVICTED: u64 = 128;
/// Work to free memory, in bytes of it for one of work: the system takes its pages back, and copies nothing.
pub const FREED_BYTES_PER_WORK: u64 = 16;
/// Bytes of a buffer that an unfinished clone saves because they changed before they were copied. Beyond this each
/// change that saves another block also copies [`CLONE_COPY_PER_CHANGE_BYTES`].
pub const CLONE_SAVED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many of the bytes that are left such a change copies. So at most a sixteenth of the buffer is saved in addition.
pub const CLONE_COPY_PER_CHANGE_BYTES: usize = 64 * 1024;
/// Sessions at a time, with clones.
pub const SESSIONS_WITH_CLONES_MAX: usize = SESSIONS_MAX + CLONES_MAX;

/// Encoded size of one data source's config, bytes: it is sent to producers in one frame, with the fields that the
/// service adds and the envelope.
pub const DATA_SOURCE_CONFIG_BYTES_MAX: usize = IPC_FRAME_BYTES_MAX - 1024;
/// How long the file of a freed session may take no byte before the rest is dropped, ms. The buffers are kept until
/// then.
pub const FREED_FILE_STALL_MS: u64 = 10_000;
/// How long a clone may copy the file of its source, which is not written meanwhile, ms. Less than clients wait for a
/// clone.
pub const CLONE_COPY_TIMEOUT_MS: u64 = 25_000;
/// The same once the source has ended, ms.
pub const CLONE_COPY_LAST_MS: u64 = 5_000;

// ---------------------------------------------------------------- implementation: buffers

/// Sequences without chunks that a buffer remembers, and not more than a quarter of those that it may have with chunks.
/// Only their last chunk id matters, which tells whether the next chunk is out of order.
pub const EMPTY_SEQUENCES_PER_BUFFER_MAX: usize = 8 * 1024;
/// The same in a buffer of version 2, which notices gaps by them. Beyond this many the oldest are forgotten, until
/// [`EMPTY_SEQUENCES_V2_KEPT`] are left.
pub const EMPTY_SEQUENCES_V2_MAX: usize = 1024 + 128;
/// How many are left then (`kKeepLastEmptySeq`, `trace_buffer_v2.cc`).
pub const EMPTY_SEQUENCES_V2_KEPT: usize = 1024;
/// One more for so many that have chunks: to forget some, a buffer looks at all.
pub const EMPTY_SEQUENCES_V2_PART: usize = 8;
/// Sequences of a buffer with a histogram, which takes up to 314 bytes. Later ones have none. A producer chooses how
/// many there are, so a buffer has one for so many bytes.
pub const BYTES_PER_HISTOGRAM: usize = 2 * 1024;
/// Histograms that a buffer has at least, however small it is.
pub const HISTOGRAMS_PER_BUFFER_MIN: usize = 1024;
/// Histograms that a buffer has at most: of more writers nothing is told.
pub const HISTOGRAMS_PER_BUFFER_MAX: usize = WRITERS_TOLD_MAX;
/// Writers that a trace tells of by themselves: in the statistics of its session, with their histograms, and in what
/// says which sequences are in which buffer. It takes some milliseconds, each time that it is asked for.
pub const WRITERS_TOLD_MAX: usize = 4096;
/// Entries of the index of a buffer, of eight bytes: each chunk is one. Beyond this many the oldest chunks are evicted,
/// as if the buffer were full. There is one for so many bytes of the buffer, and all that there may be are charged to
/// the user whose buffer it is: a quarter of its bytes.
///
/// Chunks of few writers are never evicted early: a record has 16 bytes and what is in the chunk. Chunks of 256 bytes,
/// as in a page that is divided most, need an eighth of the entries. The rest is for sequences: a buffer with more than
/// 1000 writers is full early if it has less than 1.3 KiB per writer (1.5 KiB with chunks of 256 bytes). Of so many
/// threads it keeps those that wrote last, which is what a ring is for. A writer that uses up its first chunk of 4 KiB
/// has more.
pub const BYTES_PER_INDEX_ENTRY: usize = 32;
/// Entries of an index at least, for a thousand sequences with a chunk.
pub const INDEX_ENTRIES_MIN: usize = 40 * 1024;
/// Entries of an index at most, because a clone copies it in one turn: 16 MiB. They suffice for 512 MiB of chunks of
/// 256 bytes, and for 4 GiB of chunks of 2 KiB. Copying the largest one takes about 10 ms, and 30 ms if each of 51,000
/// sequences has a chunk; most of it is the system, which gives the pages. It is counted as work of the session.
pub const INDEX_ENTRIES_MAX: usize = 2 * 1024 * 1024;
/// What a sequence with chunks counts for, or one that is remembered without: 320 bytes. It is an allocation of 168, an
/// entry of an ordered map in blocks that may be a quarter full, and places for its first chunks.
pub const ENTRIES_PER_SEQUENCE: usize = 40;
/// What a chunk counts for that is in the slower map of its sequence.
pub const ENTRIES_PER_OUTLIER: usize = 5;
/// What that map counts for.
pub const ENTRIES_OF_OUTLIERS: usize = 24;
/// Missing ids for which the index of a sequence keeps entries, in addition to one for each two chunks.
/// Other chunks are kept in a map, which is slower.
pub const SEQUENCE_HOLES_MAX: usize = 16;

// ---------------------------------------------------------------- implementation: trace filters

/// Words of a filter's bytecode. A program for the whole schema has about ten thousand.
pub const FILTER_WORDS_MAX: usize = 256 * 1024;
/// Messages of a filter's bytecode; each takes at most a kilobyte when it is compiled. The schema has about 1100.
pub const FILTER_MESSAGES_MAX: usize = 16 * 1024;
/// Words of the overlay of a filter's bytecode, three for each field.
pub const FILTER_OVERLAY_WORDS_MAX: usize = 3 * 4096;
/// Nesting of messages that a filter reads; a packet that is nested deeper comes out empty. Readers of
/// protobuf stop at 100.
pub const FILTER_DEPTH_MAX: usize = 1000;
/// Rules for strings in one filter.
pub const STRING_RULES_MAX: usize = 1024;
/// Matches of one repeated-search rule in one string. The rest of the string behind them is redacted.
pub const STRING_MATCHES_MAX: usize = 1024;
/// Sum of the compiled sizes of the expressions of one filter, bytes. A normal one has some KiB.
pub const FILTER_REGEX_BYTES_PER_SESSION_MAX: usize = 4 * 1024 * 1024;
/// Automata of one filter, which make its expressions faster, bytes. Expressions beyond that have no automaton.
pub const FILTER_AUTOMATA_BYTES_PER_SESSION_MAX: usize = 2 * 1024 * 1024;
/// The largest automaton of one expression, bytes. An expression that needs more has none.
pub const REGEX_AUTOMATON_BYTES_MAX: usize = 64 * 1024;
/// Memory of a search, bytes. A filter has it once for all its expressions.
pub const REGEX_SEARCH_BYTES_MAX: usize = 1024 * 1024;
/// Steps of the rules for the strings of one packet, one or two nanoseconds each. A rule takes a step for each byte of
/// the string; without an automaton, eight steps or more for each state of its expression and each byte. A packet
/// that takes more comes out empty. The packets of the service in one pass share the steps of one packet. One packet is
/// filtered in one turn; with 1 to 2 ns a step that is shorter than the 100 ms after which a turn counts as slow.
pub const FILTER_STEPS_PER_PACKET_MAX: u64 = 32 * 1024 * 1024;
/// Steps after which reading pauses until the next turn: about 12 ms.
pub const FILTER_STEPS_PER_TURN: u64 = 8 * 1024 * 1024;
/// Steps that count like one read byte, against the limit of bytes in one turn.
pub const FILTER_STEPS_PER_BYTE: u64 = FILTER_STEPS_PER_TURN / READ_WINDOW_BYTES as u64;

// ---------------------------------------------------------------- protocol: packets of the service

/// Largest slice of a packet that the service builds itself, bytes.
pub const SLICE_BYTES_MAX: usize = 128 * 1024 - 512;
