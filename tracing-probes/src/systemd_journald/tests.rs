use std::process::Command;

use abi::sync::{Mutex, MutexGuard, lock};
use protos::{
    DataSourceConfig, SystemdJournaldConfig, SystemdJournaldEvent, TracePacket, TracePacketData,
};

use super::JournaldProbe;
use super::follow::Journal;
use crate::limits::JOURNAL_MAILBOX_BYTES_MAX;
use crate::probe::{Probe, Shared};
use crate::tests::{Packets, World};

/// Later than any test starts, microseconds.
const LATE_US: u64 = 9_000_000_000_000_000;

const MACHINE: &str = "00112233445566778899aabbccddeeff";

/// Puts a program in the place of `journalctl`.
fn install(world: &World, script: &str) {
    world.put("script", format!("#!/bin/sh\n{script}\n"));
    world.put("usr/bin/journalctl", "");
    // Not written by this process: a program that another test starts meanwhile has the file open for a moment, and
    // what is open for writing cannot be run.
    let folder = world.dir.path();
    let mut install = Command::new("install");
    install.arg("-m755").arg(folder.join("script")).arg(folder.join("usr/bin/journalctl"));
    assert!(install.status().unwrap().success());
}

/// A program that prints this and ends.
fn install_printing(world: &World, printed: &[u8]) {
    world.put("printed", printed);
    install(world, &format!("cat {}", world.dir.path().join("printed").display()));
}

fn entry(fields: &str) -> String {
    format!("__MONOTONIC_TIMESTAMP={LATE_US}\n_BOOT_ID=b007\n{fields}\n\n")
}

fn config(config: SystemdJournaldConfig) -> DataSourceConfig {
    DataSourceConfig { journald_config: Some(config), ..Default::default() }
}

/// Records until `journalctl` has ended, for instances with these configs.
fn record(world: &World, configs: &[DataSourceConfig]) -> Vec<Vec<TracePacket>> {
    let mut journal = Journal::new(&world.root);
    let mut out = Packets::default();
    let mut probes: Vec<_> =
        configs.iter().map(|config| JournaldProbe::new(&mut journal, config)).collect();
    probes.iter_mut().for_each(|probe| probe.start(&mut journal, &mut out));
    let mut packets = vec![Vec::new(); probes.len()];
    let mut ended = false;
    while !ended {
        ended = !journal.is_following();
        journal.begin_batch();
        for (probe, packets) in probes.iter_mut().zip(&mut packets) {
            probe.tick(&mut journal, &mut out);
            packets.extend(out.take());
        }
        std::thread::yield_now();
    }
    for (probe, packets) in probes.iter_mut().zip(&mut packets) {
        probe.flush(&mut journal, &mut out);
        packets.extend(out.take());
    }
    packets
}

fn event(packet: &TracePacket) -> &SystemdJournaldEvent {
    match &packet.data {
        Some(TracePacketData::JournaldEvent(event)) => event,
        other => panic!("{other:?}"),
    }
}

fn messages(packets: &[TracePacket]) -> Vec<&str> {
    packets.iter().filter_map(|packet| event(packet).message.as_deref()).collect()
}

/// What a flush tells: written, failed.
fn counts(packets: &[TracePacket]) -> (Option<u64>, Option<u64>) {
    let last = packets.last().unwrap();
    assert_eq!((last.timestamp, last.timestamp_clock_id), (Some(1000), Some(6)));
    (event(last).num_total, event(last).num_failed)
}

/// A machine, and the right to start programs: the system runs no file that is open for writing, and a program that
/// another test starts has inherited this one's files for a moment.
fn world() -> (World, MutexGuard<'static, ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let world = World::new();
    world.put("proc/sys/kernel/random/boot_id", "b0-07\n");
    world.put("etc/machine-id", format!("{MACHINE}\n")).put(&journal("run"), "");
    (world, lock(&ALONE))
}

/// The journal of the system in one of its folders.
fn journal(folder: &str) -> String {
    format!("{folder}/log/journal/{MACHINE}/system.journal")
}

#[test]
fn an_entry_becomes_a_packet() {
    let (world, _alone) = world();
    let fields = "PRIORITY=6\n_PID=9\n_UID=1000\n_GID=100\nTID=10\nSYSLOG_IDENTIFIER=tag\nMESSAGE=text\n\
                  _COMM=comm\n_EXE=/exe\n_SYSTEMD_UNIT=a.service\n_HOSTNAME=host\n_TRANSPORT=journal";
    install_printing(&world, entry(fields).as_bytes());
    let packets = record(&world, &[DataSourceConfig::default()]).remove(0);
    let text = |text: &str| Some(text.to_owned());
    let expected = SystemdJournaldEvent {
        pid: Some(9),
        tid: Some(10),
        uid: Some(1000),
        gid: Some(100),
        prio: Some(6),
        tag: text("tag"),
        message: text("text"),
        comm: text("comm"),
        exe: text("/exe"),
        systemd_unit: text("a.service"),
        hostname: text("host"),
        transport: text("journal"),
        ..Default::default()
    };
    assert_eq!(*event(&packets[0]), expected);
    let first = &packets[0];
    assert_eq!((first.timestamp, first.timestamp_clock_id), (Some(LATE_US * 1000), Some(3)));
    assert_eq!(counts(&packets), (Some(1), Some(0)));
    assert_eq!(packets.len(), 2);
    let log = world.log();
    assert!(log[0].contains("journalctl ended (exit status: 0)"), "{log:?}");
}

#[test]
fn lists_are_alternatives_and_all_filters_must_match() {
    let (world, _alone) = world();
    let mut printed = String::new();
    for (prio, tag, unit) in
        [(0, "a", "u"), (3, "a", "v"), (4, "a", "u"), (3, "b", "u"), (3, "c", "u")]
    {
        let message = format!("MESSAGE={prio}{tag}{unit}");
        printed += &entry(&format!(
            "PRIORITY={prio}\nSYSLOG_IDENTIFIER={tag}\n_SYSTEMD_UNIT={unit}\n{message}"
        ));
    }
    printed += &entry("MESSAGE=no priority");
    printed += &entry("PRIORITY=8\nMESSAGE=too unimportant");
    install_printing(&world, printed.as_bytes());
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let configs = [
        SystemdJournaldConfig::default(),
        SystemdJournaldConfig { min_prio: Some(3), ..Default::default() },
        SystemdJournaldConfig { min_prio: Some(0), ..Default::default() },
        SystemdJournaldConfig { min_prio: Some(u32::MAX), ..Default::default() },
        SystemdJournaldConfig { filter_identifiers: strings(&["a", "c"]), ..Default::default() },
        SystemdJournaldConfig {
            min_prio: Some(3),
            filter_identifiers: strings(&["a", "b"]),
            filter_units: strings(&["u"]),
            ..Default::default()
        },
    ];
    let packets = record(&world, &configs.map(config));
    let of: Vec<_> = packets.iter().map(|packets| messages(packets)).collect();
    assert_eq!(of[0], ["0au", "3av", "4au", "3bu", "3cu"]);
    assert_eq!(of[1], ["0au", "3av", "3bu", "3cu"]);
    assert_eq!(of[2], ["0au"]);
    assert_eq!(of[3], ["0au", "3av", "4au", "3bu", "3cu", "too unimportant"]);
    assert_eq!(of[4], ["0au", "3av", "4au", "3cu"]);
    assert_eq!(of[5], ["0au", "3bu"]);
}

#[test]
fn entries_of_before_are_left_out_and_those_of_another_boot_are_counted() {
    let (world, _alone) = world();
    let other = entry("PRIORITY=1\nMESSAGE=other").replace("b007", "b008");
    let before = entry("PRIORITY=1\nMESSAGE=before").replace(&LATE_US.to_string(), "1");
    let endless =
        entry("PRIORITY=1\nMESSAGE=endless").replace(&LATE_US.to_string(), &u64::MAX.to_string());
    let now = entry("PRIORITY=1\nMESSAGE=now");
    install_printing(&world, [other, before, endless, now].concat().as_bytes());
    let packets = record(&world, &[DataSourceConfig::default()]).remove(0);
    assert_eq!(messages(&packets), ["now"]);
    assert_eq!(counts(&packets), (Some(1), Some(1)));
}

/// More than is read at a time, and more than an instance may keep: all of it comes.
#[test]
fn a_flood_loses_nothing() {
    let (world, _alone) = world();
    let count = 2_000;
    let text = "x".repeat(10_000);
    let printed: String =
        (0..count).map(|i| entry(&format!("PRIORITY=1\nMESSAGE={i} {text}"))).collect();
    install_printing(&world, printed.as_bytes());
    let mut journal = Journal::new(&world.root);
    let mut out = Packets::default();
    let mut probe = JournaldProbe::new(&mut journal, &DataSourceConfig::default());
    probe.start(&mut journal, &mut out);
    let (mut came, mut ended) = (0, false);
    while !ended {
        ended = !journal.is_following();
        // Some reads without a tick: the instance is slow.
        (0..20).for_each(|_| journal.begin_batch());
        let entries = probe.mailbox.take();
        let bytes: usize = entries.iter().map(|entry| entry.bytes()).sum();
        assert!(bytes <= JOURNAL_MAILBOX_BYTES_MAX + 2 * 64 * 1024, "{bytes} bytes wait");
        came += entries.len();
    }
    assert_eq!(came, count);
}

#[test]
fn the_program_ends_with_the_last_instance() {
    let (world, _alone) = world();
    let pid = world.dir.path().join("pid");
    install(
        &world,
        &format!("echo $$ > {0}.new; mv {0}.new {0}; exec cat /dev/zero", pid.display()),
    );
    let mut journal = Journal::new(&world.root);
    let mut out = Packets::default();
    let mut probe = JournaldProbe::new(&mut journal, &DataSourceConfig::default());
    probe.start(&mut journal, &mut out);
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(&pid) {
            break pid;
        }
        std::thread::yield_now();
    };
    let process = format!("/proc/{}", pid.trim());
    assert!(std::path::Path::new(&process).exists());
    // What it prints has no end, and one read of it has.
    journal.begin_batch();
    drop(journal);
    assert!(!std::path::Path::new(&process).exists());
}

#[test]
fn a_system_without_a_journal_is_told_once() {
    let (world, _alone) = world();
    for _ in 0..2 {
        let packets = record(&world, &[DataSourceConfig::default()]).remove(0);
        assert_eq!(counts(&packets), (Some(0), Some(0)));
    }
    let log = world.log();
    assert!(log.len() == 1 && log[0].contains("install systemd"), "{log:?}");
}

#[test]
fn a_program_that_does_not_run_is_told() {
    let (world, _alone) = world();
    world.put("usr/bin/journalctl", "no program");
    record(&world, &[DataSourceConfig::default()]);
    let log = world.log();
    assert!(log.len() == 1 && log[0].contains("does not run"), "{log:?}");
}

/// The program then prints the entries of this user, and tells nobody that there are more.
#[test]
fn a_journal_that_this_user_may_not_read_is_told_once() {
    let (world, _alone) = world();
    let own = entry("PRIORITY=1\nMESSAGE=own");
    install_printing(&world, own.as_bytes());
    // Root may read all files, but no link to itself.
    let path = world.dir.path().join(journal("var"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    for _ in 0..2 {
        let packets = record(&world, &[DataSourceConfig::default()]).remove(0);
        assert_eq!(messages(&packets), ["own"]);
    }
    let log = world.log();
    let told: Vec<_> = log.iter().filter(|line| line.contains("cannot be read: ")).collect();
    let [told] = told[..] else { panic!("{log:?}") };
    assert!(told.contains(&format!("/{} cannot be read", journal("var"))), "{told}");
    assert!(told.contains("only entries of this user are recorded"), "{told}");
    assert!(told.ends_with("as root, or as a member of the group systemd-journal"), "{told}");
}

#[test]
fn a_journal_that_is_not_there_is_told() {
    let (world, _alone) = world();
    install_printing(&world, b"");
    let missing = |world: &World| {
        record(world, &[DataSourceConfig::default()]);
        world.log().iter().filter(|line| line.contains("start systemd-journald")).count()
    };
    assert_eq!(missing(&world), 0);
    world.remove("run/log");
    assert_eq!(missing(&world), 1);
    // Which journal is this machine's is not known.
    for id in ["", "uninitialized", "../../../etc", &MACHINE[1..]] {
        let world = World::new();
        world.put("etc/machine-id", id);
        install_printing(&world, b"");
        assert_eq!(missing(&world), 0, "{id}");
    }
}
