//! The user, and the rest of the kernel.

use super::super::facts::{Machine, User};
use super::files::text;

/// Bytes of `/proc/kallsyms` that tell whether addresses show.
const SYMBOLS_BYTES: u64 = 4096;

pub(super) fn user() -> User {
    read_user(&text("/proc/self/status"))
}

/// The rights of a process, in the text of its `status`.
pub(super) fn read_user(status: &str) -> User {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_ascii_whitespace()
    };
    // Real, effective, saved, of files.
    let effective = |name: &str| field(name).nth(1).and_then(|id| id.parse().ok()).unwrap_or(0);
    let capabilities = field("CapEff:").next().unwrap_or_default();
    User {
        uid: effective("Uid:"),
        gid: effective("Gid:"),
        groups: field("Groups:").filter_map(|id| id.parse().ok()).collect(),
        capabilities: u64::from_str_radix(capabilities, 16).unwrap_or(0),
    }
}

pub(super) fn read() -> Machine {
    let clock = |file: &str| text(format!("/sys/devices/system/clocksource/clocksource0/{file}"));
    let number = |file: &str| text(format!("/proc/sys/kernel/{file}")).parse().ok();
    let memory = text("/proc/meminfo");
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    Machine {
        is_hidepid: is_hidepid(&text("/proc/mounts")),
        clock_source: Some(clock("current_clocksource")).filter(|name| !name.is_empty()),
        clock_sources: clock("available_clocksource")
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        kptr_restrict: number("kptr_restrict"),
        perf_event_paranoid: number("perf_event_paranoid"),
        has_symbols: has_addresses(&sample("/proc/kallsyms")),
        memory_kb: available.and_then(|text| text.split_whitespace().next()?.parse().ok()),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
    }
}

/// Does the mount of `/proc` hide processes of others, by the text of `/proc/mounts`?
pub(super) fn is_hidepid(mounts: &str) -> bool {
    let options = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        (fields.next() == Some("/proc")).then(|| fields.nth(1).unwrap_or_default().to_owned())
    };
    let hides = |option: &str| {
        option.strip_prefix("hidepid=").is_some_and(|level| !matches!(level, "0" | "off"))
    };
    mounts.lines().filter_map(options).next_back().is_some_and(|all| all.split(',').any(hides))
}

fn sample(path: &str) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        // What came before an error counts.
        let _ = file.take(SYMBOLS_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Does a line of `/proc/kallsyms` have an address other than 0?
pub(super) fn has_addresses(symbols: &str) -> bool {
    let addresses = symbols.lines().filter_map(|line| line.split(' ').next());
    addresses.into_iter().any(|address| address.bytes().any(|digit| digit != b'0'))
}
