//! Names of system calls, as configs have them, and their numbers, as records have them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use syscalls::{aarch64, arm, x86, x86_64};

/// Longest filter that every kernel takes, bytes: less than a page.
const FILTER_BYTES_MAX: usize = 4096;

/// Whose numbers the kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyscallArch {
    X86_64,
    X86,
    Aarch64,
    Arm,
    /// No names are known.
    Other,
}

impl SyscallArch {
    /// By what `uname -m` prints.
    pub(crate) fn of_machine(machine: &str) -> Self {
        match machine {
            "x86_64" => Self::X86_64,
            "i386" | "i486" | "i586" | "i686" => Self::X86,
            "aarch64" => Self::Aarch64,
            // 32-bit programs on a 64-bit kernel see the second name.
            "armv7l" | "armv8l" => Self::Arm,
            _ => Self::Other,
        }
    }

    /// The number of a system call, by its name with `sys_` before it.
    pub(crate) fn number(self, name: &str) -> Option<u32> {
        let name = name.strip_prefix("sys_")?;
        let number = match self {
            Self::X86_64 => name.parse::<x86_64::Sysno>().ok()?.id(),
            Self::X86 => name.parse::<x86::Sysno>().ok()?.id(),
            Self::Aarch64 => name.parse::<aarch64::Sysno>().ok()?.id(),
            Self::Arm => name.parse::<arm::Sysno>().ok()?.id(),
            Self::Other => return None,
        };
        u32::try_from(number).ok()
    }
}

/// The system calls that a session, or all of them together, record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Syscalls {
    All,
    Only(BTreeSet<u32>),
}

impl Syscalls {
    /// None at all.
    pub(crate) fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// What `names` asks for, and the names that are no system calls. No name asks for all, but names of which none is
    /// known ask for none.
    pub(crate) fn of_names(arch: SyscallArch, names: &[String]) -> (Self, Vec<String>) {
        if names.is_empty() {
            return (Self::All, Vec::new());
        }
        let mut numbers = BTreeSet::new();
        let mut unknown = Vec::new();
        for name in names {
            match arch.number(name) {
                Some(number) => _ = numbers.insert(number),
                None => unknown.push(name.clone()),
            }
        }
        (Self::Only(numbers), unknown)
    }

    /// Adds what `other` has.
    pub(crate) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Only(numbers), Self::Only(others)) => numbers.extend(others),
        }
    }

    /// Is the system call with this number among them?
    pub(crate) fn contains(&self, number: i64) -> bool {
        match self {
            Self::All => true,
            Self::Only(numbers) => u32::try_from(number).is_ok_and(|n| numbers.contains(&n)),
        }
    }

    /// The filter for the kernel; `0` is no filter. Of so many that the kernel would refuse the text it records all,
    /// and each session picks out its part.
    pub(crate) fn filter(&self) -> String {
        let Self::Only(numbers) = self else { return "0".to_owned() };
        let mut filter = String::new();
        for number in numbers {
            let or = if filter.is_empty() { "" } else { " || " };
            _ = write!(filter, "{or}id == {number}");
        }
        match filter.len() {
            // No system call has this number.
            0 => "id == -2".to_owned(),
            1..FILTER_BYTES_MAX => filter,
            _ => "0".to_owned(),
        }
    }
}
