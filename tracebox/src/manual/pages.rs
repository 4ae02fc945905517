//! The texts of the manual pages, beside the options.

use clap::{Command, CommandFactory};

use super::daemons;
use super::doctor;
use super::page::{
    Block::{self, Code, List, Text},
    Page,
};
use crate::cli::Perfetto;
use crate::recorder::command as record;
use crate::{inspect, probes, trace, traced, trigger, units};

/// All pages.
pub(super) fn all(tracebox: Command) -> Vec<Page> {
    let mut pages = recorders(tracebox);
    pages.extend(readers());
    pages.extend(services());
    pages
}

fn recorders(tracebox: Command) -> Vec<Page> {
    vec![
        Page {
            name: "tracebox",
            section: 1,
            command: tracebox,
            synopsis: &[
                "tracebox -o FILE [-t 5s] [-b 32mb] [OPTIONS]",
                "tracebox -o FILE [-t 10s] [-b 32mb] [OPTIONS] EVENT...",
                "tracebox -c CONFIG [--txt] -o FILE [OPTIONS]",
                "tracebox --reset-ftrace",
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

fn readers() -> Vec<Page> {
    vec![
        Page {
            name: "tracebox-trace",
            section: 1,
            command: trace::command(),
            synopsis: &[
                "tracebox trace events [OPTIONS] FILE",
                "tracebox trace print [OPTIONS] FILE",
            ],
            description: TRACE,
            sections: &[("EXIT STATUS", TRACE_EXIT), ("EXAMPLES", TRACE_EXAMPLES), SEE_ALSO],
        },
        Page {
            name: "tracebox-trace-events",
            section: 1,
            command: trace::events_command(),
            synopsis: &["tracebox trace events [OPTIONS] FILE"],
            description: EVENTS,
            sections: &[
                ("JSON", EVENTS_JSON),
                ("EXIT STATUS", EVENTS_EXIT),
                ("EXAMPLES", EVENTS_EXAMPLES),
                SEE_ALSO,
            ],
        },
        Page {
            name: "tracebox-lint",
            section: 1,
            command: inspect::lint_command(),
            synopsis: &["tracebox lint [--json] [--all] [--fail-on SEVERITY] FILE"],
            description: LINT,
            sections: &[("EXIT STATUS", LINT_EXIT), SEE_ALSO],
        },
        Page {
            name: "tracebox-stats",
            section: 1,
            command: inspect::stats_command(),
            synopsis: &["tracebox stats [--json] FILE"],
            description: STATS,
            sections: &[("EXIT STATUS", STATS_EXIT), SEE_ALSO],
        },
        Page {
            name: "tracebox-doctor",
            section: 1,
            command: crate::doctor::command(),
            synopsis: &["tracebox doctor [--json]"],
            description: doctor::DESCRIPTION,
            sections: &[
                ("STATUS", doctor::STATUS),
                ("CHECKS", doctor::CHECKS),
                ("JSON", doctor::JSON),
                ("EXIT STATUS", doctor::EXIT),
                ("ENVIRONMENT", ENVIRONMENT),
                SEE_ALSO,
            ],
        },
    ]
}

fn services() -> Vec<Page> {
    vec![
        Page {
            name: "trigger_perfetto",
            section: 1,
            command: trigger::command(),
            synopsis: &["trigger_perfetto [--wait] TRIGGER..."],
            description: TRIGGER,
            sections: &[("EXIT STATUS", TRIGGER_EXIT), ("ENVIRONMENT", ENVIRONMENT), SEE_ALSO],
        },
        Page {
            name: "traced",
            section: 8,
            command: traced::command(),
            synopsis: &["traced [OPTIONS]"],
            description: daemons::TRACED,
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
            description: daemons::PROBES,
            sections: &[
                ("EXIT STATUS", SIMPLE_EXIT),
                ("ENVIRONMENT", ENVIRONMENT),
                ("FILES", FILES),
                SEE_ALSO,
            ],
        },
        Page {
            name: "tracebox-install-units",
            section: 8,
            command: units::command(),
            synopsis: &["tracebox install-units [OPTIONS]"],
            description: daemons::UNITS,
            sections: &[("EXIT STATUS", SIMPLE_EXIT), ("FILES", daemons::UNIT_FILES), SEE_ALSO],
        },
    ]
}

type Section = (&'static str, &'static [Block]);

const SEE_ALSO: Section = (
    "SEE ALSO",
    &[Text(
        "*perfetto*(1), *tracebox*(1), *tracebox-doctor*(1), *tracebox-lint*(1), *tracebox-record*(1), \
         *tracebox-stats*(1), *tracebox-trace*(1), *tracebox-trace-events*(1), *trigger_perfetto*(1), *traced*(8), \
         *traced_probes*(8), *tracebox-install-units*(8); https://ui.perfetto.dev shows traces",
    )],
);

const PERFETTO: &[Block] = &[
    Text(
        "*perfetto* asks a running *traced*(8) to record, waits for the end, and writes the trace to \
         _FILE_. A config (*-c*) says what to record: a TraceConfig message in binary or, with *--txt*, as \
         text. Several configs are joined. Instead of a config, a few options and words can say it, see \
         LIGHT MODE.",
    ),
    Text(
        "At the end it prints how much was written and how much was lost. The service counts most losses: \
         chunks that a full ring buffer overwrote, chunks that a full buffer discarded, packets for which a \
         producer had no shared memory. Other losses are reported by the packets that follow them. With \
         *--strict* a loss makes the exit status 3; the trace is written all the same. Data that a ring \
         buffer overwrote counts as lost, too.",
    ),
    Text(
        "An existing _FILE_ keeps its content until there is a packet to write, or until the recording ends \
         without any: a start that fails does not destroy an older trace. A copy replaces the file in one step \
         when it is whole. A new file without packets is removed if the recording fails. With write_into_file in \
         the config, the service writes the file itself, and an existing file is replaced when the service has \
         accepted the session (it is emptied before if it has another owner, another group than new files, a \
         list of access rights or a hard link, or if it is mounted, or no file can be created beside it). With \
         output_path the service also creates the file, with your rights; a \
         relative path begins in the directory of this program.",
    ),
    Text(
        "If _FILE_ is a named pipe, its reader may come later: the trace waits for it. A reader that \
         leaves before the end is a failure.",
    ),
    Text(
        "As usual for long options, they can be abbreviated. If an option is repeated, the last one counts.",
    ),
];

const LIGHT: &[Block] = &[Text(
    "Without *-c*, options and words make the config. A word with a slash is an ftrace event \
     (sched/sched_switch), other words are categories of events (sched, freq, disk); a word that is no category is \
     refused with those that are, and *tracebox* *doctor* says how many events of each this kernel has. What this user \
     may not record is left out, and a line says why; with *--strict* that is a failure. Durations are numbers with \
     ms, s, m or h, sizes are numbers with kb, mb or gb (or k, m, g). The defaults are *-t* 10s and *-b* 32mb. \
     With *-s* the service writes the file while it records, and stops at that size.",
)];

const TRIGGERS: &[Block] = &[Text(
    "A session whose config has a trigger_config waits for triggers. *trigger_perfetto*(1) and producers fire \
     them. In START_TRACING mode the first trigger starts the recording, in STOP_TRACING mode it stops it. In \
     CLONE_SNAPSHOT mode each trigger writes a snapshot while the recording continues: the first to _FILE_.0, \
     the next to _FILE_.1, and so on; nothing goes to _FILE_ itself: a new one is removed at the end, an old one \
     is left alone. With *--no-clobber*, numbers of existing files are skipped. A config with \
     activate_triggers records nothing: *perfetto* fires those triggers and exits.",
)];

const DETACHED: &[Block] = &[Text(
    "With *--detach* the session continues in the service after perfetto has exited. Its config must have \
     write_into_file. *--is_detached* says whether it is still there, *--attach* takes it over and \
     waits for its end, and *--attach* with *--stop* ends it. A session belongs to its user: other users do \
     not find it.",
)];

const CLONES: &[Block] = &[
    Text(
        "*--clone* and *--clone-by-name* write what a running session has recorded so far; the session \
         continues. *--clone* -1 takes the session with the highest bugreport_score. *--clone-for-bugreport* \
         copies without the trace filter of the session. *--query* prints the ids and names of sessions, what they \
         have lost so far, producers and data sources, and the accounts of users: what each has of the service, and \
         how much it may have. Users other than root and that of the service see their account alone.",
    ),
    Text(
        "*--save-for-bugreport* writes a copy of the running session with the highest bugreport_score to \
         systrace.pftrace in the directory TMPDIR (or /tmp). Without such a session it fails. \
         *--save-all-for-bugreport* writes a copy of each running session with a score, the highest first, \
         under the bugreport_filename of its config. If an earlier copy has that name, _1, _2 and so on are \
         added. Without such a session it succeeds.",
    ),
];

const SIGNALS: &[Block] = &[Text(
    "SIGINT, SIGTERM and SIGHUP end the recording: producers commit the data they hold, and the trace is written \
     whole. A second signal, a second or more later, gives up; whole packets that were written stay. \
     The first signal gives up a copy of a session.",
)];

const EXIT: &[Block] = &[List(&[
    (
        "0",
        "Success: the trace is written, the session was found, the service received all triggers.",
    ),
    (
        "1",
        "Failure: options that do not go together, a config that is not valid, no service, an error of the \
         service (it is printed), a service that went away, a file that cannot be written, a snapshot \
         that failed. With *-D*: an error before all data sources had started.",
    ),
    (
        "2",
        "*--attach* and *--is_detached*: there is no session with that key. *-D*: not all data sources \
         had started after 30 seconds, or one was refused; the recording continues.",
    ),
    (
        "3",
        "*--strict*: data was lost, or the service cannot tell, or the search of the trace failed or was ended; \
         the trace is written. Or a data source did not record all the time; if *tracebox* itself does not have it, \
         there is no trace.",
    ),
    ("130", "Interrupted before the trace was whole."),
])];

const ENVIRONMENT: &[Block] = &[List(&[
    (
        "PERFETTO_CONSUMER_SOCK_NAME",
        "The socket of the service for consumers: a path, _@name_ for an abstract socket, or _host:port_. \
         Without it: /run/perfetto/traced-consumer.sock if /run/perfetto can be entered, else \
         /tmp/perfetto-consumer.",
    ),
    (
        "PERFETTO_PRODUCER_SOCK_NAME",
        "The socket of the service for producers. *traced* takes several, separated by commas. Without it: \
         /run/perfetto/traced-producer.sock, else /tmp/perfetto-producer.",
    ),
    ("TMPDIR", "The directory of copies for bug reports and of private sockets, instead of /tmp."),
    (
        "TRACED_NOTIFY_FD, TRACED_PROBES_NOTIFY_FD",
        "An open descriptor: the daemon writes 1 to it when it is ready.",
    ),
    (
        "LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID, NOTIFY_SOCKET",
        "Set by *systemd*(1): *traced* uses the sockets that systemd has opened, and tells it when it is ready.",
    ),
    (
        "PERFETTO_MACHINE_NAME",
        "The name of this machine in traces, instead of that of its kernel (Linux).",
    ),
    (
        "XDG_RUNTIME_DIR",
        "In its directory tracing-probes, the data sources of a user who is not root note what they change in the \
         kernel. Without it: /tmp/tracing-probes-UID.",
    ),
])];

const FILES: &[Block] = &[List(&[
    ("/run/perfetto/", "The directory of the sockets, if it exists."),
    ("/tmp/perfetto-producer, /tmp/perfetto-consumer", "The sockets otherwise."),
    ("SOCKET.lock", "Beside each socket: *traced* holds a lock on it while it listens."),
    (
        "/run/tracing-probes/",
        "What the data sources of root change in the kernel is noted there before, and put back after a kill.",
    ),
])];

const PERFETTO_EXAMPLES: &[Block] = &[
    Text("Record with a config, and fail if data was lost:"),
    Code("perfetto -c config.pbtx --txt -o trace.pftrace --strict"),
    Text("Write the trace into a pipe:"),
    Code("perfetto -c config.pbtx --txt -o - | zstd > trace.pftrace.zst"),
    Text("Start a recording that continues in the service, and end it:"),
    Code(
        "perfetto -c long.pbtx --txt -o long.pftrace --detach=long\nperfetto --attach=long --stop",
    ),
    Text("Print the names of all sessions:"),
    Code("perfetto --query --json | jq -r '.tracing_sessions[].unique_session_name'"),
];

const TRACEBOX: &[Block] = &[
    Text(
        "*tracebox* contains all programs. If its first argument or its own name is that of a program, it runs \
         this program. Otherwise it takes the options of *perfetto*(1), and records with a service and data \
         sources of its own: nothing has to run before.",
    ),
    Text(
        "Without a config and without events it records five seconds of processes, processors, memory, \
         disks and pressure. With events it records those for ten seconds, as *perfetto*(1) does in light mode.",
    ),
    Text(
        "Other programs can be recorded, too, if the service of *tracebox* listens for them. It listens where \
         PERFETTO_PRODUCER_SOCK_NAME and PERFETTO_CONSUMER_SOCK_NAME say, if they are set. With \
         *--system-sockets* it listens where *traced*(8) would. To record with a service that runs already, \
         use *tracebox* *perfetto*.",
    ),
];

const PROGRAMS: &[Block] = &[List(&[
    ("perfetto", "Records with a running traced; see *perfetto*(1)."),
    ("record", "Records while a command runs; see *tracebox-record*(1)."),
    ("trace", "Prints a trace as text; see *tracebox-trace*(1)."),
    ("lint", "Finds mistakes in a trace; see *tracebox-lint*(1)."),
    ("stats", "Says what a trace consists of; see *tracebox-stats*(1)."),
    (
        "doctor",
        "Says what can be recorded here, and what mends the rest; see *tracebox-doctor*(1).",
    ),
    ("trigger_perfetto", "Fires triggers; see *trigger_perfetto*(1)."),
    ("traced", "The tracing service; see *traced*(8)."),
    ("traced_probes", "The data sources of this machine; see *traced_probes*(8)."),
    (
        "install-units",
        "Installs systemd units of traced and traced_probes; see *tracebox-install-units*(8).",
    ),
    ("completions SHELL", "Prints completions for bash, elvish, fish, powershell or zsh."),
    ("man PROGRAM", "Prints a manual page."),
])];

const TRACEBOX_EXAMPLES: &[Block] = &[
    Code("tracebox -t 3s -o machine.pftrace"),
    Code("tracebox record -o build.pftrace -- cargo build"),
    Code("tracebox trace events build.pftrace | less"),
];

const RECORD: &[Block] = &[Text(
    "Records while _COMMAND_ runs, with a service of its own on private sockets that the command finds in \
     its environment. The command starts when all data sources have started, or after five seconds. The \
     recording ends with the command. SIGINT, SIGTERM and SIGHUP are passed on to it, from the third one on \
     as SIGKILL. Without a config it records processes, system counters, and track events of the command. If this \
     user may record the kernel (see *tracebox-doctor*(1)), it also records when threads of the command run, and what \
     wakes them up; of other processes only that they take a processor from the command or give it back. \
     *--no-sched* leaves that out.",
)];

const RECORD_EXIT: &[Block] = &[List(&[
    ("the command's", "The command ran. If a signal killed it: 128 and the number of the signal."),
    (
        "3",
        "*--strict*: data was lost, or the service cannot tell, whatever the command's code is. A line says \
           what that is if it is not 0.",
    ),
    ("125", "The recording failed."),
    ("126", "The command could not be run."),
    ("127", "There is no such command."),
    ("130", "Interrupted before the command ran, or twice after the command ended."),
])];

const TRACE: &[Block] = &[
    Text(
        "*tracebox* *trace* *events* prints the events of a trace, one in a line, in the order of time; see \
         *tracebox-trace-events*(1).",
    ),
    Text(
        "*tracebox* *trace* *print* prints the packets of a trace as text, one at a time, however long the trace \
         is. Compressed packets are unpacked. Fields that the schema does not know are shown by number. Without \
         *-p*, the last line says how many packets there are.",
    ),
];

const TRACE_EXIT: &[Block] = &[List(&[
    ("0", "All of the file was understood."),
    ("1", "Something was not, or the trace has no packet in the range. One line says why."),
])];

const TRACE_EXAMPLES: &[Block] = &[
    Code("tracebox trace print -p 10..20 trace.pftrace"),
    Code("tracebox trace print -1 trace.pftrace | grep sched_switch"),
];

const EVENTS: &[Block] = &[
    Text(
        "Prints the events of a trace, one in a line, in the order of time, and in the order of the file where \
         times are equal. A line has the time in seconds since the first event; the process and its id, and the thread \
         and its id or the names of the track; the kind; the name; categories; the duration; arguments; flows; \
         the place in the source. The kinds are *begin*, *end*, *instant*, *counter*, *state*, *log*, *legacy* (an \
         event of the old form, with its phase) and *lost* (packets are missing before the next line of that \
         sequence). Names are indented by the slices that are open on their track. A begin has the duration if the \
         end is in the range that is shown.",
    ),
    Text(
        "The file is read twice or more often: once to know all tracks and the order, then for the lines. Memory does \
         not depend on its length; if the events do not fit, the file is read again for the later ones, at most 100 \
         times. A pipe is copied to a file in _TMPDIR_ first. Control characters of names are escaped. Texts are cut \
         off after 4096 characters, the arguments of an event after 64 KiB: … stands for the rest.",
    ),
    Text(
        "A _PATTERN_ is a part of a name, or a glob of all of it, with an asterisk for any text and ? for any \
         character. Case matters. An option that is given several times asks for one of its patterns.",
    ),
];

const EVENTS_JSON: &[Block] = &[
    Text(
        "With *--json* each line is an object. Fields that do not apply are absent. Flows and uuids are texts, because \
         numbers of 64 bits lose digits in programs that only have doubles.",
    ),
    List(&[
        ("time_ns, timestamp_ns", "The time since the first event, and that of the trace's clock."),
        (
            "packet, sequence, machine",
            "The packet, as *tracebox* *trace* *print* counts, and its sequence.",
        ),
        ("pid, process, tid, thread", "Ids and names."),
        (
            "track_uuid, track",
            "The track, and the names of it and of those above it, the outermost first.",
        ),
        ("kind, phase, name, categories", "What happened."),
        ("depth, duration_ns", "Slices around it, and how long the slice took."),
        (
            "value, unit, counters",
            "Of a counter, and of further ones at that moment (name, value, unit).",
        ),
        (
            "args, flows, end_flows, correlation_id",
            "Arguments, and the ids of flows that lead on and that end.",
        ),
        (
            "priority, message, file, function, line",
            "Of a line of a log, and the place in the source.",
        ),
        ("is_cut", "Something is left out because it is too long."),
    ]),
];

const EVENTS_EXIT: &[Block] = &[List(&[
    ("0", "All of the file was understood."),
    (
        "1",
        "Something was not: events are left out, or the file cannot be read to its end. What could be read is \
         printed, and lines on stderr say what is missing.",
    ),
])];

const EVENTS_EXAMPLES: &[Block] = &[
    Code("tracebox trace events trace.pftrace | less"),
    Code(
        "tracebox trace events --thread worker --category net --from 1.5s --to 1.6s trace.pftrace",
    ),
    Code(
        "tracebox trace events --json trace.pftrace | jq 'select(.duration_ns > 1000000) | .name'",
    ),
];

const LINT: &[Block] = &[Text(
    "*tracebox* *lint* reads a trace once and finds what its readers drop, refuse or confuse: events without a \
     sequence or a clock, unknown tracks, slices that cross, packets after a loss, and so on. Each finding is a \
     line with the packet, the byte, the severity (note, warning, error, fatal), a name and what to do. At most 64 \
     findings of one packet are shown; all count. Memory does not depend on the length of the trace. *--json* lists \
     the first 10,000 findings, or fewer if the paths of their tracks are long; the values of tracks, flows, iids \
     and times are texts, because numbers of 64 bits lose digits in programs that only have doubles.",
)];

const LINT_EXIT: &[Block] = &[List(&[
    ("0", "There are no findings of the severity of *--fail-on* or worse."),
    ("1", "There are, or the trace has no packet, or the command line is wrong."),
    ("2", "The file cannot be read, or not to its end. One line says why."),
])];

const STATS: &[Block] = &[Text(
    "*tracebox* *stats* counts the packets of a trace by what they carry and by sequence, its losses, the time from \
     the first to the last event, and the slices by name. LOST has what the service counted as lost while it \
     recorded, and the ledger of our service: who lost something, why and how much. A table shows the 20 largest \
     rows of each part. The JSON of *--json* has all kinds and sequences, and the 20 names of slices with the most \
     time.",
)];

const STATS_EXIT: &[Block] = &[List(&[
    ("0", "All of the file was counted."),
    ("1", "The command line is wrong."),
    ("2", "The file cannot be read, or a part of it. The rest was counted, and one line says why."),
])];

const SIMPLE_EXIT: &[Block] = &[List(&[
    ("0", "Success, also after SIGINT or SIGTERM."),
    ("1", "Failure. One line says why."),
])];

const TRIGGER: &[Block] = &[Text(
    "Fires triggers. Sessions whose config has a trigger of that name start, stop or write a snapshot; see \
     TRIGGERS in *perfetto*(1). The service ignores names that no session waits for. With *--wait* it waits for \
     a service if there is none, for scripts that run while the machine starts.",
)];

const TRIGGER_EXIT: &[Block] = &[List(&[
    ("0", "The service received all triggers, whether or not a session waits for them."),
    ("1", "No trigger was named, there is no service, or it did not answer in ten seconds."),
])];
