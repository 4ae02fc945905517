use super::fake::{Fake, Next};
use super::text::Stamp;
use super::*;
use crate::limits::CPUS_MAX;

#[test]
fn lists_of_cpus() {
    let cases: &[(&str, Option<&[u32]>)] = &[
        ("", Some(&[])),
        ("\n", Some(&[])),
        ("0\n", Some(&[0])),
        ("0-3,5\n", Some(&[0, 1, 2, 3, 5])),
        ("2,0-1,1-2", Some(&[0, 1, 2])),
        ("8191", Some(&[8191])),
        ("8192", None),
        ("0-18446744073709551615", None),
        ("18446744073709551616", None),
        ("3-1", None),
        ("1-", None),
        ("-1", None),
        ("1,,2", None),
        ("1-2-3", None),
        ("x", None),
    ];
    for (text, cpus) in cases {
        assert_eq!(cpu_list(text.as_bytes()).as_deref(), *cpus, "{text}");
    }
    // Many ranges of many CPUs are no reason for much memory.
    assert_eq!(cpu_list("0-8191,".repeat(100_000).trim_end_matches(',').as_bytes()), None);
}

#[test]
fn masks_of_cpus() {
    let check = |cpus: &[u32], mask: &str| {
        let cpus = cpus.iter().copied().collect();
        assert_eq!((mask_of_cpus(&cpus).as_str(), cpus_of_mask(mask)), (mask, cpus));
    };
    check(&[], "00000000");
    check(&[0, 1], "00000003");
    check(&[0, 31, 32, 95], "80000000,00000001,80000001");
    assert_eq!(cpus_of_mask("f,00000001"), [0, 32, 33, 34, 35].into());
    assert_eq!(cpus_of_mask("no mask"), [].into());
    assert_eq!(cpus_of_mask(&"1,".repeat(100_000)).last(), Some(&(CPUS_MAX - 32)));
}

#[test]
fn lists_of_clocks() {
    let names =
        |text: &str| (clocks(text.as_bytes()).available.join(" "), clocks(text.as_bytes()).current);
    let check = |text, available: &str, current: &str| {
        assert_eq!(names(text), (available.to_owned(), current.to_owned()), "{text}");
    };
    check("local global [boot] x86-tsc\n", "local global boot x86-tsc", "boot");
    check("[local]\n", "local", "local");
    check("local [boot", "local [boot", "");
    check("", "", "");
}

#[test]
fn sizes_of_rings() {
    let cases = [
        ("7 (expanded: 1408)\n", Some(BufferKb::Unused { now: 7, expanded: 1408 })),
        ("8195\n", Some(BufferKb::Each(8195))),
        ("X\n", Some(BufferKb::Differs)),
        ("7 (expanded: x)", None),
        ("7 (expanded: 1408", None),
        ("-1", None),
        ("", None),
    ];
    for (text, size) in cases {
        assert_eq!(buffer_kb(text.as_bytes()), size, "{text}");
    }
}

#[test]
fn stats_of_a_cpu() {
    let text = b"entries: 1\noverrun: 5000000000\ncommit overrun: 3\nbytes: 4\noldest event ts: 11755.360375\n\
        now ts: 1611908.586587\ndropped events: 7\nread events: 8\nnew key: 9\nno key\n";
    let stamp = |value| Stamp { value, is_seconds: true };
    let expected = CpuStats {
        entries: 1,
        overrun: 5_000_000_000,
        commit_overrun: 3,
        bytes: 4,
        oldest_event: stamp(11_755_360_375_000),
        // A double would say ..586999.
        now: stamp(1_611_908_586_587_000),
        dropped_events: 7,
        read_events: 8,
    };
    assert_eq!(cpu_stats(text), expected);
    assert_eq!(cpu_stats(b"now ts: 42\n").now, Stamp { value: 42, is_seconds: false });
    for bad in [
        "now ts: 1.",
        "now ts: .5x",
        "now ts: 99999999999999999999.5",
        "now ts: 1.0123456789",
        "now ts: -1.5",
    ] {
        assert_eq!(cpu_stats(bad.as_bytes()), CpuStats::default(), "{bad}");
    }
}

#[test]
fn strings_of_printk() {
    let text = b"0xffffffff8000 : \"Start: \\\"x\\\"\"\n0x10 : \"a\xff\"\n0x10 : \"second\"\n0x0 : \"none\"\n20 : \"x\"\n\
        0xzz : \"y\"\n0x30 : bare\nno colon\n";
    let strings = printk_formats(text);
    let strings: Vec<(u64, &[u8])> = strings.iter().map(|(a, s)| (*a, &**s)).collect();
    let expected: [(u64, &[u8]); 3] =
        [(0x10, b"a\xff"), (0x30, b"bare"), (0xffff_ffff_8000, b"Start: \\\"x\\\"")];
    assert_eq!(strings, expected);
}

#[test]
fn profile_of_kprobes() {
    let text = b"  p_kfree    3   1\n  broken 9\n  r_x  18446744073709551615  2\n  y 1 z\n";
    assert_eq!(kprobe_profile(text), KprobeProfile { hits: u64::MAX, misses: 3 });
}

#[test]
fn lists_of_events_and_functions() {
    let events = events_listed(
        b"sched:sched_switch\n\nx\n..:y\na:b/c\na:b:mod:c\n irq:softirq_entry \n\xff:a\n",
    );
    let events: Vec<String> =
        events.iter().map(|(group, name)| format!("{group}/{name}")).collect();
    assert_eq!(events, ["sched/sched_switch", "irq/softirq_entry"]);
    assert_eq!(functions_listed(b"#### all functions enabled ####\n"), Vec::<String>::new());
    assert_eq!(functions_listed(b"kfree\nfree_it [module]\n\n"), ["kfree", "free_it"]);
}

#[test]
fn only_paths_below_the_root() {
    for path in ["tracing_on", "events/a b/..c/format", "instances/x/trace"] {
        assert!(is_below(path), "{path}");
    }
    for path in ["", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", "a/.", "a\0b"] {
        assert!(!is_below(path), "{path}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "1").unwrap();
    std::fs::create_dir(folder.path().join("tracing")).unwrap();
    let tracefs = Mounted::at(folder.path().join("tracing"));
    let path = "../secret";
    assert_eq!(tracefs.read(path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(tracefs.write(path, b"2").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(tracefs.append(path, b"2").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(tracefs.truncate(path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert!(
        tracefs.make_folder("../made").is_err() && tracefs.remove_folder("../tracing").is_err()
    );
    assert!(
        !tracefs.exists(path) && tracefs.folders("..").is_err() && tracefs.open_pipe(path).is_err()
    );
    assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"1");
}

#[test]
fn files_are_written_added_to_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let tracefs = Mounted::at(folder.path());
    let read = || String::from_utf8(tracefs.read("file").unwrap()).unwrap();
    // No call makes a file.
    assert!(tracefs.write("file", b"x").is_err() && tracefs.append("file", b"x").is_err());
    assert!(tracefs.truncate("file").is_err() && tracefs.read("file").is_err());
    std::fs::write(folder.path().join("file"), "12345").unwrap();
    tracefs.write("file", b"ab").unwrap();
    assert_eq!(read(), "ab345");
    tracefs.append("file", b"!").unwrap();
    assert_eq!(read(), "ab345!");
    tracefs.truncate("file").unwrap();
    assert_eq!(read(), "");
    tracefs.make_folder("b").unwrap();
    tracefs.make_folder("a").unwrap();
    assert_eq!(tracefs.folders("").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    std::fs::create_dir(folder.path().join("b/c")).unwrap();
    assert_eq!(tracefs.folders("b").unwrap(), ["c"]);
    // A file that does not end.
    let long = std::fs::File::create(folder.path().join("long")).unwrap();
    long.set_len(FILE_BYTES_MAX as u64 + 1).unwrap();
    assert_eq!(tracefs.read("long").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    long.set_len(FILE_BYTES_MAX as u64).unwrap();
    assert_eq!(tracefs.read("long").unwrap().len(), FILE_BYTES_MAX);
}

#[test]
fn the_first_root_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let error = find_root(folder.path()).unwrap_err();
    assert!(error.contains("sys/kernel/tracing: ") && error.contains("tracebox doctor"), "{error}");
    for root in ["sys/kernel/debug/tracing", "sys/kernel/tracing"] {
        let root = folder.path().join(root);
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("trace"), "").unwrap();
        std::fs::write(root.join("name"), root.display().to_string()).unwrap();
        let found = find_root(folder.path()).unwrap();
        assert_eq!(found.read("name").unwrap(), root.display().to_string().as_bytes());
    }
}

#[test]
fn directories_of_instances() {
    let fake = Fake::new();
    let other = Directory::instance(&fake, "other").unwrap();
    assert_eq!((other.path("trace"), other.name()), ("instances/other/trace".to_owned(), "other"));
    assert!(!other.is_root() && Directory::root().is_root());
    assert_eq!(
        (Directory::root().path("trace"), Directory::root().name()),
        ("trace".to_owned(), "root")
    );
    let error = Directory::instance(&fake, "none").unwrap_err();
    assert!(error.contains("mkdir instances/none"), "{error}");
    // A hypervisor's is beside the others, or among them.
    fake.make_folder("instances/hyp").unwrap();
    assert_eq!(Directory::instance(&fake, "hyp").unwrap().path("trace"), "instances/hyp/trace");
    fake.set("hyp/trace", "");
    assert_eq!(Directory::instance(&fake, "hyp").unwrap().path("trace"), "hyp/trace");
    fake.remove_folder("instances/hyp").unwrap();
    assert!(fake.make_folder("instances/other").is_err());
}

#[test]
fn pipes_play_their_script() {
    let fake = Fake::new();
    let page: Vec<u8> = (0..64).collect();
    let next = [
        Next::Page(page.clone()),
        Next::Nothing,
        Next::Page(page.clone()),
        Next::Error(libc::ENODEV),
    ];
    fake.script("per_cpu/cpu0/trace_pipe_raw", next);
    let mut pipe = fake.open_pipe("per_cpu/cpu0/trace_pipe_raw").unwrap();
    assert!(pipe.fd().is_none());
    let mut bytes = [0; 64];
    assert_eq!(pipe.read(&mut bytes).unwrap(), 64);
    assert_eq!(bytes, *page);
    assert_eq!(pipe.read(&mut bytes).unwrap(), 0);
    // A short read splits the page.
    assert_eq!(pipe.read(&mut bytes[..10]).unwrap(), 10);
    assert_eq!(pipe.read(&mut bytes).unwrap(), 54);
    assert_eq!(pipe.read(&mut bytes).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    assert_eq!(pipe.read(&mut bytes).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    // While a pipe is open the kernel changes no tracer.
    let write = || fake.write("current_tracer", b"function_graph").map_err(|e| e.raw_os_error());
    assert_eq!(write(), Err(Some(libc::EBUSY)));
    drop(pipe);
    assert_eq!(write(), Ok(()));
}
