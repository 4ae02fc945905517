//! A daemon with little memory and few descriptors, besieged by hostile users, with honest users beside them.
//!
//! ```text
//!   quiet:   honest users ── traced
//!   siege:   honest users ── traced ── hostile users     a short time, then the whole time
//!   after:                   traced                      has what it had after the short time
//! ```
//!
//! Each user is a process of its own ([`honest`], [`mod@attack`]), over real sockets. Honest users check every byte of
//! what they get back, and measure how long they wait for answers. As root each process has a user of its own, and the
//! daemon and each user have shares of the processors, as systemd gives them to our unit and to slices of users;
//! otherwise all are one user, whose accounts they share, and only the data is checked.

pub mod attack;
mod cgroup;
mod folders;
pub mod honest;
pub mod memory;

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::daemon::{Daemon, Limits, Resources, state, wait_until};
use crate::{Outcome, Plan};
use attack::Seen;
use cgroup::{Cgroup, CpuShare, CpuWeight};
use folders::Folders;
use honest::Report;

/// Honest users. Two, as what one user loses another one must not.
const HONEST: [u32; 2] = [65_001, 65_002];
/// Hostile users. Three would leave each honest user a session or two, and the first connection: SECURITY.md says so.
const HOSTILE: [u32; 2] = [65_101, 65_102];
/// The user that sends small requests before. What the service refuses it from then on, it would refuse a hostile one.
const SMALL: u32 = 65_103;
/// Descriptors besides those of the honest users and the daemon's own.
const DESCRIPTORS_TO_SPARE: usize = 64;
/// Memory besides buffers and shared memory, as the daemon promises.
const EXTRA_BYTES: u64 = 64 << 20;
/// Memory that an allocator may hold back, KiB.
const SLACK_KB: u64 = 16 * 1024;
/// Threads of the daemon that close what peers passed: once started, they stay (`CLOSER_THREADS_MAX`).
const CLOSERS: usize = 32;
/// What the daemon gets of the processors: `CPUWeight` of `traced.service`.
const DAEMON_WEIGHT: CpuWeight = CpuWeight(500);
/// What a process that asks gets of them: as much, so that its times say little about the scheduler.
const ASKER_WEIGHT: CpuWeight = DAEMON_WEIGHT;
/// Longest time for the 999th of 1000 answers, and how many times that of the quiet run. The former holds also for a
/// program that has to wait for a processor when its answer has come.
const ANSWER_MAX: Duration = Duration::from_millis(100);
const ANSWER_TIMES_MAX: u32 = 10;
/// The quiet run and the first siege take a sixth of the time of the siege, and no longer than this.
const BEFORE_MAX: Duration = Duration::from_secs(60);
/// How often a line tells how far it is.
const PROGRESS: Duration = Duration::from_secs(60);
/// Below this, a difference says more about the machine than about the daemon.
const ANSWER_NOISE: Duration = Duration::from_millis(2);
/// The same for a short siege: other programs take most of the processors meanwhile, and the daemon is not optimised.
const SHORT_ANSWER_NOISE: Duration = Duration::from_millis(500);
/// How often the connection of a process may be refused for each session of the honest users, while hostile users take
/// the descriptors: it tries again. And how often beside that, in a run of few sessions.
const REFUSED_PER_SESSION: u64 = 3;
const REFUSED_MORE: u64 = 16;
/// No answer may take so long, whatever else the machine does.
const ANSWER_STUCK: Duration = Duration::from_secs(5);

/// Runs it with the daemon `program`.
pub fn run(program: &Path, plan: &Plan) -> Outcome {
    let baseline = Daemon::start(program, &Limits::default())?;
    let descriptors = baseline.resources()?.descriptors + honest::DESCRIPTORS * HONEST.len();
    baseline.stop()?;

    let [honest, hostile] = [(HONEST, honest::BUFFER_BYTES), (HOSTILE, attack::BUFFER_BYTES)]
        .map(|(users, bytes)| users.len() as u64 * bytes);
    let cgroup = Cgroup::make(honest + hostile + EXTRA_BYTES);
    match &cgroup {
        Ok(cgroup) => println!(
            "{} KiB of memory: {} for buffers and shared memory of honest users, {} of hostile ones, {} for the rest",
            cgroup.limit >> 10,
            honest >> 10,
            hostile >> 10,
            EXTRA_BYTES >> 10
        ),
        Err(reason) => {
            println!("SKIPPED a limit of memory ({reason}): the resident memory is checked instead")
        }
    }
    let folders = Folders::make()?;
    let limits = Limits {
        folder: Some(folders.root.join(folders::CLOSED)),
        descriptors: Some(descriptors + DESCRIPTORS_TO_SPARE),
        cgroup: cgroup.as_ref().ok().map(Cgroup::processes),
    };
    let daemon = Daemon::start(program, &limits)?;
    let share = CpuShare::give(daemon.pid(), DAEMON_WEIGHT);
    if let Err(reason) = &share {
        println!(
            "SKIPPED shares of the processors ({reason}): every thread competes with every other one"
        );
    }
    memory::run(&daemon, cgroup.as_ref())?;
    let outcome = besiege(&daemon, plan, &folders, cgroup.as_ref().ok());
    let (quiet, besieged) = outcome.map_err(|error| format!("{error}\n{}", daemon.log_end()))?;
    daemon.stop()?;
    drop(share);
    check_answers(&quiet, &besieged, plan)
}

/// The quiet run and the siege: what the honest users report of each.
fn besiege(
    daemon: &Daemon,
    plan: &Plan,
    folders: &Folders,
    cgroup: Option<&Cgroup>,
) -> Outcome<(Report, Report)> {
    let before = (plan.time / 6).min(BEFORE_MAX);
    let quiet = honest_users(daemon, before)?;
    let quiet_use = daemon.resources()?;
    println!("quiet: {quiet}\n  {quiet_use:?}");
    // The memory after a first siege is the baseline, as allocators hold some back.
    attack(daemon, plan, folders, before)?;
    let before = wait_as(daemon, &quiet_use, cgroup)?;
    let (besieged, during, seen) = attack(daemon, plan, folders, plan.time)?;
    println!("siege: {besieged}\n  {during:?}");
    let after = wait_as(daemon, &quiet_use, cgroup)?;
    println!("hostile data: {}", seen.text());
    if plan.is_timed {
        check_memory(&before, &after, cgroup)?;
        seen.check()?;
    } else {
        println!(
            "SKIPPED memory and hostile data (--untimed): the log of strace is in the control group of the daemon, and \
             sessions are so slow that none ends"
        );
    }
    if is_root() {
        println!("{} files of hostile users, and none of others", folders.check(&HOSTILE)?);
    }
    Ok((quiet, besieged))
}

/// Whether each process has a user of its own.
fn is_root() -> bool {
    os::process::effective_uid() == 0
}

/// Honest users beside hostile ones for `time`.
fn attack(
    daemon: &Daemon,
    plan: &Plan,
    folders: &Folders,
    time: Duration,
) -> Outcome<(Report, Resources, Seen)> {
    let attackers = hostile_users(daemon, plan, folders)?;
    let shares: Vec<_> =
        attackers.iter().map(|it| CpuShare::give(it.child.id(), CpuWeight::DEFAULT)).collect();
    let report = thread::scope(|scope| {
        let (_running, ended) = mpsc::channel();
        scope.spawn(move || tell_progress(daemon, time, &ended));
        honest_users(daemon, time)
    });
    let during = daemon.resources();
    let (mut all_attacked, mut seen) = (true, Seen::default());
    for Attacker { mut child, seen: told } in attackers {
        all_attacked &= matches!(child.try_wait(), Ok(None));
        let _ = child.kill();
        let _ = child.wait();
        seen.add(&told.join().unwrap_or_default());
    }
    drop(shares);
    if !all_attacked {
        return Err("a hostile user ended by itself".into());
    }
    Ok((report?, during?, seen))
}

/// Writes a line a minute until `ended` is closed.
fn tell_progress(daemon: &Daemon, time: Duration, ended: &mpsc::Receiver<()>) {
    let minutes = time.as_secs() / 60;
    for minute in 1.. {
        let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(PROGRESS) else { return };
        if let Ok(now) = daemon.resources() {
            eprintln!("{minute} of {minutes} minutes: {now:?}");
        }
    }
}

/// What the daemon has.
struct Held {
    resources: Resources,
    /// What the kernel charges its control group for, bytes: also what no mapping of the daemon shows.
    charged: Option<u64>,
}

/// Waits until the daemon has as few clients, descriptors and threads as in the quiet run, but for [`CLOSERS`].
fn wait_as(daemon: &Daemon, quiet: &Resources, cgroup: Option<&Cgroup>) -> Outcome<Held> {
    // One connection: those that were closed count until the daemon has closed them, too.
    let mut consumer = daemon.consumer()?;
    wait_until("the hostile users are forgotten", || {
        let Some(state) = state(&mut consumer, false)? else { return Ok(false) };
        let now = daemon.resources()?;
        let gone = state.producers.is_empty() && state.data_sources.is_empty();
        Ok(gone
            && now.descriptors <= quiet.descriptors + 1
            && now.threads <= quiet.threads + CLOSERS)
    })?;
    // Sessions that a hostile user detached stay until they end, as the protocol says.
    let state = consumer.query_service_state(true).map_err(|error| error.to_string())?;
    let resources = daemon.resources()?;
    let charged = cgroup.map(Cgroup::current).transpose()?;
    let detached = state.num_sessions.unwrap_or_default();
    println!("after: {resources:?}, {charged:?} bytes charged, {detached} detached sessions");
    Ok(Held { resources, charged })
}

fn check_memory(before: &Held, after: &Held, cgroup: Option<&Cgroup>) -> Outcome {
    if let Some(cgroup) = cgroup {
        println!("at most {} KiB of {} KiB", cgroup.peak()? >> 10, cgroup.limit >> 10);
    }
    let charged_kb = |held: &Held| held.charged.unwrap_or_default() >> 10;
    let resident = (after.resources.rss_kb, before.resources.rss_kb, "resident");
    let charged = (charged_kb(after), charged_kb(before), "charged");
    for (after, before, what) in [resident, charged] {
        let more = after.saturating_sub(before);
        if more > SLACK_KB {
            return Err(format!("the daemon keeps {more} KiB of hostile users, {what}"));
        }
    }
    Ok(())
}

fn check_answers(quiet: &Report, besieged: &Report, plan: &Plan) -> Outcome {
    if !is_root() {
        println!(
            "SKIPPED times, refusals, files, clones and detached sessions of honest users: they share one account, so \
             run this as root"
        );
        return Ok(());
    }
    check_times(quiet, besieged, plan)?;
    let refused_max = REFUSED_PER_SESSION * besieged.rounds + REFUSED_MORE;
    if besieged.refused > refused_max {
        let Report { refused, rounds, .. } = besieged;
        return Err(format!(
            "honest users: {refused} connections refused in {rounds} sessions, {refused_max} are allowed"
        ));
    }
    Ok(())
}

fn check_times(quiet: &Report, besieged: &Report, plan: &Plan) -> Outcome {
    if !plan.is_timed {
        return Ok(());
    }
    let (noise, most) = match plan.is_short {
        false => (ANSWER_NOISE, ANSWER_MAX),
        true => (SHORT_ANSWER_NOISE, Duration::MAX),
    };
    let most = (quiet.p999 * ANSWER_TIMES_MAX).clamp(noise, most);
    if besieged.p999 > most {
        return Err(format!("one of 1000 answers took {:?}, {most:?} are allowed", besieged.p999));
    }
    if !plan.is_short && besieged.seen_p999 > ANSWER_MAX {
        let seen = besieged.seen_p999;
        return Err(format!(
            "a program waited {seen:?} for one of 1000 answers and a processor, {ANSWER_MAX:?} are allowed"
        ));
    }
    if besieged.most > ANSWER_STUCK {
        return Err(format!("an answer took {:?}: the daemon stood still", besieged.most));
    }
    Ok(())
}

/// This program as another process, of user `uid` if this one may change its user.
fn process(uid: u32, words: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    if is_root() {
        command.uid(uid).gid(uid);
    }
    command
}

/// Honest users at work for `time`: what all of them report.
fn honest_users(daemon: &Daemon, time: Duration) -> Outcome<Report> {
    let (producers, consumers) = (daemon.producers.to_string(), daemon.consumers.to_string());
    let start = |(uid, what, weight): (u32, &str, CpuWeight)| {
        let words =
            [what, &producers, &consumers, &time.as_millis().to_string()].map(str::to_owned);
        let child = process(uid, &words).spawn();
        let child = child.map_err(|error| format!("an honest user: {error}"))?;
        Ok((CpuShare::give(child.id(), weight), child))
    };
    let both = HONEST
        .iter()
        .flat_map(|&uid| [(uid, "--honest", CpuWeight::DEFAULT), (uid, "--ask", ASKER_WEIGHT)]);
    let children = both.map(start).collect::<Outcome<Vec<_>>>()?;
    let mut all = Report::default();
    let mut failed = None;
    for (_share, child) in children {
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        match Report::parse(text.lines().last().unwrap_or_default()) {
            Some(report) if output.status.success() => all.add(&report),
            _ => failed = Some(format!("an honest user: {}: {text}", output.status)),
        }
    }
    failed.map_or(Ok(all), Err)
}

/// A hostile user, and the thread that reads what it has seen until it ends.
struct Attacker {
    child: Child,
    seen: JoinHandle<Seen>,
}

/// Starts the hostile users, and waits until each has begun.
fn hostile_users(daemon: &Daemon, plan: &Plan, folders: &Folders) -> Outcome<Vec<Attacker>> {
    let start = |&uid: &u32| {
        let folder = folders.root.to_string_lossy();
        let words =
            ["--attack", &daemon.producers.to_string(), &daemon.consumers.to_string(), &folder];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend([uid.to_string(), attack::large_memory(plan).to_string()]);
        let started = process(uid, &words).stderr(Stdio::null()).spawn();
        let mut child = started.map_err(|error| format!("a hostile user: {error}"))?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines.next().ok_or("a hostile user has not begun")?;
        let seen = thread::spawn(move || {
            lines.filter_map(|line| Seen::parse(&line)).last().unwrap_or_default()
        });
        Ok(Attacker { child, seen })
    };
    HOSTILE.iter().map(start).collect()
}

#[cfg(test)]
mod tests;
