//! The texts of the manual pages of the daemons and their units.

use super::page::Block::{self, List, Text};

pub(super) const TRACED: &[Block] = &[
    Text(
        "*traced* is the tracing service. Producers offer data sources and write into shared memory. Consumers \
         such as *perfetto*(1) start sessions and read the traces. It refuses to start where another service \
         listens, replaces the sockets of one that was killed, and removes its own sockets when it ends.",
    ),
    Text(
        "The umask decides who can connect to the sockets; *--set-socket-permissions* gives each a group and a \
         mode. With perfetto:0666:perfetto:0660 every program can be traced, and members of the group perfetto \
         can record.",
    ),
    Text(
        "*tracebox* *install-units* installs units for systemd with the same permissions: sockets that start \
         *traced* with the first connection, and services with few rights for *traced* and *traced_probes*(8). \
         It prints the commands that enable them.",
    ),
];

pub(super) const UNITS: &[Block] = &[
    Text(
        "Writes units for *systemd*(1): sockets in /run/perfetto that start *traced*(8) with the first connection, and \
         services with few rights for *traced* and *traced_probes*(8). It prints the commands that enable them, and \
         runs none of them. Linux 5.6 or later is needed.",
    ),
    Text(
        "The unit of *traced_probes* may not write to tracefs, so it refuses linux.ftrace. With *--kernel* it may: it \
         runs as root then, with few capabilities, and of the files of the machine only tracefs is writable. It never \
         lowers kernel.kptr_restrict: kernel symbols have names if that is 0 or 1. *install-units* without the option \
         takes the right back.",
    ),
];

pub(super) const UNIT_FILES: &[Block] = &[List(&[
    ("/etc/systemd/system/traced.service", "The service."),
    (
        "/etc/systemd/system/traced-producer.socket",
        "Its socket for programs that are traced: all may connect.",
    ),
    (
        "/etc/systemd/system/traced-consumer.socket",
        "Its socket for recorders: members of the group perfetto may connect.",
    ),
    ("/etc/systemd/system/traced-probes.service", "The data sources of this machine."),
    (
        "/etc/systemd/system/traced-probes.service.d/kernel.conf",
        "With *--kernel*: what lets them record events of the kernel.",
    ),
    ("/etc/sysusers.d/perfetto.conf", "The group perfetto, for *systemd-sysusers*(8)."),
])];

pub(super) const PROBES: &[Block] = &[Text(
    "*traced_probes* offers the data sources of this machine to *traced*(8): linux.frozen_ftrace, linux.ftrace, \
     linux.inode_file_map, linux.process_stats, linux.sys_stats, linux.sysfs_power, linux.system_info and \
     linux.systemd_journald. It waits for the service if there is none, and connects again when the service comes \
     back.",
)];
