//! What the manual pages say beyond the options.

use clap::CommandFactory;

use super::page::{
    Block::{self, Code, List, Text},
    Page,
};
use super::{probes, record, trace, tracebox, traced, trigger};
use crate::cli::Perfetto;

/// All pages.
pub(super) fn all() -> Vec<Page> {
    let mut pages = recorders();
    pages.extend(others());
    pages
}

fn recorders() -> Vec<Page> {
    vec![
        Page {
            name: "tracebox",
            section: 1,
            command: tracebox(),
            synopsis: &[
                "tracebox -o FILE [-t 5s] [-b 32mb] [OPTIONS]",
                "tracebox -c CONFIG [--txt] -o FILE [OPTIONS]",
                "tracebox PROGRAM [ARGUMENTS]",
            ],
            description: TRACEBOX,
            sections: &[
                ("PROGRAMS", PROGRAMS),
                ("EXIT STATUS", EXIT),
                ("ENVIRONMENT", ENVIRONMENT),
                ("EXAMPLES", TRACEBOX_EXAMPLES),
                SEE_ALSO,
            ],
        },
        Page {
            name: "perfetto",
            section: 1,
            command: Perfetto::command(),
            synopsis: &[
                "perfetto -c CONFIG [--txt] -o FILE [OPTIONS]",
                "perfetto [-t 10s] [-b 32mb] [-s 100mb] -o FILE [OPTIONS] [EVENT...]",
                "perfetto -c CONFIG --detach=KEY -o FILE",
                "perfetto --attach=KEY [--stop]",
                "perfetto --is_detached=KEY",
                "perfetto --clone ID -o FILE",
                "perfetto --clone-by-name NAME -o FILE",
                "perfetto --save-for-bugreport | --save-all-for-bugreport",
                "perfetto --query [--long | --json] | --query-raw",
            ],
            description: PERFETTO,
            sections: &[
                ("LIGHT MODE", LIGHT),
                ("TRIGGERS", TRIGGERS),
                ("DETACHED SESSIONS", DETACHED),
                ("COPIES OF RUNNING SESSIONS", CLONES),
                ("SIGNALS", SIGNALS),
                ("EXIT STATUS", EXIT),
                ("ENVIRONMENT", ENVIRONMENT),
                ("FILES", FILES),
                ("EXAMPLES", PERFETTO_EXAMPLES),
                SEE_ALSO,
            ],
        },
        Page {
            name: "tracebox-record",
            section: 1,
            command: record::command_line(),
            synopsis: &["tracebox record -o FILE [OPTIONS] -- COMMAND [ARGUMENTS]"],
            description: RECORD,
            sections: &[("EXIT STATUS", RECORD_EXIT), ("ENVIRONMENT", ENVIRONMENT), SEE_ALSO],
        },
    ]
}

fn others() -> Vec<Page> {
    vec![
        Page {
            name: "tracebox-trace",
            section: 1,
            command: trace::command(),
            synopsis: &["tracebox trace print [OPTIONS] FILE"],
            description: TRACE,
            sections: &[("EXIT STATUS", SIMPLE_EXIT), ("EXAMPLES", TRACE_EXAMPLES), SEE_ALSO],
        },
        Page {
            name: "trigger_perfetto",
            section: 1,
            command: trigger::command(),
            synopsis: &["trigger_perfetto TRIGGER..."],
            description: TRIGGER,
            sections: &[("EXIT STATUS", TRIGGER_EXIT), ("ENVIRONMENT", ENVIRONMENT), SEE_ALSO],
        },
        Page {
            name: "traced",
            section: 8,
            command: traced::command(),
            synopsis: &["traced [OPTIONS]"],
            description: TRACED,
            sections: &[
                ("EXIT STATUS", SIMPLE_EXIT),
                ("ENVIRONMENT", ENVIRONMENT),
                ("FILES", FILES),
                SEE_ALSO,
            ],
        },
        Page {
            name: "traced_probes",
            section: 8,
            command: probes::command(),
            synopsis: &["traced_probes [OPTIONS]"],
            description: PROBES,
            sections: &[("EXIT STATUS", SIMPLE_EXIT), ("ENVIRONMENT", ENVIRONMENT), SEE_ALSO],
        },
    ]
}

type Section = (&'static str, &'static [Block]);

const SEE_ALSO: Section = (
    "SEE ALSO",
    &[Text(
        "*perfetto*(1), *tracebox*(1), *tracebox-record*(1), *tracebox-trace*(1), \
         *trigger_perfetto*(1), *traced*(8), *traced_probes*(8); traces are looked at in \
         https://ui.perfetto.dev",
    )],
);

const PERFETTO: &[Block] = &[
    Text(
        "*perfetto* asks a running *traced*(8) to record, waits for the end, and writes the trace to \
         _FILE_. What to record comes from a config (*-c*), a TraceConfig message in binary or, with \
         *--txt*, as text; or from a few words, see LIGHT MODE.",
    ),
    Text(
        "At the end it prints how much was written and what was lost on the way. What was lost is \
         counted by the service (chunks overwritten in a full ring buffer, chunks that a full buffer \
         discarded, packets that a producer had no shared memory for, and so on) and by the packets \
         themselves, which say that something before them is missing. With *--strict* a loss makes the \
         exit status 3; the trace is written all the same. In a ring buffer that is meant to wrap, \
         what it overwrote counts as lost, too.",
    ),
    Text(
        "An existing _FILE_ keeps its content until there is a packet to write, so a start that fails \
         costs nobody an older trace; a copy replaces it in one step when it is whole. A new file \
         without any packet is removed if the recording fails. With write_into_file in the config the \
         service writes the file itself, and with output_path it opens it, too; a relative one begins in \
         the directory of this program.",
    ),
    Text(
        "A named pipe may get its reader later: the recording goes on, and its trace waits. A reader that \
         leaves before the end is a failure.",
    ),
];

const LIGHT: &[Block] = &[Text(
    "Without *-c* the config is made from *-t*, *-b*, *-s* and words: one with a slash is an ftrace \
         event (sched/sched_switch), others are categories (sched, freq, disk). Durations are numbers \
         with ms, s, m or h, sizes with kb, mb or gb (k, m, g). Defaults are *-t* 10s and *-b* 32mb. \
         With *-s* the service writes the file and stops at that size.",
)];

const TRIGGERS: &[Block] = &[Text(
    "A config with a trigger_config waits for events that *trigger_perfetto*(1) or a producer fires. \
     In START_TRACING mode the first one starts the recording, in STOP_TRACING mode it ends it, in \
     CLONE_SNAPSHOT mode each one writes a snapshot while the recording goes on: the first to _FILE_.0, \
     the next to _FILE_.1, and so on; _FILE_ itself stays empty. With *--no-clobber* numbers that are \
     taken are skipped. A config with activate_triggers records nothing: it fires those triggers and \
     ends.",
)];

const DETACHED: &[Block] = &[Text(
    "With *--detach* the session goes on in the service when perfetto has ended; its config must have \
     write_into_file. *--is_detached* asks whether it is still there, *--attach* takes it over and \
     waits for its end, and *--attach* with *--stop* ends it. A session belongs to its user: others do \
     not find it.",
)];

const CLONES: &[Block] = &[
    Text(
        "*--clone* and *--clone-by-name* write what a running session has recorded so far; the session \
         goes on. *--clone-for-bugreport* leaves out its trace filter. Ids and names are in *--query*.",
    ),
    Text(
        "*--save-for-bugreport* writes a copy of the running session with the highest bugreport_score to \
         systrace.pftrace in the directory TMPDIR (or /tmp); that there is none is a failure. \
         *--save-all-for-bugreport* writes one of every running session with a score, the highest first, \
         under the bugreport_filename of its config; names that are taken by an earlier one get a _1, _2 and \
         so on. That there is none is no failure.",
    ),
];

const SIGNALS: &[Block] = &[Text(
    "SIGINT and SIGTERM end the recording: producers hand over what they hold, and the trace is written \
     whole. A second one, a second or more later, gives up: what was written by then are whole packets. \
     A copy is given up at the first.",
)];

const EXIT: &[Block] = &[List(&[
    ("0", "It worked: the trace is written, the session was found, all triggers were heard of."),
    (
        "1",
        "It did not: words that do not go together, a config that is none, no service, an error of the \
         service (it is printed), a service that went away, a file that cannot be written, a snapshot \
         that failed. With *-D*: an error before the data sources had started.",
    ),
    (
        "2",
        "*--attach* and *--is_detached*: there is no session under that key. *-D*: not all data sources \
         had started after 30 seconds; the recording goes on.",
    ),
    (
        "3",
        "*--strict*: the trace is written, but data was lost, or the service does not tell whether any was.",
    ),
    ("130", "Interrupted before the trace was whole."),
])];

const ENVIRONMENT: &[Block] = &[List(&[
    (
        "PERFETTO_CONSUMER_SOCK_NAME",
        "Where consumers meet the service: a path, _@name_ for an abstract socket, _host:port_. Without \
         it: /run/perfetto/traced-consumer.sock if /run/perfetto can be entered, else \
         /tmp/perfetto-consumer.",
    ),
    (
        "PERFETTO_PRODUCER_SOCK_NAME",
        "Where producers do; traced takes a list with commas. Without it: \
         /run/perfetto/traced-producer.sock, else /tmp/perfetto-producer.",
    ),
    ("TMPDIR", "Where traces for bug reports and private sockets are, instead of /tmp."),
    (
        "TRACED_NOTIFY_FD, TRACED_PROBES_NOTIFY_FD",
        "An open descriptor: the daemon writes 1 to it when it is ready.",
    ),
])];

const FILES: &[Block] = &[List(&[
    ("/run/perfetto/", "The sockets, if the directory exists."),
    ("/tmp/perfetto-producer, /tmp/perfetto-consumer", "The sockets otherwise."),
])];

const PERFETTO_EXAMPLES: &[Block] = &[
    Text("Ten seconds with a config, failing if anything was lost:"),
    Code("perfetto -c config.pbtx --txt -o trace.pftrace --strict"),
    Text("Into a pipe:"),
    Code("perfetto -c config.pbtx --txt -o - | zstd > trace.pftrace.zst"),
    Text("A recording that goes on, and its end:"),
    Code(
        "perfetto -c long.pbtx --txt -o long.pftrace --detach=long\nperfetto --attach=long --stop",
    ),
    Text("The names of all sessions:"),
    Code("perfetto --query --json | jq -r '.tracing_sessions[].unique_session_name'"),
];

const TRACEBOX: &[Block] = &[
    Text(
        "*tracebox* is all programs in one file. With the name of one as its first word, or when called \
         by that name, it is that program. Otherwise it takes the options of *perfetto*(1) and records \
         with a service and data sources of its own, so that nothing has to run first; with \
         *--system-sockets* it uses the daemons of the machine.",
    ),
    Text(
        "Without a config and without events it records five seconds of processes, processors, memory, \
         disks and pressure.",
    ),
];

const PROGRAMS: &[Block] = &[List(&[
    ("perfetto", "Records through a running traced; see *perfetto*(1)."),
    ("record", "Records while a command runs; see *tracebox-record*(1)."),
    ("trace", "Looks into a trace; see *tracebox-trace*(1)."),
    ("trigger_perfetto", "Fires triggers; see *trigger_perfetto*(1)."),
    ("traced", "The service; see *traced*(8)."),
    ("traced_probes", "The data sources of this machine; see *traced_probes*(8)."),
    ("completions SHELL", "Prints completions for bash, elvish, fish, powershell or zsh."),
    ("man PROGRAM", "Prints a manual page."),
])];

const TRACEBOX_EXAMPLES: &[Block] = &[
    Code("tracebox -t 3s -o machine.pftrace"),
    Code("tracebox record -o build.pftrace -- cargo build"),
    Code("tracebox trace print machine.pftrace | less"),
];

const RECORD: &[Block] = &[Text(
    "Records while _COMMAND_ runs, with a service of its own on private sockets that the command finds in \
     its environment. The command starts when all data sources have, or after five seconds. Its end ends \
     the recording. SIGINT and SIGTERM are passed on to it, from the third on as SIGKILL. Without a config: \
     processes, system counters, and track events of the command.",
)];

const RECORD_EXIT: &[Block] = &[List(&[
    ("the command's", "It ran. If a signal killed it: 128 and the number of the signal."),
    ("125", "The recording failed, or data was lost and *--strict* asked for it."),
    ("126", "The command could not be run."),
    ("127", "There is no such command."),
    ("130", "Interrupted before the command ran."),
])];

const TRACE: &[Block] = &[Text(
    "*tracebox trace print* prints the packets of a trace as text, one at a time, however long the trace \
     is. What the schema does not know is shown by number.",
)];

const TRACE_EXAMPLES: &[Block] = &[
    Code("tracebox trace print -p 10..20 trace.pftrace"),
    Code("tracebox trace print -1 trace.pftrace | grep sched_switch"),
];

const SIMPLE_EXIT: &[Block] = &[List(&[
    ("0", "It worked; a daemon was asked to end."),
    ("1", "It did not, and one line says why."),
])];

const TRIGGER: &[Block] = &[Text(
    "Tells the service that something happened. Sessions whose config has a trigger of that name start, \
     stop or write a snapshot; see TRIGGERS in *perfetto*(1). Names that nobody waits for are ignored.",
)];

const TRIGGER_EXIT: &[Block] = &[List(&[
    ("0", "The service heard of all of them, whether or not anybody waits for them."),
    ("1", "No trigger was named, there is no service, or it did not answer in ten seconds."),
])];

const TRACED: &[Block] = &[Text(
    "*traced* is the tracing service: producers offer data sources and write into shared memory, consumers \
     such as *perfetto*(1) start sessions and read what was recorded. It refuses to start where another \
     one listens, replaces sockets that a killed one left, and takes its own along when it ends.",
)];

const PROBES: &[Block] = &[Text(
    "*traced_probes* offers what this machine knows about itself to *traced*(8): linux.process_stats, \
     linux.sys_stats and linux.system_info. It connects again whenever the service comes back.",
)];
