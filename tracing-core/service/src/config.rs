//! What a service is made with.

use abi::sync::Arc;

use crate::buffer::{FaultIn, TraceBuffer};
use crate::compress::Codecs;
use crate::limits::{self, Limits};
use abi::ids::BufferId;
use abi::shm::Region;

/// Makes the shared memory of a producer: sealed memfds in the daemon, heap memory in tests and in one process.
pub trait RegionFactory: Send + Sync {
    /// How trace buffers get their memory from the system, if there is a faster way than one page fault for each page.
    fn fault_in(&self) -> Option<FaultIn> {
        None
    }

    /// A seam for simulations: they put a buffer around each new trace buffer that compares it with a reference.
    #[doc(hidden)]
    fn wrap_buffer(&self, _: BufferId, buffer: TraceBuffer) -> TraceBuffer {
        buffer
    }

    /// Begins to read how much memory of this process the kernel cannot reclaim, and returns the answer to the
    /// previous call, bytes: files in memory, memory of the kernel, and what was swapped out. Does not block. `None`:
    /// there is no answer yet, or the kernel does not tell.
    fn ask_unreclaimable_bytes(&self) -> Option<u64> {
        None
    }

    /// A zeroed region of `len` bytes, a multiple of 4096.
    ///
    /// # Errors
    /// The reason, for the log; the producer then gets no data source set up.
    fn create(&self, len: usize) -> Result<Region, String>;
}

/// The content of the `SystemInfo` packet of this machine. The shell reads it: the service makes no system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostInfo {
    /// `utsname.sysname`.
    pub sysname: String,
    /// `utsname.version`.
    pub version: String,
    /// `utsname.release`.
    pub release: String,
    /// `utsname.machine`.
    pub machine: String,
    /// Clock ticks per second (`_SC_CLK_TCK`).
    pub hz: Option<i64>,
    /// Page size of the kernel, bytes.
    pub page_bytes: Option<u32>,
    /// Offset of local time to UTC, minutes.
    pub timezone_off_mins: Option<i32>,
    /// Processors.
    pub cpu_count: Option<u32>,
    /// Memory, bytes.
    pub ram_bytes: Option<u64>,
    /// Name of the machine (`PERFETTO_MACHINE_NAME`, else `sysname`). `machine_name_filter` accepts it and `host`.
    pub machine_name: String,
}

/// A schema of extension fields that the service puts into traces.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtensionSet {
    /// The file it was read from, for people; may be empty.
    pub file_name: String,
    /// An encoded `FileDescriptorSet`.
    pub bytes: Vec<u8>,
    /// It is compressed by gzip, and stays so.
    pub gzip: bool,
}

impl std::fmt::Debug for ExtensionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file_name, bytes, gzip } = self;
        write!(f, "ExtensionSet({file_name:?}, {} bytes, gzip: {gzip})", bytes.len())
    }
}

/// Everything the service knows about the world it runs in: [`new`](Self::new), then set the fields that differ.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServiceConfig {
    /// User of the service: the trusted uid of the packets it writes itself.
    pub uid: u32,
    /// Its process id.
    pub pid: i32,
    /// Version text for queries and `SystemInfo`.
    pub version: String,
    /// This machine.
    pub host: HostInfo,
    /// Seed of trace uuids and of `skip_probability`. Two services must not share one. A trace tells it.
    pub seed: u64,
    /// Seed of which pages of shared memory are checked again. No peer may know it: a random number that is used for
    /// nothing else.
    pub check_seed: u64,
    /// Maker of shared memory.
    pub regions: Arc<dyn RegionFactory>,
    /// Whether chunks that writers still hold are copied out, for producers that do not choose. Upstream: off in
    /// the daemon, on inside a process (`tracing_service_impl.cc`).
    pub scrape_by_default: bool,
    /// Schemas of extension fields, put into every trace unless its config disables them.
    pub extensions: Vec<ExtensionSet>,
    /// Memory that the service may use, bytes: trace buffers with their indexes, and clones, of one user may take half
    /// of it, and three quarters those of all users but root and the user of the service. What else users may take is
    /// less where this is little. Zero: there is no such limit, as inside of a program.
    pub memory_bytes: u64,
    /// Codecs for traces: usually all that are built in.
    pub codecs: Codecs,
    /// A seam for tests and simulations, which make limits small.
    #[doc(hidden)]
    pub limits: Limits,
    /// Longest packet that is read from a buffer, bytes ([`limits::PACKET_BYTES_MAX`]). Tests make it small. It is not
    /// in `limits`, whose fields are all compared with what a simulation has reached.
    #[doc(hidden)]
    pub packet_bytes_max: usize,
}

impl ServiceConfig {
    /// A service of root, process 0, without a name, that makes shared memory by `regions`, compresses by all codecs
    /// that are built in, and whose random numbers begin at zero.
    #[must_use]
    pub fn new(regions: Arc<dyn RegionFactory>) -> Self {
        Self {
            uid: 0,
            pid: 0,
            version: String::new(),
            host: HostInfo::default(),
            seed: 0,
            check_seed: 0,
            regions,
            scrape_by_default: false,
            extensions: Vec::new(),
            memory_bytes: 0,
            codecs: Codecs::BUILT,
            limits: Limits::DEFAULT,
            packet_bytes_max: limits::PACKET_BYTES_MAX,
        }
    }
}

impl ServiceConfig {
    /// Bytes of the longest packet that is read from a buffer.
    pub(crate) fn packet_bytes_max(&self) -> usize {
        let part = self.memory_bytes / limits::PACKET_PART;
        let part = usize::try_from(part).unwrap_or(usize::MAX).max(limits::LONG_PACKET_BYTES);
        if self.memory_bytes == 0 { self.packet_bytes_max } else { self.packet_bytes_max.min(part) }
    }

    /// Whether a user may do what all others feel: root, and the user of the service.
    pub(crate) fn is_privileged(&self, uid: u32) -> bool {
        uid == 0 || uid == self.uid
    }
}

impl std::fmt::Debug for ServiceConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceConfig")
            .field("uid", &self.uid)
            .field("pid", &self.pid)
            .field("version", &self.version)
            .field("seed", &self.seed)
            .field("scrape_by_default", &self.scrape_by_default)
            .finish_non_exhaustive()
    }
}
