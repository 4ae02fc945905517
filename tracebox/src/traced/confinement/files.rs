//! Files, by landlock.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// What may still be done in the file system.
#[derive(Debug)]
pub(in super::super) struct Folders {
    /// Where trace files may be created: below these folders.
    pub(in super::super) traces: Vec<PathBuf>,
    /// Where files may only be removed: those of the sockets, at the end.
    pub(in super::super) sockets: Vec<PathBuf>,
}

/// What of landlock is used, where the kernel has it: Linux 6.12.
const VERSION: ABI = ABI::V6;

/// Folders of the system itself, of its packages and of root. Nobody's traces belong there. A file there can become a
/// command of root (jobs in `var`, keys in `root`), or change what the machine knows of itself (the log in `var`).
/// `efi` and `esp` are the partition that it starts from, `ostree` and `sysroot` the real root of an image, `gnu` has
/// packages, and `persist` what stays of `etc` and `var`.
const SYSTEM: [&str; 20] = [
    "bin", "boot", "dev", "efi", "esp", "etc", "gnu", "nix", "opt", "ostree", "persist", "proc",
    "root", "run", "sbin", "snap", "sys", "sysroot", "usr", "var",
];

/// Folders within those that are for files of everybody.
const FOR_ALL: [&str; 2] = ["dev/shm", "var/tmp"];

/// The folders of `root` where traces may be written unless the user says otherwise: all but those of the system, so
/// `/home`, `/srv`, `/tmp`, and what the machine has of its own, such as `/data`; and shared memory.
pub(in super::super) fn writable(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        // A link leads to another one of these, or to a folder of the system.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            let name = entry.file_name();
            !SYSTEM.iter().any(|system| name == *system)
                && !name.as_encoded_bytes().starts_with(b"lib")
        })
        .map(|entry| entry.path())
        .collect();
    folders.extend(FOR_ALL.map(|folder| root.join(folder)));
    folders.sort();
    folders
}

/// How much of the rules the kernel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enforced {
    All,
    /// It is older than [`VERSION`].
    Part,
}

/// Restricts this thread and those that it starts.
pub(super) fn restrict(folders: &Folders) -> Result<Enforced, String> {
    match enforce(folders) {
        Ok(RulesetStatus::NotEnforced) => Err("this kernel does not have it".to_owned()),
        Ok(RulesetStatus::PartiallyEnforced) => Ok(Enforced::Part),
        Ok(RulesetStatus::FullyEnforced) => Ok(Enforced::All),
        Err(error) => Err(error.to_string()),
    }
}

fn enforce(folders: &Folders) -> Result<RulesetStatus, RulesetError> {
    let creating = AccessFs::MakeReg | AccessFs::WriteFile | AccessFs::Truncate;
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_write(VERSION) | AccessFs::Execute)?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .add_rules(below(&folders.traces, creating))?
        .add_rules(below(&folders.sockets, AccessFs::RemoveFile.into()))?;
    Ok(ruleset.restrict_self()?.ruleset)
}

/// A rule for each folder that is there: what is missing now is not allowed later.
fn below(
    folders: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    let open = folders.iter().filter_map(|folder| PathFd::new(folder).ok());
    open.map(move |folder| Ok(PathBeneath::new(folder, access)))
}
