//! The rights of this user, and what the kernel offers.

use std::path::PathBuf;

use tracing_probes::FtraceRecords;

use super::finding::Status::{Absent, Broken, Limited, Unknown, Works};
use super::finding::{Finding, list};
use crate::console::count;
use crate::doctor::facts::{
    Facts, Machine, Process, Records, Tracefs, TracefsState, User, capability,
};
use crate::doctor::obstacle;

/// Memory that a recording without options takes: the buffer, and for each CPU a ring of the kernel.
const BUFFER_KB: u64 = 32 * 1024;
const RING_KB: u64 = 8 * 1024;

/// Users that are named.
const USERS_SHOWN: usize = 8;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![rights(&facts.user)];
    match &facts.tracefs {
        None => findings.extend(TRACEFS.map(|check| Finding::silent(check, "tracefs"))),
        Some(found) => findings.extend([
            tracefs(facts, found),
            in_use(facts, found),
            leftovers(facts, found),
            events(found),
            trace_clock(found),
        ]),
    }
    match &facts.machine {
        None => findings.extend(MACHINE.map(|check| Finding::silent(check, "/proc or /sys"))),
        Some(machine) => findings.extend([
            clock_source(machine),
            processes(facts, machine),
            symbols(&facts.user, machine),
            perf(&facts.user, machine),
            memory(facts, machine),
        ]),
    }
    findings
}

const TRACEFS: [&str; 5] =
    ["tracefs", "ftrace-in-use", "ftrace-leftovers", "events", "trace-clock"];
const MACHINE: [&str; 5] = ["clock-source", "processes", "kernel-symbols", "perf-events", "memory"];

fn rights(user: &User) -> Finding {
    let names = [
        (capability::NET_ADMIN, "CAP_NET_ADMIN"),
        (capability::SYS_PTRACE, "CAP_SYS_PTRACE"),
        (capability::SYSLOG, "CAP_SYSLOG"),
        (capability::PERFMON, "CAP_PERFMON"),
    ];
    let has = names.iter().filter(|(number, _)| user.has(*number)).map(|(_, name)| *name);
    let has = list(&has.collect::<Vec<_>>());
    let groups: Vec<String> = user.groups.iter().map(u32::to_string).collect();
    let text = format!(
        "this process has user {}, group {}, more groups: {}; of the capabilities that help recorders: {has}",
        user.uid,
        user.gid,
        list(&groups)
    );
    Finding::new("rights", Works, text)
}

fn tracefs(facts: &Facts, tracefs: &Tracefs) -> Finding {
    const CHECK: &str = "tracefs";
    let lost = "events of the kernel (sched, freq, irq, ...) cannot be recorded";
    let Some(path) = &tracefs.path else {
        if tracefs.is_in_kernel {
            let text = format!("it is not mounted: {lost}");
            return Finding::new(CHECK, Limited, text).mend(obstacle::mount(), "mounts it");
        }
        let text = format!("this kernel, or this container, has none: {lost}");
        return Finding::new(CHECK, Limited, text);
    };
    if tracefs.is_read_only {
        let text = format!("{path} is mounted read-only, as in most containers: {lost}");
        let effect = "lets programs write to it; in a container, start that with more rights";
        return Finding::new(CHECK, Limited, text).mend(obstacle::remount(path), effect);
    }
    if tracefs.closed.is_empty() {
        return Finding::new(
            CHECK,
            Works,
            format!("{path}: this user may record events of the kernel"),
        );
    }
    let owner = tracefs.owner.clone().unwrap_or_default();
    let closed = match &tracefs.closed[..] {
        [all] if all == path => "enter it".to_owned(),
        files => format!("use {} in it", list(files)),
    };
    let text = format!(
        "{path} is of user {} and group {}, mode {:04o}, and user {} may not {closed}: {lost}",
        owner.uid, owner.gid, owner.mode, facts.user.uid
    );
    Finding::new(CHECK, Limited, text).mend(
        format!("sudo chown -R \"$(id -u)\" {path}"),
        "lets this user record the kernel until the next start of the machine; or record with sudo",
    )
}

fn in_use(facts: &Facts, tracefs: &Tracefs) -> Finding {
    const CHECK: &str = "ftrace-in-use";
    let Some(state) = &tracefs.state else { return hidden(CHECK) };
    let holder = match &tracefs.records {
        Records::Seen { holder: Some(holder), .. } => Some(holder),
        _ => None,
    };
    let events = match &state.enabled[..] {
        [] => String::new(),
        some => format!("{} events are on ({}, ...)", state.enabled_count, some.join(", ")),
    };
    let reset = format!("sudo {} --reset-ftrace", facts.program);
    let effect =
        "stops that recording, also of other programs; what it recorded in the kernel is lost";
    if !matches!(state.tracer.as_str(), "" | "nop") {
        let text =
            format!("another program uses the tracer `{}`, so nothing else can", state.tracer);
        return Finding::new(CHECK, Limited, text).mend(reset, effect);
    }
    match holder {
        Some(holder) if state.enabled_count > 0 => {
            let (name, pid) = (&holder.name, holder.pid);
            let text =
                format!("{name} (pid {pid}) records: {events}; a second recorder would disturb it");
            Finding::new(CHECK, Limited, text)
        }
        None if state.enabled_count > 0 => {
            let text = format!("another program records, or has left its settings: {events}");
            Finding::new(CHECK, Limited, text).mend(reset, effect)
        }
        _ => match &tracefs.claimed_by {
            Some(Process { pid, name, .. }) => {
                let text = format!(
                    "{name} (pid {pid}) has locked tracefs: it records events of the kernel, and until it ends other \
                     recordings have none"
                );
                Finding::new(CHECK, Limited, text)
            }
            None => Finding::new(CHECK, Works, idle(state)),
        },
    }
}

fn idle(state: &TracefsState) -> String {
    let switch = if state.is_on { "1" } else { "0" };
    let instances = list(&state.instances);
    format!("nobody records: no tracer, no events; tracing_on is {switch}, instances: {instances}")
}

fn hidden(check: &'static str) -> Finding {
    Finding::new(check, Unknown, "this user may not read tracefs")
}

fn leftovers(facts: &Facts, tracefs: &Tracefs) -> Finding {
    const CHECK: &str = "ftrace-leftovers";
    let files = match &tracefs.records {
        Records::Hidden => {
            let text = "this user may not read the records of killed recordings";
            return Finding::new(CHECK, Unknown, text);
        }
        Records::Seen { files, holder: None } => files.len(),
        Records::Seen { .. } => 0,
    };
    let is_root = facts.user.uid == 0;
    let others = facts.records_of_others.as_deref();
    let of_others = others.filter(|others| !others.is_empty()).map(|others| {
        let others = some_of(others);
        format!(
            "recordings of other users were killed and have left settings in the kernel, which only these users put \
             back, when they record the kernel again or by the option --reset-ftrace: those of {others}"
        )
    });
    if files > 0 {
        let records = count(files as u64, "record");
        let more = of_others.map(|more| format!("; {more}")).unwrap_or_default();
        let text = format!(
            "a recording of this user was killed and has left its settings in the kernel: {records}{more}"
        );
        // The records are those of this user.
        let sudo = if is_root { "sudo " } else { "" };
        let reset = format!("{sudo}{} --reset-ftrace", facts.program);
        return Finding::new(CHECK, Broken, text).mend(reset, "puts them back, and stops it");
    }
    let none = "no recording of this user was killed";
    match (of_others, others) {
        (Some(text), Some([first, ..])) => Finding::new(CHECK, Broken, text).mend(
            reset_of(first, &facts.program),
            "as that user: puts them back, and stops what ftrace records",
        ),
        _ if !is_root => Finding::new(CHECK, Works, none),
        (_, None) => {
            let text = format!("{none}; the folders of other users did not answer within 2 s");
            Finding::new(CHECK, Unknown, text)
        }
        _ => {
            let text = format!("{none}, and no other user is known to have left any settings");
            Finding::new(CHECK, Works, text)
        }
    }
}

/// The users and their records, the first ones of many.
fn some_of(others: &[FtraceRecords]) -> String {
    let one = |FtraceRecords { uid, folder, count: records }: &FtraceRecords| {
        let records = count(*records as u64, "record");
        format!("user {uid} ({records} in {})", folder.display())
    };
    let shown: Vec<String> = others.iter().take(USERS_SHOWN).map(one).collect();
    let more = match others.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// The command by which another user puts back what it has left.
fn reset_of(records: &FtraceRecords, program: &str) -> String {
    let FtraceRecords { uid, folder, .. } = records;
    // The program finds that folder by this variable, which `sudo` does not set.
    let session = PathBuf::from(format!("/run/user/{uid}"));
    let variable = match folder.starts_with(&session) {
        true => format!("env XDG_RUNTIME_DIR={} ", session.display()),
        false => String::new(),
    };
    format!("sudo -u '#{uid}' {variable}{program} --reset-ftrace")
}

fn events(tracefs: &Tracefs) -> Finding {
    const CHECK: &str = "events";
    let Some(state) = &tracefs.state else { return hidden(CHECK) };
    let (here, none): (Vec<_>, Vec<_>) =
        state.categories.iter().partition(|(_, here, _)| *here > 0);
    let here: Vec<String> = here.iter().map(|(name, here, _)| format!("{name} {here}")).collect();
    let none: Vec<&str> = none.iter().map(|(name, ..)| *name).collect();
    if here.is_empty() {
        let text = "this kernel has no event of any category: it was built without them";
        return Finding::new(CHECK, Limited, text);
    }
    let text = format!(
        "events in each category: {}; this kernel has none of {}",
        here.join(", "),
        list(&none)
    );
    Finding::new(CHECK, Works, text)
}

fn trace_clock(tracefs: &Tracefs) -> Finding {
    const CHECK: &str = "trace-clock";
    let Some(state) = &tracefs.state else { return hidden(CHECK) };
    if state.clocks.iter().any(|clock| clock == "boot") {
        let text = "events of the kernel get times of the boot clock, as all other data does";
        return Finding::new(CHECK, Works, text);
    }
    let text = format!(
        "this kernel has no boot clock for events (it has {}): a reader converts their times, less exactly",
        list(&state.clocks)
    );
    Finding::new(CHECK, Limited, text)
}

fn clock_source(machine: &Machine) -> Finding {
    const CHECK: &str = "clock-source";
    const CHEAP: [&str; 4] =
        ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    let Some(source) = &machine.clock_source else {
        return Finding::new(CHECK, Unknown, "/sys does not tell it");
    };
    if CHEAP.contains(&source.as_str()) {
        let text = format!("{source}: programs read times without a system call");
        return Finding::new(CHECK, Works, text);
    }
    let finding = Finding::new(
        CHECK,
        Limited,
        format!(
            "{source}: each time that a program reads costs it a system call, so tracing slows it down"
        ),
    );
    let Some(better) =
        CHEAP.iter().find(|cheap| machine.clock_sources.iter().any(|s| s == **cheap))
    else {
        return finding;
    };
    finding.mend(
        format!(
            "echo {better} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "uses the counter of the processor until the next start of the machine",
    )
}

fn processes(facts: &Facts, machine: &Machine) -> Finding {
    const CHECK: &str = "processes";
    if machine.is_hidepid && !facts.user.has(capability::SYS_PTRACE) {
        let text = "/proc hides processes of other users (hidepid), so they are not recorded";
        return Finding::new(CHECK, Limited, text)
            .mend("sudo mount -o remount,hidepid=0 /proc", "shows them to all users");
    }
    let mut text = "names, times and memory of all processes can be recorded".to_owned();
    if !facts.user.has(capability::SYS_PTRACE) {
        text.push_str("; open files and proportional memory of other users' need root");
    }
    if !facts.user.has(capability::NET_ADMIN) {
        text.push_str(
            "; `tracebox record` looks for the processes of its command, and may miss very short ones \
             (the kernel tells root of each)",
        );
    }
    Finding::new(CHECK, Works, text)
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "not known".to_owned(), |value| value.to_string())
}

fn symbols(user: &User, machine: &Machine) -> Finding {
    const CHECK: &str = "kernel-symbols";
    let (restrict, paranoid) = (shown(machine.kptr_restrict), shown(machine.perf_event_paranoid));
    let values = format!("kptr_restrict is {restrict}, perf_event_paranoid is {paranoid}");
    if machine.has_symbols {
        let text = format!("names of functions of the kernel can be recorded ({values})");
        return Finding::new(CHECK, Works, text);
    }
    if user.uid == 0 && user.has(capability::SYSLOG) && machine.kptr_restrict > Some(0) {
        let text = format!(
            "{values}: recordings with names of functions lower kptr_restrict for a moment, and put it back"
        );
        return Finding::new(CHECK, Works, text);
    }
    let text = format!(
        "functions of the kernel have no names in traces: their addresses are hidden ({values})"
    );
    Finding::new(CHECK, Limited, text).mend(
        "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1",
        "shows the addresses to all users until the next start of the machine; or record with sudo",
    )
}

fn perf(user: &User, machine: &Machine) -> Finding {
    const CHECK: &str = "perf-events";
    let paranoid = shown(machine.perf_event_paranoid);
    if user.has(capability::PERFMON) || machine.perf_event_paranoid.is_some_and(|value| value < 1) {
        let text = format!(
            "this user may sample all CPUs (perf_event_paranoid is {paranoid}); no data source here does so yet"
        );
        return Finding::new(CHECK, Works, text);
    }
    let text = format!(
        "this user may not sample all CPUs (perf_event_paranoid is {paranoid}, no CAP_PERFMON); no data source here \
         needs that yet"
    );
    Finding::new(CHECK, Absent, text).mend(
        "sudo sysctl kernel.perf_event_paranoid=0",
        "lets all users, until the next start of the machine",
    )
}

fn memory(facts: &Facts, machine: &Machine) -> Finding {
    const CHECK: &str = "memory";
    let need_kb = BUFFER_KB + RING_KB * machine.cpus;
    let need = crate::console::size(need_kb * 1024);
    let Some(available_kb) = machine.memory_kb else {
        return Finding::new(CHECK, Unknown, "/proc does not tell it");
    };
    let available = crate::console::size(available_kb * 1024);
    // As much again stays for the programs that are recorded.
    if available_kb >= 2 * need_kb {
        let text = format!("{available} are free; buffers of the default size take {need}");
        return Finding::new(CHECK, Works, text);
    }
    let text = format!("{available} are free, and buffers of the default size take {need}");
    Finding::new(CHECK, Limited, text).mend(
        format!("{} -b 4mb -t 3s -o machine.pftrace", facts.program),
        "records with a smaller buffer",
    )
}
