//! What was found on this machine, as values. `gather` fills them in, `findings` judges them.

use tracing_probes::FtraceRecords;

/// Everything that is checked. `None`: the part did not answer in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// How a shell finds this program.
    pub(super) program: String,
    pub(super) user: User,
    pub(super) producer: Option<Socket>,
    pub(super) consumer: Option<Socket>,
    pub(super) service: Service,
    pub(super) tracefs: Option<Tracefs>,
    /// What killed recordings of other users have left. Root alone looks for it.
    pub(super) records_of_others: Option<Vec<FtraceRecords>>,
    pub(super) machine: Option<Machine>,
}

/// The rights of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
    /// A bit for each effective capability.
    pub(super) capabilities: u64,
}

/// Number of a capability, from `linux/capability.h`.
pub(super) mod capability {
    pub(in super::super) const NET_ADMIN: u32 = 12;
    pub(in super::super) const SYS_PTRACE: u32 = 19;
    pub(in super::super) const SYSLOG: u32 = 34;
    pub(in super::super) const PERFMON: u32 = 38;
}

impl User {
    pub(super) fn has(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }
}

/// A socket of the service, for producers or consumers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) address: String,
    /// Neither a path nor an abstract name: another machine may listen there.
    pub(super) is_remote: bool,
    /// The variable that names it to programs that are to trust a service of another user. `None`: they ask nobody
    /// whose service it is.
    pub(super) trusted_by: Option<&'static str>,
    /// The file, if it is there.
    pub(super) file: Option<Owner>,
    /// This process may connect.
    pub(super) is_open: bool,
    /// A process listens there, as the kernel says.
    pub(super) is_served: bool,
    /// The processes that have it, as far as this user may see them.
    pub(super) processes: Vec<Process>,
}

impl Socket {
    /// The user who owns it, if programs of user `uid` do not trust the service there; and the variable that makes
    /// them do so.
    pub(super) fn distrusted_by(&self, uid: u32) -> Option<(u32, &'static str)> {
        let owner = self.file.as_ref()?.uid;
        let variable = self.trusted_by?;
        (owner != 0 && owner != uid).then_some((owner, variable))
    }
}

/// The rights of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mode: u32,
    /// The name of its group, if it has one.
    pub(super) group: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) name: String,
    /// A signal has stopped it.
    pub(super) is_stopped: bool,
}

/// What the service said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// It was not asked: nothing listens, or this user may not connect.
    Unasked,
    /// systemd listens, and starts it with the first connection.
    Activated,
    /// It has not answered for this many milliseconds.
    Silent(u64),
    /// Why there is no answer.
    Failed(String),
    Answers(Answer),
}

/// The answer of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) version: String,
    pub(super) ms: u64,
    pub(super) producers: usize,
    pub(super) sessions: usize,
    pub(super) data_sources: Vec<String>,
    /// What the account of this user was refused: name and count.
    pub(super) refused: Vec<(&'static str, u64)>,
}

/// Where tracefs belongs.
pub(super) const TRACEFS: &str = "/sys/kernel/tracing";

/// The kernel's tracing files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tracefs {
    /// The folder exists, mounted or not.
    pub(super) is_in_kernel: bool,
    /// Where it is mounted.
    pub(super) path: Option<String>,
    /// It is mounted so that nobody can write, as in most containers.
    pub(super) is_read_only: bool,
    pub(super) owner: Option<Owner>,
    /// Files that a recording needs and this user may not read or write.
    pub(super) closed: Vec<String>,
    /// `None`: the files cannot be read.
    pub(super) state: Option<TracefsState>,
    pub(super) records: Records,
    /// The process that has locked the folder, as `tracebox` does while it records events of the kernel.
    pub(super) claimed_by: Option<Process>,
}

/// What tracefs says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TracefsState {
    pub(super) tracer: String,
    pub(super) is_on: bool,
    /// Events that are switched on: some of them, and how many there are.
    pub(super) enabled: Vec<String>,
    pub(super) enabled_count: usize,
    /// Instances, and how many of them have events switched on.
    pub(super) instances: Vec<String>,
    pub(super) clocks: Vec<String>,
    /// Categories: name, events that this kernel has, events that there are.
    pub(super) categories: Vec<(&'static str, usize, usize)>,
}

/// The records of what recordings of this program found in tracefs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Records {
    /// This user may not see them.
    #[default]
    Hidden,
    Seen {
        /// Names of the files.
        files: Vec<String>,
        /// The process that has the lock.
        holder: Option<Process>,
    },
}

/// The rest of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    /// `/proc` hides processes of others.
    pub(super) is_hidepid: bool,
    pub(super) clock_source: Option<String>,
    pub(super) clock_sources: Vec<String>,
    pub(super) kptr_restrict: Option<i64>,
    pub(super) perf_event_paranoid: Option<i64>,
    /// `/proc/kallsyms` shows addresses.
    pub(super) has_symbols: bool,
    pub(super) memory_kb: Option<u64>,
    pub(super) cpus: u64,
}
