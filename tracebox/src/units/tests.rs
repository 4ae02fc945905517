use super::*;
use crate::traced::port_of;
use tracing_core::daemon::serve::PortKind;

fn text(name: &str) -> &'static str {
    FILES.iter().chain([&KERNEL]).find(|file| file.0.ends_with(name)).unwrap().1
}

/// The value of `key` in a unit.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

#[test]
fn paths_of_programs() {
    for good in ["/usr/bin/tracebox", "/opt/x-1.2/trace_box+"] {
        assert_eq!(unit_path(Path::new(good)), Ok(good));
    }
    for (bad, why) in [
        ("/tmp/tracebox", "units do not see"),
        ("/opt/my tools/tracebox", "characters"),
        ("/opt/100%/tracebox", "characters"),
    ] {
        assert!(unit_path(Path::new(bad)).unwrap_err().text.contains(why), "{bad}");
    }
}

/// Units that cannot work are not written.
#[test]
fn units_need_a_kernel_that_passes_descriptors() {
    let text = check_kernel(Err(Errno::NOSYS)).unwrap_err().text;
    assert!(text.contains("Linux 5.6"), "{text}");
    assert_eq!(check_kernel(Err(Errno::PERM)), Ok(()));
    assert_eq!(check_kernel(Ok(())), Ok(()));
}

#[test]
fn services_start_the_program() {
    for (unit, applet) in [("traced.service", "traced"), ("traced-probes.service", "traced_probes")]
    {
        assert_eq!(value(text(unit), "ExecStart"), Some(&*format!("{PROGRAM} {applet}")));
    }
}

/// `traced` distinguishes the two sockets by their names, in any order.
#[test]
fn sockets_are_told_apart() {
    let ports = [
        ("traced-producer.socket", PortKind::Producer),
        ("traced-consumer.socket", PortKind::Consumer),
    ];
    for (unit, port) in ports {
        let name = value(text(unit), "FileDescriptorName").unwrap();
        assert_eq!(port_of(name, None), Some(port), "{name}");
        assert_eq!(value(text(unit), "Service"), Some("traced.service"));
    }
}

/// Clients look where systemd listens.
#[test]
fn sockets_are_where_clients_look() {
    let socket = |unit| value(text(unit), "ListenStream").unwrap();
    assert_eq!(socket("traced-producer.socket"), "/run/perfetto/traced-producer.sock");
    assert_eq!(socket("traced-consumer.socket"), "/run/perfetto/traced-consumer.sock");
    let environment = value(text("traced-probes.service"), "Environment").unwrap();
    assert!(environment.ends_with(socket("traced-producer.socket")), "{environment}");
}

/// The limits of the units leave what the limits of the code allow.
#[test]
fn units_allow_what_the_code_does() {
    use tracing_core::daemon::limits::{
        CLOSER_THREADS_MAX, CLOSER_WAITING_MAX, CONNECTION_DESCRIPTORS_MAX,
        DESCRIPTORS_RESERVED_PART, FILES_OF_USERS_AT_FIRST_MAX, FILES_PER_USER_MAX,
    };
    let number = |unit, key| -> usize { value(text(unit), key).unwrap().parse().unwrap() };
    // The loop, and those for the log, the watchdog, the memory of producers and the count of the kernel; two for
    // sockets, of which one ends. Root and the user of the service have files of their own.
    let files = FILES_OF_USERS_AT_FIRST_MAX + 2 * FILES_PER_USER_MAX;
    let threads = 7 + CLOSER_THREADS_MAX + files;
    let tasks = number("traced.service", "TasksMax");
    assert!((threads..threads + 32).contains(&tasks), "{tasks} tasks, {threads} threads");

    // Some parts of the descriptors, if that is less than the limits of files and closers.
    let descriptors = number("traced.service", "LimitNOFILE");
    assert!(descriptors / 8 >= FILES_PER_USER_MAX, "files of one user");
    assert!(descriptors / 4 >= CLOSER_WAITING_MAX, "descriptors that wait to be closed");
    let reserved = descriptors / DESCRIPTORS_RESERVED_PART as usize;
    assert!(descriptors - reserved >= CONNECTION_DESCRIPTORS_MAX as usize, "connections");
    assert!(reserved >= files + CLOSER_WAITING_MAX, "files and what is being closed");

    // The main thread, those of signals, the connection, its data sources and its log, one that waits for the service,
    // one for each kind of data source, and `journalctl` with its reader.
    let threads = 6 + tracing_probes::NAMES.len() + 2;
    assert!(number("traced-probes.service", "TasksMax") >= 2 * threads, "of the probes");
    // An open file, a folder that is listed, a timer and a wake-up for each of these.
    let descriptors = number("traced-probes.service", "LimitNOFILE");
    assert!(descriptors >= 8 * threads, "of the probes");
}

/// What a killed recording has changed in tracefs is noted where the next start of the unit looks.
#[test]
fn the_unit_for_the_kernel_keeps_the_records() {
    let kernel = text("kernel.conf");
    assert_eq!(value(kernel, "RuntimeDirectory"), Some("tracing-probes"));
    assert_eq!(value(kernel, "RuntimeDirectoryPreserve"), Some("yes"));
    let start = format!("\nExecStart=\nExecStart={PROGRAM} traced_probes --keep-kptr-restrict\n");
    assert!(kernel.contains(&start), "{kernel}");
}

/// Whatever a program of the units does, the machine keeps a part of its memory.
#[test]
fn units_leave_memory_to_others() {
    let percent = |unit| -> u32 {
        let value = value(text(unit), "MemoryMax").and_then(|value| value.strip_suffix('%'));
        value.unwrap_or_else(|| panic!("{unit} has no share")).parse().unwrap()
    };
    let shares = ["traced.service", "traced-probes.service"].map(percent);
    assert!(shares.iter().sum::<u32>() <= 75, "{shares:?}");
}
