//! The events of this kernel, for the sessions that want them.

use abi::map::SortedMap;

use crate::ftrace::config::{Graph, PrintFilter, SyscallArch};
use crate::ftrace::filter::RecordFilter;
use crate::ftrace::mux::Active;
use crate::ftrace::table::choice::Choice;
use crate::ftrace::table::kind::Pointers;
use crate::ftrace::table::plans::Plans;
use crate::ftrace::table::{FieldIds, Options, Table};
use crate::ftrace::tracefs::{CpuStats, Tracefs, printk_formats};

/// What is known of the events of this kernel. It is read when the first session starts, and kept.
#[derive(Debug, Default)]
pub(super) struct Events {
    table: Option<Table>,
    numbers: FieldIds,
    printk: SortedMap<u64, Box<[u8]>>,
}

/// What a session records, and how.
pub(super) struct Recording {
    pub(super) plans: Plans,
    pub(super) filter: Option<RecordFilter>,
    pub(super) unknown: Vec<String>,
    pub(super) failed: Vec<String>,
    /// What else its user should know.
    pub(super) errors: Vec<String>,
    /// Counters of the rings before its events were on, by CPU.
    pub(super) rings: Vec<(u32, CpuStats)>,
}

impl Events {
    /// Strings by their address in the kernel.
    pub(super) fn printk(&self) -> &SortedMap<u64, Box<[u8]>> {
        &self.printk
    }

    /// The table, for a session that starts. The first one makes it.
    pub(super) fn choose(
        &mut self,
        tracefs: &dyn Tracefs,
        arch: SyscallArch,
        pointers: Pointers,
    ) -> Choice<'_> {
        let Self { table, numbers, printk } = self;
        let table = table.get_or_insert_with(|| {
            // The root alone has them.
            *printk = printk_formats(&tracefs.read("printk_formats").unwrap_or_default());
            let options = Options { pointers, opens: opens(arch) };
            Table::shared(options, &mut |group, name| {
                tracefs.read(&format!("events/{group}/{name}/format")).ok()
            })
        });
        Choice::new(table, numbers)
    }
}

/// What a session records that has started.
pub(super) fn recorded(
    choice: Choice<'_>,
    active: &Active,
    is_compact: bool,
    print: &PrintFilter,
    graph: Option<&Graph>,
) -> Recording {
    let mut errors = active.notes.clone();
    let mut failed = active.failed.clone();
    let filter = RecordFilter::new(choice.table(), active, print, graph, &mut failed);
    let (plans, unfit) = choice.finish(is_compact);
    if let Some(why) = unfit {
        failed.push("perfetto/compact_sched (unexpected sched event format)".to_owned());
        errors.push(format!("compact_sched: {why}; events are written one by one"));
    }
    let (unknown, rings) = (active.unknown.clone(), active.rings.clone());
    Recording { plans, filter, unknown, failed, errors, rings }
}

/// The system calls that return a new descriptor: open, openat, socket, dup, dup2, dup3.
pub(super) fn opens(arch: SyscallArch) -> &'static [u16] {
    match arch {
        SyscallArch::X86_64 => &[2, 257, 41, 32, 33, 292],
        SyscallArch::X86 => &[5, 295, 359, 41, 63, 330],
        SyscallArch::Aarch64 => &[56, 198, 23, 24],
        SyscallArch::Arm => &[5, 322, 281, 41, 63, 358],
        SyscallArch::Other => &[],
    }
}
