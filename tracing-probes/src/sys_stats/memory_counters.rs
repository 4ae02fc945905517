//! Counters of `/proc/meminfo` and `/proc/vmstat`.

use abi::map::SortedMap;

use protos::{MeminfoCounters, SysStatsConfig, SysStatsWriter, VmstatCounters};
use protozero::Enumeration;

use crate::parse::{lines, number, words};

/// Rows of `/proc/meminfo`. The names of the counters follow no rule.
const MEMINFO: [(&str, MeminfoCounters); 38] = [
    ("MemTotal", MeminfoCounters::MEMINFO_MEM_TOTAL),
    ("MemFree", MeminfoCounters::MEMINFO_MEM_FREE),
    ("MemAvailable", MeminfoCounters::MEMINFO_MEM_AVAILABLE),
    ("Buffers", MeminfoCounters::MEMINFO_BUFFERS),
    ("Cached", MeminfoCounters::MEMINFO_CACHED),
    ("SwapCached", MeminfoCounters::MEMINFO_SWAP_CACHED),
    ("Active", MeminfoCounters::MEMINFO_ACTIVE),
    ("Inactive", MeminfoCounters::MEMINFO_INACTIVE),
    ("Active(anon)", MeminfoCounters::MEMINFO_ACTIVE_ANON),
    ("Inactive(anon)", MeminfoCounters::MEMINFO_INACTIVE_ANON),
    ("Active(file)", MeminfoCounters::MEMINFO_ACTIVE_FILE),
    ("Inactive(file)", MeminfoCounters::MEMINFO_INACTIVE_FILE),
    ("Unevictable", MeminfoCounters::MEMINFO_UNEVICTABLE),
    ("Mlocked", MeminfoCounters::MEMINFO_MLOCKED),
    ("SwapTotal", MeminfoCounters::MEMINFO_SWAP_TOTAL),
    ("SwapFree", MeminfoCounters::MEMINFO_SWAP_FREE),
    ("Dirty", MeminfoCounters::MEMINFO_DIRTY),
    ("Writeback", MeminfoCounters::MEMINFO_WRITEBACK),
    ("AnonPages", MeminfoCounters::MEMINFO_ANON_PAGES),
    ("Mapped", MeminfoCounters::MEMINFO_MAPPED),
    ("Shmem", MeminfoCounters::MEMINFO_SHMEM),
    ("Slab", MeminfoCounters::MEMINFO_SLAB),
    ("SReclaimable", MeminfoCounters::MEMINFO_SLAB_RECLAIMABLE),
    ("SUnreclaim", MeminfoCounters::MEMINFO_SLAB_UNRECLAIMABLE),
    ("KernelStack", MeminfoCounters::MEMINFO_KERNEL_STACK),
    ("PageTables", MeminfoCounters::MEMINFO_PAGE_TABLES),
    ("CommitLimit", MeminfoCounters::MEMINFO_COMMIT_LIMIT),
    ("Committed_AS", MeminfoCounters::MEMINFO_COMMITED_AS),
    ("VmallocTotal", MeminfoCounters::MEMINFO_VMALLOC_TOTAL),
    ("VmallocUsed", MeminfoCounters::MEMINFO_VMALLOC_USED),
    ("VmallocChunk", MeminfoCounters::MEMINFO_VMALLOC_CHUNK),
    ("CmaTotal", MeminfoCounters::MEMINFO_CMA_TOTAL),
    ("CmaFree", MeminfoCounters::MEMINFO_CMA_FREE),
    ("Gpu", MeminfoCounters::MEMINFO_GPU),
    ("Zram", MeminfoCounters::MEMINFO_ZRAM),
    ("Misc", MeminfoCounters::MEMINFO_MISC),
    ("ION_heap", MeminfoCounters::MEMINFO_ION_HEAP),
    ("ION_heap_pool", MeminfoCounters::MEMINFO_ION_HEAP_POOL),
];

/// The counters that the config asks for, by their row.
#[derive(Debug)]
pub(super) struct MemoryCounters {
    meminfo: SortedMap<&'static [u8], MeminfoCounters>,
    vmstat: SortedMap<Vec<u8>, VmstatCounters>,
}

impl MemoryCounters {
    /// The counters that `config` lists. An empty list means all of its kind.
    pub(super) fn new(config: &SysStatsConfig) -> Self {
        let wants_mem = |c: &MeminfoCounters| {
            config.meminfo_counters.is_empty() || config.meminfo_counters.contains(c)
        };
        let wants_vm = |c: &VmstatCounters| {
            config.vmstat_counters.is_empty() || config.vmstat_counters.contains(c)
        };
        let meminfo = MEMINFO.into_iter().filter(|(_, counter)| wants_mem(counter));
        let vmstat = VmstatCounters::VALUES.iter().filter_map(|(name, value)| {
            // The name of a row is the name of its counter in lower case.
            let name = name.strip_prefix("VMSTAT_")?.to_ascii_lowercase();
            Some((name.into_bytes(), VmstatCounters(*value)))
        });
        Self {
            meminfo: meminfo.map(|(name, counter)| (name.as_bytes(), counter)).collect(),
            vmstat: vmstat.filter(|(_, counter)| wants_vm(counter)).collect(),
        }
    }

    /// `MemTotal:       24684112 kB`
    pub(super) fn meminfo(&self, text: &[u8], stats: &mut SysStatsWriter<'_>) {
        for line in lines(text) {
            let mut words = words(line);
            let name = words.next().and_then(|word| word.strip_suffix(b":"));
            let counter = name.and_then(|name| self.meminfo.get(name));
            if let (Some(counter), Some(value)) = (counter, words.next().and_then(number)) {
                stats.meminfo().key(*counter).value(value);
            }
        }
    }

    /// `nr_free_pages 2832459`
    pub(super) fn vmstat(&self, text: &[u8], stats: &mut SysStatsWriter<'_>) {
        for line in lines(text) {
            let mut words = words(line);
            let counter = words.next().and_then(|name| self.vmstat.get(name));
            if let (Some(counter), Some(value)) = (counter, words.next().and_then(number)) {
                stats.vmstat().key(*counter).value(value);
            }
        }
    }
}
