//! The service and its sockets.

use super::finding::Status::{Absent, Broken, Limited, Unknown, Works};
use super::finding::{Finding, list};
use crate::doctor::facts::{Facts, Process, Service, Socket};

const PRODUCER: &str = "producer-socket";

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    vec![
        socket(facts, "consumer-socket", facts.consumer.as_ref(), "recorders connect"),
        socket(facts, PRODUCER, facts.producer.as_ref(), "traced programs connect"),
        service(facts),
        data_sources(facts),
    ]
}

fn named(process: &Process) -> String {
    let stopped = if process.is_stopped { ", stopped by a signal" } else { "" };
    format!("{} (pid {}{stopped})", process.name, process.pid)
}

fn socket(facts: &Facts, check: &'static str, socket: Option<&Socket>, use_: &str) -> Finding {
    let Some(socket) = socket else { return Finding::silent(check, "the table of sockets") };
    let address = &socket.address;
    if socket.is_remote {
        let text = format!("{address} may be a socket of another machine");
        return Finding::new(check, Unknown, text);
    }
    if !socket.is_served {
        let text = match socket.file {
            Some(_) => format!("{address} is there, but nothing listens: its service has ended"),
            None => format!("nothing listens at {address}, where {use_}"),
        };
        return Finding::new(check, Absent, text);
    }
    let who = match &socket.processes[..] {
        [] => "a process of another user".to_owned(),
        processes => list(&processes.iter().map(named).collect::<Vec<_>>()),
    };
    if let Some((owner, variable)) = socket.distrusted_by(facts.user.uid) {
        let text = format!(
            "{who} listens at {address}, which is of user {owner}: our programs of user {} do not connect to services \
             of other users there, because any user can listen in /tmp; those of C++ do",
            facts.user.uid
        );
        return Finding::new(check, Limited, text).mend(
            format!("export {variable}={address}"),
            "makes programs of this shell trust that user; safer: have traced started as root",
        );
    }
    if socket.is_open {
        let text = format!("{who} listens at {address}; this user may connect");
        return Finding::new(check, Works, text);
    }
    let owner = socket.file.clone().unwrap_or_default();
    let (uid, gid, mode) = (owner.uid, owner.gid, owner.mode);
    let finding = Finding::new(
        check,
        Limited,
        format!(
            "{who} listens at {address}, and user {} may not connect: the socket is of user {uid} and group {gid}, \
             mode {mode:04o}",
            facts.user.uid
        ),
    );
    match owner.group.filter(|_| mode & 0o020 != 0 && gid != 0) {
        Some(group) => finding.mend(
            format!("sudo usermod --append --groups {group} \"$(id -un)\""),
            "makes this user a member of that group, from the next login on",
        ),
        None if check == PRODUCER => finding.mend(
            format!("sudo chmod 0666 {address}"),
            "lets programs of all users be traced until that service ends",
        ),
        None => finding.mend(
            format!("sudo {} perfetto --query", facts.program),
            "root may connect: run recorders of that service with sudo",
        ),
    }
}

fn service(facts: &Facts) -> Finding {
    const CHECK: &str = "service";
    let program = &facts.program;
    let processes = facts.consumer.as_ref().map_or(&[][..], |socket| &socket.processes[..]);
    let start = format!("{program} traced --background && {program} traced_probes --background");
    match &facts.service {
        Service::Unasked => {
            let is_served = facts.consumer.as_ref().is_some_and(|socket| socket.is_served);
            if is_served {
                let text = "not asked, because this user may not connect to it";
                return Finding::new(CHECK, Unknown, text);
            }
            Finding::new(
                CHECK,
                Absent,
                "no service runs; `tracebox` and `tracebox record` need none, `perfetto` does",
            )
            .mend(start, "starts the service and the data sources of this machine, as this user")
        }
        Service::Activated => {
            let text = "systemd listens, and starts the service with the first connection";
            Finding::new(CHECK, Works, text)
        }
        Service::Silent(ms) => silent(program, processes, *ms),
        Service::Failed(why) => {
            Finding::new(CHECK, Broken, format!("the service does not answer: {why}"))
        }
        Service::Answers(answer) => {
            let version = match answer.version.as_str() {
                "" => "an old version",
                version => version,
            };
            let mut text = format!(
                "{version} answered after {} ms: {} producers, {} sessions",
                answer.ms, answer.producers, answer.sessions
            );
            if answer.refused.is_empty() {
                return Finding::new(CHECK, Works, text);
            }
            let refused = answer.refused.iter().map(|(name, count)| format!("{count} of {name}"));
            let refused = list(&refused.collect::<Vec<_>>());
            text.push_str(&format!(
                "; it has refused this user {refused}, because it had too many"
            ));
            Finding::new(CHECK, Limited, text).mend(
                format!("{program} perfetto --query"),
                "shows what this user has, and may have",
            )
        }
    }
}

fn silent(program: &str, processes: &[Process], ms: u64) -> Finding {
    let text = format!("the service accepts connections, and has not answered for {ms} ms");
    let Some(process) = processes.first() else {
        return Finding::new("service", Broken, text)
            .mend(format!("sudo {program} doctor"), "shows which process it is");
    };
    let finding = Finding::new("service", Broken, format!("{text}: {}", named(process)));
    match process.is_stopped {
        true => finding.mend(format!("sudo kill -CONT {}", process.pid), "lets it go on"),
        false => finding.mend(
            format!("sudo kill -KILL {}", process.pid),
            "ends it and its sessions; then start it again",
        ),
    }
}

fn data_sources(facts: &Facts) -> Finding {
    const CHECK: &str = "data-sources";
    let Service::Answers(answer) = &facts.service else {
        let is_absent = facts.consumer.as_ref().is_some_and(|socket| !socket.is_served);
        let status = if is_absent { Absent } else { Unknown };
        return Finding::new(
            CHECK,
            status,
            "no service answers, so none is known; `tracebox` has its own",
        );
    };
    let count = answer.data_sources.len();
    if answer.data_sources.iter().any(|name| name == "linux.process_stats") {
        let text = format!("the service has {count}: {}", list(&answer.data_sources));
        return Finding::new(CHECK, Works, text);
    }
    let text =
        "no traced_probes is connected: `perfetto` can record programs, but not this machine";
    // Root trusts a service of another user only where a variable names its socket. Only for this user's own service
    // that is proposed: who else listens there could command the probes of root.
    let trust = facts.producer.as_ref().and_then(|socket| {
        let (owner, variable) = socket.distrusted_by(0)?;
        (owner == facts.user.uid).then_some((socket, variable))
    });
    let trust = trust.map(|(socket, variable)| format!("env {variable}={} ", socket.address));
    Finding::new(CHECK, Limited, text).mend(
        format!("sudo {}{} traced_probes --background", trust.unwrap_or_default(), facts.program),
        "offers the data sources of this machine to the service",
    )
}
