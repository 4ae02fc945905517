use tracing_probes::FtraceRecords;

use super::*;
use crate::doctor::facts::{
    Answer, Machine, Owner, Process, Records, Service, Socket, Tracefs, TracefsState, User,
    capability,
};
use crate::doctor::tests::{good, process};

/// Facts of a machine where everything works, with one change; then the finding of one check.
fn check(name: &str, edit: impl FnOnce(&mut Facts)) -> Finding {
    let mut facts = good();
    edit(&mut facts);
    findings(&facts).into_iter().find(|finding| finding.check == name).unwrap()
}

fn is(finding: &Finding, status: Status, text: &str, command: Option<&str>) {
    assert_eq!(finding.status, status, "{finding:?}");
    assert!(finding.text.contains(text), "{finding:?}");
    assert_eq!(finding.remedy.as_ref().map(|remedy| remedy.command.as_str()), command);
}

const RESET: Option<&str> = Some("sudo tracebox --reset-ftrace");

#[test]
fn all_works() {
    let findings = findings(&good());
    assert!(
        findings.iter().all(|f| f.status == Status::Works && f.remedy.is_none()),
        "{findings:#?}"
    );
}

/// Whatever does not answer: there is a finding of each check, in the same order.
#[test]
fn the_checks_are_always_the_same() {
    let names = |facts: &Facts| findings(facts).iter().map(|f| f.check).collect::<Vec<_>>();
    let silent = Facts { producer: None, consumer: None, tracefs: None, machine: None, ..good() };
    assert_eq!(names(&silent), names(&good()));
    let broken = findings(&silent).into_iter().filter(|f| f.status == Status::Broken);
    assert_eq!(broken.count(), 12);
}

#[test]
fn sockets() {
    let of = |edit: &dyn Fn(&mut Socket)| {
        check("consumer-socket", |facts| edit(facts.consumer.as_mut().unwrap()))
    };
    let closed = |mode, gid, group: Option<&str>| {
        let file = Owner { uid: 3, gid, mode, group: group.map(str::to_owned) };
        move |socket: &mut Socket| {
            (socket.is_open, socket.file) = (false, Some(file.clone()));
        }
    };
    let gone = of(&|socket| socket.is_served = false);
    is(&gone, Status::Absent, "its service has ended", None);
    let none = of(&|socket| (socket.is_served, socket.file) = (false, None));
    is(&none, Status::Absent, "nothing listens at /s, where recorders connect", None);
    is(&of(&|socket| socket.processes.clear()), Status::Works, "a process of another user", None);
    is(&of(&|socket| socket.is_remote = true), Status::Unknown, "another machine", None);
    let join = "sudo usermod --append --groups perfetto \"$(id -un)\"";
    is(&of(&closed(0o660, 9, Some("perfetto"))), Status::Limited, "mode 0660", Some(join));
    // A group without the right does not help, and that of root has too many.
    let root = Some("sudo tracebox perfetto --query");
    is(&of(&closed(0o600, 9, Some("perfetto"))), Status::Limited, "user 3", root);
    is(&of(&closed(0o660, 0, Some("root"))), Status::Limited, "group 0", root);
    let producer = check("producer-socket", |facts| {
        closed(0o600, 9, None)(facts.producer.as_mut().unwrap());
    });
    is(&producer, Status::Limited, "may not connect", Some("sudo chmod 0666 /s"));
}

/// At a default socket in `/tmp`, programs trust root and their own user alone.
#[test]
fn services_of_other_users() {
    let of = |owner: u32, uid: u32, trusted_by| {
        check("consumer-socket", |facts| {
            facts.user.uid = uid;
            let socket = facts.consumer.as_mut().unwrap();
            socket.file = Some(Owner { uid: owner, mode: 0o666, ..Owner::default() });
            socket.trusted_by = trusted_by;
        })
    };
    let variable = Some("PERFETTO_CONSUMER_SOCK_NAME");
    let export = Some("export PERFETTO_CONSUMER_SOCK_NAME=/s");
    is(
        &of(1000, 0, variable),
        Status::Limited,
        "of user 1000: our programs of user 0 do not",
        export,
    );
    is(&of(1000, 1001, variable), Status::Limited, "programs of user 1001 do not", export);
    for (owner, uid, variable) in [(0, 1000, variable), (1000, 1000, variable), (1000, 0, None)] {
        is(&of(owner, uid, variable), Status::Works, "this user may connect", None);
    }
    // The probes of root are told the address, also if this user needs no variable.
    let probes = |owner: u32| {
        check("data-sources", |facts| {
            facts.user.uid = 1000;
            facts.service = Service::Answers(Answer::default());
            let socket = facts.producer.as_mut().unwrap();
            socket.file = Some(Owner { uid: owner, mode: 0o666, ..Owner::default() });
            socket.trusted_by = Some("PERFETTO_PRODUCER_SOCK_NAME");
        })
    };
    let start = Some("sudo env PERFETTO_PRODUCER_SOCK_NAME=/s tracebox traced_probes --background");
    is(&probes(1000), Status::Limited, "no traced_probes", start);
    // But not to trust somebody else.
    let start = Some("sudo tracebox traced_probes --background");
    is(&probes(1001), Status::Limited, "no traced_probes", start);
}

#[test]
fn the_service() {
    let of = |service: Service| check("service", |facts| facts.service = service);
    is(&of(Service::Unasked), Status::Unknown, "may not connect", None);
    let start = "tracebox traced --background && tracebox traced_probes --background";
    let absent = check("service", |facts| {
        facts.consumer.as_mut().unwrap().is_served = false;
        facts.service = Service::Unasked;
    });
    is(&absent, Status::Absent, "no service runs", Some(start));
    is(&of(Service::Activated), Status::Works, "first connection", None);
    is(&of(Service::Failed("no".into())), Status::Broken, "does not answer: no", None);
    let kill = Some("sudo kill -KILL 7");
    is(&of(Service::Silent(2000)), Status::Broken, "for 2000 ms: traced (pid 7)", kill);
    let stopped = check("service", |facts| {
        facts.consumer.as_mut().unwrap().processes[0].is_stopped = true;
        facts.service = Service::Silent(2000);
    });
    is(&stopped, Status::Broken, "stopped by a signal", Some("sudo kill -CONT 7"));
    let hidden = check("service", |facts| {
        facts.consumer.as_mut().unwrap().processes.clear();
        facts.service = Service::Silent(2000);
    });
    is(&hidden, Status::Broken, "has not answered", Some("sudo tracebox doctor"));
    let refused = Answer { refused: vec![("files", 2), ("clones", 3)], ..Answer::default() };
    let refused = of(Service::Answers(refused));
    let query = Some("tracebox perfetto --query");
    is(&refused, Status::Limited, "2 of files and 3 of clones", query);
}

#[test]
fn data_sources() {
    let of = |service: Service| check("data-sources", |facts| facts.service = service);
    let start = Some("sudo tracebox traced_probes --background");
    is(&of(Service::Answers(Answer::default())), Status::Limited, "no traced_probes", start);
    is(&of(Service::Silent(1)), Status::Unknown, "no service answers", None);
}

fn tracefs(check_name: &str, edit: impl FnOnce(&mut Tracefs)) -> Finding {
    check(check_name, |facts| edit(facts.tracefs.as_mut().unwrap()))
}

#[test]
fn the_files_of_tracefs() {
    let mount = Some("sudo mount -t tracefs tracefs /sys/kernel/tracing");
    is(&tracefs("tracefs", |t| t.path = None), Status::Limited, "not mounted", mount);
    let none = tracefs("tracefs", |t| (t.path, t.is_in_kernel) = (None, false));
    is(&none, Status::Limited, "this container, has none", None);
    let remount = Some("sudo mount -o remount,rw /sys/kernel/tracing");
    let read_only = tracefs("tracefs", |t| (t.is_read_only, t.closed) = (true, vec!["x".into()]));
    is(&read_only, Status::Limited, "mounted read-only", remount);
    let closed = tracefs("tracefs", |t| t.closed = vec!["tracing_on".into()]);
    let own = Some("sudo chown -R \"$(id -u)\" /sys/kernel/tracing");
    is(&closed, Status::Limited, "user 0 may not use tracing_on in it", own);
    let all = tracefs("tracefs", |t| t.closed = vec!["/sys/kernel/tracing".into()]);
    is(&all, Status::Limited, "user 0 may not enter it", own);
    for name in ["ftrace-in-use", "events", "trace-clock"] {
        is(&tracefs(name, |t| t.state = None), Status::Unknown, "may not read tracefs", None);
    }
}

#[test]
fn who_uses_ftrace() {
    let of = |edit: &dyn Fn(&mut TracefsState), records: Records| {
        tracefs("ftrace-in-use", |tracefs| {
            edit(tracefs.state.as_mut().unwrap());
            tracefs.records = records;
        })
    };
    let none = || Records::Seen { files: Vec::new(), holder: None };
    let on =
        |state: &mut TracefsState| (state.enabled, state.enabled_count) = (vec!["a:b".into()], 4);
    is(
        &of(&|state| state.tracer = "blk".into(), none()),
        Status::Limited,
        "the tracer `blk`",
        RESET,
    );
    is(&of(&on, none()), Status::Limited, "left its settings: 4 events are on (a:b, ...)", RESET);
    let ours = Records::Seen { files: Vec::new(), holder: Some(process(9, "traced_probes")) };
    is(&of(&on, ours.clone()), Status::Limited, "traced_probes (pid 9) records", None);
    // A daemon that waits for sessions disturbs nobody.
    is(&of(&|_| (), ours), Status::Works, "nobody records", None);
    // A recording of markers alone has no event switched on.
    let claimed = tracefs("ftrace-in-use", |tracefs| {
        (tracefs.records, tracefs.claimed_by) = (none(), Some(process(9, "tracebox")));
    });
    is(&claimed, Status::Limited, "tracebox (pid 9) has locked tracefs: it records", None);
}

#[test]
fn what_killed_recordings_left() {
    let of = |holder: Option<Process>, files: &[&str]| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        tracefs("ftrace-leftovers", |tracefs| tracefs.records = Records::Seen { files, holder })
    };
    is(&of(None, &["root.ftrace"]), Status::Broken, "of this user was killed", RESET);
    // The user is not root.
    let own = check("ftrace-leftovers", |facts| {
        facts.user.uid = 1000;
        let files = vec!["root.ftrace".to_owned()];
        facts.tracefs.as_mut().unwrap().records = Records::Seen { files, holder: None };
    });
    is(&own, Status::Broken, "of this user was killed", Some("tracebox --reset-ftrace"));
    let none = "no recording of this user was killed";
    is(&of(Some(process(9, "tracebox")), &["root.ftrace"]), Status::Works, none, None);
    is(&of(None, &[]), Status::Works, none, None);
    let hidden = tracefs("ftrace-leftovers", |tracefs| tracefs.records = Records::Hidden);
    is(&hidden, Status::Unknown, "records of killed recordings", None);
}

/// Root sees them, and their users alone put them back.
#[test]
fn what_killed_recordings_of_other_users_left() {
    let of = |uid: u32, others: Option<&[(u32, &str)]>| {
        check("ftrace-leftovers", |facts| {
            facts.user.uid = uid;
            facts.records_of_others = others.map(|others| {
                let records = |(uid, folder): &(u32, &str)| FtraceRecords {
                    uid: *uid,
                    folder: folder.into(),
                    count: 2,
                };
                others.iter().map(records).collect()
            });
        })
    };
    let one = of(0, Some(&[(7, "/tmp/tracing-probes-7")]));
    let reset = "sudo -u '#7' tracebox --reset-ftrace";
    is(&one, Status::Broken, "those of user 7 (2 records in /tmp/tracing-probes-7)", Some(reset));
    assert!(one.text.contains("when they record the kernel again"), "{one:?}");
    // Without its variable the program would not find the folder.
    let two = of(0, Some(&[(8, "/run/user/8/tracing-probes"), (9, "/tmp/tracing-probes-9")]));
    let reset = "sudo -u '#8' env XDG_RUNTIME_DIR=/run/user/8 tracebox --reset-ftrace";
    is(
        &two,
        Status::Broken,
        "of user 8 (2 records in /run/user/8/tracing-probes), user 9 (",
        Some(reset),
    );
    let many: Vec<_> = (1..=20).map(|uid| (uid, "/f")).collect();
    let many = of(0, Some(&many));
    assert!(many.text.contains("user 8 (2 records in /f) and 12 more"), "{many:?}");
    // Its own come first.
    let both = check("ftrace-leftovers", |facts| {
        let files = vec!["root.ftrace".to_owned()];
        facts.tracefs.as_mut().unwrap().records = Records::Seen { files, holder: None };
        let records = FtraceRecords { uid: 7, folder: "/f".into(), count: 1 };
        facts.records_of_others = Some(vec![records]);
    });
    is(&both, Status::Broken, "of this user was killed", RESET);
    assert!(both.text.contains("of user 7 (1 record in /f)"), "{both:?}");
    is(&of(0, Some(&[])), Status::Works, "and no other user is known to have left any", None);
    is(&of(0, None), Status::Unknown, "did not answer", None);
    // Another user than root cannot know.
    let own = of(7, Some(&[]));
    assert_eq!(own.text, "no recording of this user was killed");
}

#[test]
fn events_and_clocks() {
    let none = tracefs("events", |t| t.state.as_mut().unwrap().categories = vec![("sched", 0, 9)]);
    is(&none, Status::Limited, "no event of any category", None);
    let clock = tracefs("trace-clock", |t| t.state.as_mut().unwrap().clocks = vec!["local".into()]);
    is(&clock, Status::Limited, "it has local", None);
}

fn machine(name: &str, user: User, edit: impl FnOnce(&mut Machine)) -> Finding {
    check(name, |facts| {
        facts.user = user;
        edit(facts.machine.as_mut().unwrap());
    })
}

#[test]
fn the_machine() {
    let nobody = || User { uid: 1000, ..User::default() };
    let root = || User { capabilities: u64::MAX, ..User::default() };
    let source = |better: &str| {
        machine("clock-source", root(), |m| {
            (m.clock_source, m.clock_sources) = (Some("hpet".into()), vec![better.to_owned()]);
        })
    };
    let tee =
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    is(&source("tsc"), Status::Limited, "a system call", Some(tee));
    is(&source("hpet"), Status::Limited, "a system call", None);

    let shown = Some("sudo mount -o remount,hidepid=0 /proc");
    is(&machine("processes", nobody(), |m| m.is_hidepid = true), Status::Limited, "hidepid", shown);
    is(&machine("processes", root(), |m| m.is_hidepid = true), Status::Works, "all", None);
    is(&machine("processes", nobody(), |_| ()), Status::Works, "may miss very short ones", None);

    let hidden = |user| {
        machine("kernel-symbols", user, |m| (m.has_symbols, m.kptr_restrict) = (false, Some(2)))
    };
    let sysctl = Some("sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
    is(&hidden(nobody()), Status::Limited, "kptr_restrict is 2", sysctl);
    is(&hidden(root()), Status::Works, "for a moment", None);

    let paranoid =
        |user, value| machine("perf-events", user, |m| m.perf_event_paranoid = Some(value));
    let lower = Some("sudo sysctl kernel.perf_event_paranoid=0");
    is(&paranoid(nobody(), 1), Status::Absent, "no CAP_PERFMON", lower);
    is(&paranoid(nobody(), 0), Status::Works, "may sample", None);
    let perfmon = User { capabilities: 1 << capability::PERFMON, ..nobody() };
    is(&paranoid(perfmon, 4), Status::Works, "may sample", None);

    // One CPU: 40 MiB for buffers.
    let smaller = Some("tracebox -b 4mb -t 3s -o machine.pftrace");
    let memory = |kb| machine("memory", root(), |m| (m.memory_kb, m.cpus) = (Some(kb), 1));
    is(&memory(80 * 1024 - 1), Status::Limited, "40.0 MiB", smaller);
    is(&memory(80 * 1024), Status::Works, "80.0 MiB are free", None);
}
