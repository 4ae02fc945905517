//! The texts of the manual page of `tracebox doctor`.

use super::page::Block::{self, Code, List, Text};

pub(super) const DESCRIPTION: &[Block] = &[
    Text(
        "*tracebox* *doctor* checks what can be recorded on this machine by this user: sockets, the service, rights, \
         tracefs and who uses it, events, clocks, kernel symbols, memory. Each check is a line. If a command mends \
         what was found, it stands below, after a dollar sign.",
    ),
    Text(
        "It changes nothing, and ends within seconds, also if the service is stopped. It asks a service that runs; \
         one that systemd would start is not started.",
    ),
];

pub(super) const STATUS: &[Block] = &[List(&[
    ("works", "This is as it should be."),
    ("absent", "It is not there, and *tracebox* alone does not need it: a service, for example."),
    ("unknown", "This user may not see it."),
    ("limited", "Something cannot be recorded."),
    (
        "broken",
        "Something that is there does not do what it should: a service that does not answer, for example.",
    ),
])];

pub(super) const CHECKS: &[Block] = &[List(&[
    ("consumer-socket, producer-socket", "Who listens there, and whether this user may connect."),
    ("service", "Its version, how fast it answers, and what it has refused this user."),
    ("data-sources", "What programs offer to the service."),
    ("rights", "User, groups and capabilities of this process. It always works."),
    ("tracefs", "Whether it is mounted, and whether this user may record events of the kernel."),
    ("ftrace-in-use", "Whether another program records with ftrace; instances."),
    (
        "ftrace-leftovers",
        "Whether a recording of this user was killed before it had put back what it had changed; for root, also \
         one of another user.",
    ),
    ("events", "How many events this kernel has in each category of light mode."),
    ("trace-clock", "Whether events of the kernel have the clock of all other data."),
    ("clock-source", "Whether programs read times without a system call."),
    ("processes", "Which processes this user can record."),
    ("kernel-symbols", "Whether functions of the kernel get names."),
    ("perf-events", "Whether this user may sample all CPUs."),
    ("memory", "Whether there is enough for buffers of the default size."),
])];

pub(super) const JSON: &[Block] = &[
    Text(
        "*--json* prints one object. Names of checks and the words of their status do not change; texts and commands \
         may. All checks are always there, in the same order. New versions may add fields and checks.",
    ),
    List(&[
        ("format", "1."),
        ("program_version", "That of this program."),
        ("works", "Whether the exit status is 0."),
        ("checks", "A list: name, status, text; command and effect if a command mends it."),
        (
            "categories",
            "A list: name, events_here (how many events this kernel has), events_known. Empty if tracefs cannot be \
             read.",
        ),
    ]),
    Code("tracebox doctor --json | jq -r '.checks[] | select(.status == \"broken\") | .command'"),
];

pub(super) const EXIT: &[Block] = &[List(&[
    ("0", "No check is limited or broken."),
    ("1", "A check is limited or broken."),
    ("2", "Nothing was checked: the command line is wrong, or the answer cannot be written."),
])];
