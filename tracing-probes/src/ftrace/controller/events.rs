//! The events of this kernel, for the sessions that want them.

use abi::map::SortedMap;

use crate::ftrace::bundle::Filter;
use crate::ftrace::config::{EventName, PrintFilter, SyscallArch, Syscalls};
use crate::ftrace::event;
use crate::ftrace::mux::Active;
use crate::ftrace::table::choice::Choice;
use crate::ftrace::table::plan::{Number, Tag, What};
use crate::ftrace::table::plans::Plans;
use crate::ftrace::table::{FieldIds, Options, Table};
use crate::ftrace::tracefs::{Tracefs, printk_formats};

/// The number of the call, in the messages of `raw_syscalls`.
const CALL: Tag = Tag::of(1, protozero::wire::tag::VARINT);

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
    pub(super) filter: Option<Box<Filter<'static>>>,
    pub(super) unknown: Vec<String>,
    pub(super) failed: Vec<String>,
    /// What else its user should know.
    pub(super) errors: Vec<String>,
}

impl Events {
    /// Strings by their address in the kernel.
    pub(super) fn printk(&self) -> &SortedMap<u64, Box<[u8]>> {
        &self.printk
    }

    /// The table, for a session that starts. The first one makes it.
    pub(super) fn choose(&mut self, tracefs: &dyn Tracefs, arch: SyscallArch) -> Choice<'_> {
        let Self { table, numbers, printk } = self;
        let table = table.get_or_insert_with(|| {
            // The root alone has them.
            *printk = printk_formats(&tracefs.read("printk_formats").unwrap_or_default());
            let options = Options { opens: opens(arch), ..Options::default() };
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
) -> Recording {
    let mut errors = active.notes.clone();
    let mut failed = active.failed.clone();
    let filter = filter(choice.table(), active, print, &mut failed);
    let (plans, unfit) = choice.finish(is_compact);
    if let Some(why) = unfit {
        failed.push("perfetto/compact_sched (unexpected sched event format)".to_owned());
        errors.push(format!("compact_sched: {why}; events are written one by one"));
    }
    Recording { plans, filter, unknown: active.unknown.clone(), failed, errors }
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

/// The filter of the session's records: of texts, and of system calls, which other sessions may have more of.
fn filter(
    table: &Table,
    active: &Active,
    print: &PrintFilter,
    failed: &mut Vec<String>,
) -> Option<Box<Filter<'static>>> {
    let id_of =
        |group: &str, name: &str| active.events.get(&EventName::new(group, name)).map(|of| of.id);
    let mut text = None;
    if !print.is_empty()
        && let Some(id) = id_of("ftrace", "print")
    {
        match table.print_text() {
            Some(offset) => text = Some((id, usize::from(offset), print.clone())),
            None => failed.push("ftrace/print (unexpected format for filtering)".to_owned()),
        }
    }
    let syscalls = (active.syscalls != Syscalls::All).then(|| active.syscalls.clone());
    let calls = syscalls.map(|syscalls| {
        let ids = ["sys_enter", "sys_exit"].map(|name| id_of("raw_syscalls", name));
        let number = |id: u16| {
            let steps = &table.plan(id)?.steps;
            let step = steps.iter().find(|step| step.tag == CALL)?;
            Some(Number {
                offset: step.offset,
                is_wide: matches!(step.what, What::I64 | What::U64),
            })
        };
        let numbers = ids.map(|id| Some((id?, number(id?)?)));
        (numbers, syscalls)
    });
    if text.is_none() && calls.is_none() {
        return None;
    }
    Some(Box::new(move |id, record| {
        if let Some((print, offset, filter)) = &text
            && *print == id
        {
            return record.get(*offset..).is_none_or(|text| filter.keeps(text));
        }
        let Some((numbers, syscalls)) = &calls else { return true };
        let number = numbers.iter().flatten().find(|(of, _)| *of == id);
        number.is_none_or(|(_, number)| {
            event::number(record, *number).is_some_and(|call| syscalls.contains(call))
        })
    }))
}
