//! Every bound of the data sources, with its unit and the reason for its value.

/// Instances of one kind that one session may have. Sessions of other users lose nothing by it: this times the sessions
/// that a service may have (15) is less than [`INSTANCES_MAX`].
pub(crate) const INSTANCES_PER_SESSION_MAX: usize = 8;
/// Instances of one kind. Each holds a trace writer, and what it wrote last.
pub(crate) const INSTANCES_MAX: usize = 128;
/// Running instances of one kind that keep a chunk of shared memory between ticks. All others hand it over after each
/// tick: there are 32 chunks, and an instance that waits for one would stop all others of its kind.
pub(crate) const CHUNK_HOLDERS_MAX: usize = 4;
/// Age of what was read for another instance of the kind, ns, up to which it is used again. It is the shortest period.
pub(crate) const SHARED_AGE_NS_MAX: u64 = 10_000_000;
/// Most CPUs that a machine can have: what the kernel can be built for.
pub(crate) const CPUS_MAX: u32 = 8192;
/// Longest part of a file that is read, bytes. The longest files (`/proc/interrupts`, `/proc/slabinfo`) have a
/// tenth of it.
pub(crate) const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most different warnings within [`WARNING_REPEAT_NS`]. Further ones are counted.
pub(crate) const WARNINGS_MAX: usize = 256;
/// Time until a warning is printed again, ns: it may be about a later session.
pub(crate) const WARNING_REPEAT_NS: u64 = 600_000_000_000;
/// What is printed of a warning, bytes: parts of it are from configs.
pub(crate) const WARNING_BYTES_MAX: usize = 4096;
/// Shortest period of `linux.sys_stats`, ms. Shorter ones are raised to it, as upstream does.
pub(crate) const SYS_STATS_PERIOD_MS_MIN: u32 = 10;
/// Shortest poll period of `linux.process_stats`, ms. Shorter ones are raised to it, as upstream does.
pub(crate) const PROCESS_STATS_POLL_MS_MIN: u32 = 100;
/// Arguments of a process are cut after this many bytes: a process may have megabytes of them.
pub(crate) const CMDLINE_BYTES_MAX: usize = 32 * 1024;
/// Most open files of a process that are recorded.
pub(crate) const FDS_PER_PROCESS_MAX: usize = 16 * 1024;
/// What one instance remembers of the open files of all processes, bytes. Further files are not recorded.
pub(crate) const FILES_BYTES_PER_INSTANCE_MAX: usize = 4 * 1024 * 1024;
/// What it needs for a file beside its path, bytes.
pub(crate) const FILE_ENTRY_BYTES: usize = 64;
/// Longest packet with counters and files of processes, bytes: a packet with all of them would be longer
/// than some buffers take.
pub(crate) const STATS_PACKET_BYTES: usize = 128 * 1024;
/// Facts of a kind that ftrace tells to an instance at a time. Further ones are dropped; the next pass, or the next
/// scan, finds what they were about.
pub(crate) const FACTS_MAX: usize = 64 * 1024;
/// Threads in one packet of those that ftrace has seen: some hundred kilobytes.
pub(crate) const THREADS_PER_TREE_MAX: usize = 1024;
/// Processes and threads that an instance remembers as described, and as many again while they are written. Beyond, it
/// forgets all of them, and describes those again that run. A kernel can have more, but a packet of each would be
/// longer than most buffers.
pub(crate) const KNOWN_THREADS_MAX: usize = 64 * 1024;
/// Inodes whose paths the instances of `linux.inode_file_map` remember together.
pub(crate) const INODES_CACHED_MAX: usize = 1000;
/// Inodes that an instance has told or looked for. Beyond, it forgets them, and may tell them again.
pub(crate) const INODES_KNOWN_MAX: usize = 64 * 1024;
/// Folders that a scan has found and not read. Further ones are left out.
pub(crate) const FOLDERS_PENDING_MAX: usize = 64 * 1024;
/// Largest part of a scan, entries: orders wait for its end.
pub(crate) const SCAN_BATCH_MAX: u32 = 100_000;
/// Longest value of a journal's field that is recorded, bytes. The rest is cut off, as the journal's library does.
pub(crate) const JOURNAL_VALUE_BYTES_MAX: usize = 64 * 1024;
/// What is read of the journal at a time, bytes. The rest stays in the pipe until the next time.
pub(crate) const JOURNAL_BATCH_BYTES: usize = 1024 * 1024;
/// Entries that an instance has not taken yet, bytes. Beyond, the journal is not read: nothing is lost, it waits.
pub(crate) const JOURNAL_MAILBOX_BYTES_MAX: usize = 4 * 1024 * 1024;
