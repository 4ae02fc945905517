use super::facts::{
    Answer, Machine, Owner, Process, Records, Service, Socket, Tracefs, TracefsState, User,
};
use super::*;

pub(super) fn process(pid: i32, name: &str) -> Process {
    Process { pid, name: name.to_owned(), is_stopped: false }
}

/// A machine where everything works.
pub(super) fn good() -> Facts {
    let socket = Socket {
        address: "/s".to_owned(),
        is_remote: false,
        trusted_by: None,
        file: Some(Owner::default()),
        is_open: true,
        is_served: true,
        processes: vec![process(7, "traced")],
    };
    let answer = Answer {
        version: "v1".to_owned(),
        ms: 3,
        data_sources: vec!["linux.process_stats".to_owned()],
        ..Answer::default()
    };
    let state = TracefsState {
        tracer: "nop".to_owned(),
        is_on: true,
        clocks: vec!["local".to_owned(), "boot".to_owned()],
        categories: vec![("gfx", 0, 9), ("sched", 16, 20)],
        ..TracefsState::default()
    };
    Facts {
        program: "tracebox".to_owned(),
        user: User { capabilities: u64::MAX, ..User::default() },
        producer: Some(socket.clone()),
        consumer: Some(socket),
        service: Service::Answers(answer),
        tracefs: Some(Tracefs {
            is_in_kernel: true,
            path: Some("/sys/kernel/tracing".to_owned()),
            state: Some(state),
            records: Records::Seen { files: Vec::new(), holder: None },
            ..Tracefs::default()
        }),
        records_of_others: Some(Vec::new()),
        machine: Some(Machine {
            clock_source: Some("tsc".to_owned()),
            has_symbols: true,
            memory_kb: Some(1 << 30),
            cpus: 1,
            ..Machine::default()
        }),
    }
}

#[test]
fn codes() {
    let mut facts = good();
    assert_eq!(code(&findings(&facts)), 0);
    // Without a service.
    facts.consumer.as_mut().unwrap().is_served = false;
    facts.service = Service::Unasked;
    assert_eq!(code(&findings(&facts)), 0);
    facts.service = Service::Silent(1);
    assert_eq!(code(&findings(&facts)), EXIT_BAD);
}

#[test]
fn as_lines() {
    let mut facts = good();
    facts.consumer.as_mut().unwrap().processes[0].name = "a\x1b[2Jb".to_owned();
    facts.tracefs.as_mut().unwrap().path = None;
    let text = lines(&findings(&facts));
    assert!(text.starts_with("works    consumer-socket   a\\"), "{text}");
    assert!(
        text.contains(
            "limited  tracefs           it is not mounted: events of the kernel (sched, freq, irq, ...) cannot be \
             recorded\n                           $ sudo mount -t tracefs tracefs /sys/kernel/tracing\n    \
             \x20                        (mounts it)\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("1 of 15 checks found something: tracefs.\n"), "{text}");
    assert!(lines(&findings(&good())).ends_with("\nAll that tracebox needs works.\n"));
}

#[test]
fn as_json() {
    let mut facts = good();
    facts.tracefs.as_mut().unwrap().path = None;
    let text = json(&facts, &findings(&facts));
    let begin = format!(
        "{{\n  \"format\": 1,\n  \"program_version\": \"{VERSION}\",\n  \"works\": false,\n  \"checks\": [\n    {{\n      \
         \"name\": \"consumer-socket\",\n      \"status\": \"works\",\n      \"text\": \"traced (pid 7) listens at /s; \
         this user may connect\"\n    }},"
    );
    assert!(text.starts_with(&begin), "{text}");
    let remedy = "\"command\": \"sudo mount -t tracefs tracefs /sys/kernel/tracing\",\n      \"effect\": \"mounts it\"\n";
    assert!(text.contains(remedy), "{text}");
    let end = "    {\n      \"name\": \"sched\",\n      \"events_here\": 16,\n      \"events_known\": 20\n    }\n  ]\n}\n";
    assert!(text.ends_with(end), "{text}");
    let names = [
        "consumer-socket",
        "producer-socket",
        "service",
        "data-sources",
        "rights",
        "tracefs",
        "ftrace-in-use",
        "ftrace-leftovers",
        "events",
        "trace-clock",
        "clock-source",
        "processes",
        "kernel-symbols",
        "perf-events",
        "memory",
    ];
    let found: Vec<&str> = findings(&facts).iter().map(|finding| finding.check).collect();
    assert_eq!(found, names);
}
