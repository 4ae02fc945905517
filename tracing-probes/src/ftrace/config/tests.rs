use std::collections::BTreeMap;

use protos::{
    FtraceConfigCompactSchedConfig, FtraceConfigPrintFilter, FtraceConfigPrintFilterRule,
    FtraceConfigPrintFilterRuleAtraceMessage, FtraceConfigPrintFilterRuleMatch,
    FtraceConfigTracefsOption, FtraceConfigTracefsOptionState,
};

use super::*;
use crate::ftrace::tracefs::Directory;
use crate::ftrace::tracefs::fake::Fake;

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn with(edit: impl FnOnce(&mut FtraceConfig)) -> Result<Config, Refusal> {
    let mut config = FtraceConfig::default();
    edit(&mut config);
    Config::new(&config)
}

fn refused(edit: impl FnOnce(&mut FtraceConfig), field: &str) {
    let Refusal(text) = with(edit).expect_err(field);
    assert!(text.contains(field), "{field}: {text}");
    assert!(text.bytes().all(|b| b >= 32), "control bytes in {text:?}");
}

#[test]
fn names_of_events() {
    for good in [
        "sched/sched_switch",
        "sched/*",
        "sched_switch",
        "a b/c",
        "sched/pre*",
        "*",
        "s*",
        "a.b/..c",
    ] {
        assert!(with(|c| c.ftrace_events = strings(&[good])).is_ok(), "{good}");
    }
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    for bad in [
        "", "/", "/a", "a/", "a/b/c", "a*/b", "*/b", "a/b*c", "a/**", "../sched", "sched/..",
        "./a", "a/.", "..", "a\nb", "a/b\n", "a\tb", "a/b\0", "ä/b", "a\x7f", &long,
    ] {
        refused(|c| c.ftrace_events = strings(&["sched/sched_switch", bad]), "ftrace_events");
    }
}

#[test]
fn names_of_other_things() {
    for bad in ["", "a\nb", "a\x1b[2J", "ä", &"x".repeat(256)] {
        let bad = strings(&[bad]);
        refused(|c| c.atrace_categories.clone_from(&bad), "atrace_categories");
        refused(|c| c.atrace_apps.clone_from(&bad), "atrace_apps");
        refused(|c| c.syscall_events.clone_from(&bad), "syscall_events");
        refused(|c| c.function_filters.clone_from(&bad), "function_filters");
        refused(|c| c.function_graph_roots.clone_from(&bad), "function_graph_roots");
    }
    // Commands to the kernel, and many names in one.
    for bad in ["a:mod:b", "!a", "a b", "#a", "a,b", "a/b"] {
        refused(|c| c.function_filters = strings(&[bad]), "function_filters");
        refused(|c| c.function_graph_roots = strings(&[bad]), "function_graph_roots");
    }
    let graph = |c: &mut FtraceConfig| {
        c.enable_function_graph = Some(true);
        c.function_filters = strings(&["vfs_*", "a.b$c"]);
        c.function_graph_max_depth = Some(3);
    };
    let expected = Graph { filters: strings(&["vfs_*", "a.b$c"]), roots: Vec::new(), depth_max: 3 };
    assert_eq!(with(graph).unwrap().graph, Some(expected));
}

#[test]
fn names_of_instances() {
    let instance =
        |name: &str| with(|c| c.instance_name = Some(name.to_owned())).map(|c| c.instance);
    assert_eq!(instance(""), Ok(None));
    assert_eq!(instance("a b"), Ok(Some("a b".to_owned())));
    for bad in ["a/b", ".", "..", "..x", "/", "a\nb", "a\0", &"x".repeat(250)] {
        refused(|c| c.instance_name = Some(bad.to_owned()), "instance_name");
    }
    for edit in [
        |c: &mut FtraceConfig| c.atrace_categories = strings(&["sched"]),
        |c: &mut FtraceConfig| c.atrace_apps = strings(&["*"]),
    ] {
        let both = |c: &mut FtraceConfig| {
            edit(c);
            c.instance_name = Some("x".to_owned());
        };
        refused(both, "main instance alone");
    }
}

#[test]
fn exclusive_things() {
    let option = |name: &str, state| FtraceConfigTracefsOption {
        name: Some(name.to_owned()),
        state: Some(state),
        ..Default::default()
    };
    use FtraceConfigTracefsOptionState as State;
    for bad in ["", "a/b", "..", "a b", "a\n", "a.b"] {
        refused(|c| c.tracefs_options = vec![option(bad, State::STATE_ENABLED)], "tracefs_options");
    }
    let all = |c: &mut FtraceConfig| {
        c.tracefs_options = vec![
            option("a-B_1", State::STATE_ENABLED),
            option("../x", State::STATE_UNKNOWN),
            option("c", State::STATE_DISABLED),
        ];
        c.tids_to_trace = vec![0, 7];
        c.tracing_cpumask = Some("1,0000000f".to_owned());
    };
    let exclusive = with(all).unwrap().exclusive;
    assert_eq!(exclusive.options, [("a-B_1".to_owned(), true), ("c".to_owned(), false)]);
    assert_eq!(exclusive.fields(), ["tids_to_trace", "tracefs_options", "tracing_cpumask"]);
    assert_eq!(with(|_| {}).unwrap().exclusive.fields(), Vec::<&str>::new());
    for bad in [
        "x",
        "0x3",
        "3\n",
        "3,",
        ",3",
        "123456789",
        "3 ",
        "-1",
        &format!("{}1", "1,".repeat(MASK_BYTES_MAX / 2)),
    ] {
        refused(|c| c.tracing_cpumask = Some(bad.to_owned()), "tracing_cpumask");
    }
    refused(|c| c.tids_to_trace = vec![1 << 31], "tids_to_trace");
}

#[test]
fn lists_have_limits() {
    let many = || vec!["a".to_owned(); ENTRIES_MAX + 1];
    for (field, set) in [
        ("ftrace_events", (|c, l| c.ftrace_events = l) as fn(&mut FtraceConfig, Vec<String>)),
        ("atrace_categories", |c, l| c.atrace_categories = l),
        ("atrace_apps", |c, l| c.atrace_apps = l),
        ("syscall_events", |c, l| c.syscall_events = l),
        ("function_filters", |c, l| c.function_filters = l),
        ("function_graph_roots", |c, l| c.function_graph_roots = l),
    ] {
        refused(|c| set(c, many()), field);
        let as_many = |c: &mut FtraceConfig| set(c, vec!["a".to_owned(); ENTRIES_MAX]);
        assert!(with(as_many).is_ok(), "{field}");
    }
    refused(|c| c.kprobe_events = vec![Default::default(); ENTRIES_MAX + 1], "kprobe_events");
    refused(|c| c.tracefs_options = vec![Default::default(); ENTRIES_MAX + 1], "tracefs_options");
    refused(|c| c.tids_to_trace = vec![1; TIDS_MAX + 1], "tids_to_trace");
    refused(|c| c.buffer_size_kb = Some(u32::MAX), "buffer_size_kb");
    let rules = vec![FtraceConfigPrintFilterRule::default(); ENTRIES_MAX + 1];
    let filter = FtraceConfigPrintFilter { rules, ..Default::default() };
    refused(|c| c.print_filter = Some(filter), "print_filter");
}

#[test]
fn values_that_are_not_used() {
    let period = |ms| {
        let config = with(|c| c.drain_period_ms = Some(ms)).unwrap();
        (config.drain_period_ms, config.notes.len())
    };
    assert_eq!(period(0), (None, 0));
    assert_eq!(period(1), (Some(1), 0));
    assert_eq!(period(60_000), (Some(60_000), 0));
    assert_eq!(period(60_001), (None, 1));
    let percent = |percent| {
        let config = with(|c| c.drain_buffer_percent = Some(percent)).unwrap();
        (config.drain_percent, config.wants_polls, config.notes.len())
    };
    // The kernel's value stays.
    assert_eq!(percent(0), (None, true, 0));
    assert_eq!(percent(100), (Some(100), true, 0));
    assert_eq!(percent(101), (None, false, 1));
    assert!(!with(|_| {}).unwrap().wants_polls);
    assert_eq!(with(|c| c.throttle_rss_stat = Some(true)).unwrap().notes.len(), 1);
    let userspace = |categories: &[&str]| {
        let edit = |c: &mut FtraceConfig| {
            c.atrace_userspace_only = Some(true);
            c.atrace_categories = strings(categories);
        };
        with(edit).unwrap().notes
    };
    assert_eq!(userspace(&[]), Vec::<String>::new());
    let notes = userspace(&["sched", "idle"]);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("because atrace_userspace_only is set"), "{notes:?}");
}

#[test]
fn fields_with_defaults() {
    let config = with(|_| {}).unwrap();
    assert!(config.compact_sched && !config.is_preserving && !config.wants_raw_clock);
    assert_eq!((config.generic, config.symbols), (GenericEvents::Dense, Symbols::Off));
    let compact = |enabled| {
        let compact = FtraceConfigCompactSchedConfig { enabled, ..Default::default() };
        with(|c| c.compact_sched = Some(compact)).unwrap().compact_sched
    };
    assert!(compact(None) && compact(Some(true)) && !compact(Some(false)));
    let generic = |disable, dense| {
        let edit = |c: &mut FtraceConfig| {
            c.disable_generic_events = disable;
            c.denser_generic_event_encoding = dense;
        };
        with(edit).unwrap().generic
    };
    assert_eq!(generic(None, Some(false)), GenericEvents::Legacy);
    assert_eq!(generic(Some(true), Some(false)), GenericEvents::Off);
    let symbols = |policy| {
        let edit = |c: &mut FtraceConfig| {
            c.symbolize_ksyms = Some(true);
            c.ksyms_mem_policy = policy;
        };
        with(edit).unwrap().symbols
    };
    assert_eq!(symbols(None), Symbols::Freed);
    assert_eq!(symbols(Some(FtraceConfigKsymsMemPolicy::KSYMS_RETAIN)), Symbols::Retained);
}

#[test]
fn sizes_of_rings() {
    let kb = |kb, is_lower_bound, ram| BufferWish { kb, is_lower_bound }.kb(ram, 4);
    let (small, large) = ((7 << 30) - 1, 7 << 30);
    assert_eq!(kb(0, false, 0), 2048);
    assert_eq!(kb(0, false, small), 2048);
    assert_eq!(kb(0, false, large), 8192);
    assert_eq!(kb(1, false, large), 4);
    assert_eq!(kb(3001, false, large), 3000);
    assert_eq!(kb(512, true, large), 8192);
    assert_eq!(kb(16_384, true, large), 16_384);
    assert_eq!(BufferWish { kb: 100, is_lower_bound: false }.kb(0, 64), 64);
}

#[test]
fn kprobes_of_each_type() {
    use FtraceConfigKprobeEventKprobeType as Type;
    let probe = |name: &str, of| FtraceConfigKprobeEvent {
        probe: Some(name.to_owned()),
        r#type: Some(of),
        ..Default::default()
    };
    let probes = vec![
        probe("a", Type::KPROBE_TYPE_KPROBE),
        probe("b", Type::KPROBE_TYPE_KRETPROBE),
        probe("c", Type::KPROBE_TYPE_BOTH),
        probe("d", Type::KPROBE_TYPE_UNKNOWN),
    ];
    let kprobes = with(|c| c.kprobe_events = probes).unwrap().kprobes;
    let kinds: Vec<_> =
        kprobes.iter().map(|k| (k.function.as_str(), k.on_entry, k.on_return)).collect();
    assert_eq!(kinds, [("a", true, false), ("b", false, true), ("c", true, true)]);
    for (name, is_plain) in
        [("a_1", true), ("a b", false), ("", false), ("a:b", false), ("a+4", false)]
    {
        let probes = vec![probe(name, Type::KPROBE_TYPE_KPROBE)];
        assert_eq!(
            with(|c| c.kprobe_events = probes).unwrap().kprobes[0].is_plain(),
            is_plain,
            "{name}"
        );
    }
    refused(|c| c.kprobe_events = vec![probe("a\nb", Type::KPROBE_TYPE_KPROBE)], "kprobe_events");
}

#[test]
fn system_calls() {
    let open = |machine| SyscallArch::of_machine(machine).number("sys_openat");
    let numbers = ["x86_64", "i686", "aarch64", "armv7l", "armv8l", "riscv64"].map(open);
    assert_eq!(numbers, [Some(257), Some(295), Some(56), Some(322), Some(322), None]);
    assert_eq!(SyscallArch::X86_64.number("openat"), None);
    let of = |names: &[&str]| Syscalls::of_names(SyscallArch::X86_64, &strings(names));
    assert_eq!(of(&[]), (Syscalls::All, Vec::new()));
    let (some, unknown) = of(&["sys_getpid", "sys_nonsense", "sys_fork"]);
    assert_eq!(
        (some.filter().as_str(), unknown),
        ("id == 39 || id == 57", strings(&["sys_nonsense"]))
    );
    assert!(
        some.contains(39) && !some.contains(40) && !some.contains(-1) && Syscalls::All.contains(-1)
    );
    // Only unknown names ask for no system call, not for all.
    assert_eq!(of(&["sys_nonsense"]).0, Syscalls::none());
    assert!(!Syscalls::none().contains(0) && Syscalls::none().filter() != "0");
    let mut all = some.clone();
    all.add(&of(&["sys_read"]).0);
    assert_eq!(all.filter(), "id == 0 || id == 39 || id == 57");
    all.add(&Syscalls::All);
    assert_eq!(all.filter(), "0");
    // Longer than a filter can be: all are recorded.
    assert_eq!(Syscalls::Only((0..400).collect()).filter(), "0");
    assert!(Syscalls::Only((0..200).collect()).filter().len() > 1000);
}

struct Schema(BTreeMap<&'static str, &'static [&'static str]>);

impl KnownEvents for Schema {
    fn groups_of(&self, name: &str) -> Vec<String> {
        let groups = self.0.iter().filter(|(_, names)| names.contains(&name));
        groups.map(|(group, _)| (*group).to_owned()).collect()
    }

    fn names_of(&self, group: &str) -> Vec<String> {
        strings(self.0.get(group).copied().unwrap_or_default())
    }

    fn is_known(&self, event: &EventName) -> bool {
        self.groups_of(&event.name).contains(&event.group)
    }
}

fn wanted(edit: impl FnOnce(&mut FtraceConfig)) -> (Vec<String>, Vec<String>) {
    let schema = Schema(BTreeMap::from([
        ("ftrace", &["print"][..]),
        ("kgsl", &["cpu_idle"]),
        ("power", &["cpu_idle", "cpu_frequency", "suspend_resume"]),
        ("sched", &["sched_switch", "sched_waking", "sched_blocked_reason"]),
    ]));
    let config = with(edit).unwrap();
    let syscalls = Syscalls::of_names(SyscallArch::X86_64, &config.syscalls).0;
    let wanted = config.wanted(&schema, &Fake::new(), &Directory::root(), &syscalls);
    (wanted.events.iter().map(EventName::to_string).collect(), wanted.unknown)
}

#[test]
fn events_of_a_config() {
    let check = |entry: &str, events: &[&str], unknown: &[&str]| {
        let found = wanted(|c| c.ftrace_events = strings(&[entry]));
        assert_eq!(found, (strings(events), strings(unknown)), "{entry}");
    };
    check("sched/sched_switch", &["sched/sched_switch"], &[]);
    // The start of the session tells that there is none.
    check("no/such", &["no/such"], &[]);
    check("power/*", &["power/cpu_frequency", "power/cpu_idle"], &[]);
    check("no/*", &[], &["no/*"]);
    check("sched/sched_w*", &["sched/sched_w*"], &[]);
    // The first group that this kernel has.
    check("cpu_idle", &["power/cpu_idle"], &[]);
    // In the schema and not in this kernel; in neither.
    check("suspend_resume", &[], &["suspend_resume"]);
    check("nonsense", &[], &["nonsense"]);
    check("*", &[], &["*"]);
}

#[test]
fn events_of_categories_and_other_fields() {
    let (events, unknown) =
        wanted(|c| c.atrace_categories = strings(&["sched", "idle", "nonsense", "mmc"]));
    assert_eq!(
        events,
        [
            "ftrace/print",
            "power/cpu_idle",
            "sched/sched_switch",
            "sched/sched_waking",
            "task/task_newtask",
            "task/task_rename"
        ]
    );
    assert_eq!(unknown, ["nonsense", "mmc"]);
    // The kernel may have them: it is the config that leaves them out.
    let userspace = |c: &mut FtraceConfig| {
        c.atrace_categories = strings(&["sched", "nonsense"]);
        c.atrace_userspace_only = Some(true);
    };
    assert_eq!(wanted(userspace), (strings(&["ftrace/print"]), Vec::new()));
    assert_eq!(wanted(|c| c.atrace_apps = strings(&["a"])).0, ["ftrace/print"]);
    let syscalls = wanted(|c| c.syscall_events = strings(&["sys_read"])).0;
    assert_eq!(syscalls, ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"]);
    let none = |c: &mut FtraceConfig| {
        c.syscall_events = strings(&["sys_nonsense"]);
        c.ftrace_events = strings(&["raw_syscalls/*"]);
    };
    assert_eq!(wanted(none).0, Vec::<String>::new());
    let graph = wanted(|c| c.enable_function_graph = Some(true)).0;
    assert_eq!(graph, ["ftrace/funcgraph_entry", "ftrace/funcgraph_exit"]);
}

/// The categories have an entry once, with events.
#[test]
fn categories_are_whole() {
    for category in [
        "sched",
        "freq",
        "idle",
        "disk",
        "irq",
        "memory",
        "memreclaim",
        "pagecache",
        "workq",
        "sync",
    ] {
        assert!(!categories::events(category).is_empty(), "{category}");
    }
    assert!(categories::events("").is_empty());
}

fn prefix(text: &str, allow: Option<bool>) -> FtraceConfigPrintFilterRule {
    let r#match = Some(FtraceConfigPrintFilterRuleMatch::Prefix(text.to_owned()));
    FtraceConfigPrintFilterRule { r#match, allow, ..Default::default() }
}

fn atrace(kind: &str, text: &str, allow: bool) -> FtraceConfigPrintFilterRule {
    let message = FtraceConfigPrintFilterRuleAtraceMessage {
        r#type: Some(kind.to_owned()),
        prefix: Some(text.to_owned()),
        ..Default::default()
    };
    let r#match = Some(FtraceConfigPrintFilterRuleMatch::AtraceMsg(message));
    FtraceConfigPrintFilterRule { r#match, allow: Some(allow), ..Default::default() }
}

#[test]
fn prints_are_filtered() {
    let check = |rules: &[FtraceConfigPrintFilterRule], text: &[u8], keeps: bool| {
        let filter = FtraceConfigPrintFilter { rules: rules.to_vec(), ..Default::default() };
        assert_eq!(PrintFilter::new(&filter).keeps(text), keeps, "{rules:?} {text:?}");
    };
    let hello = [prefix("hello", Some(false))];
    check(&[], b"anything", true);
    check(&hello, b"hello\n\0", false);
    check(&hello, b"hell\n\0", true);
    check(&hello, b" hello", true);
    // The text ends at the NUL or the end of the record; stale bytes follow.
    check(&hello, b"hel\0lo", true);
    check(&hello, b"hel", true);
    check(&hello, b"", true);
    // The first that matches decides.
    check(&[prefix("hello w", Some(true)), prefix("hello", Some(false))], b"hello world", true);
    check(&[prefix("hello", Some(false)), prefix("hello w", Some(true))], b"hello world", false);
    check(&[prefix("x", Some(true)), prefix("", Some(false))], b"anything", false);
    // Without a text: each. Without a word: not allowed.
    check(&[FtraceConfigPrintFilterRule::default()], b"anything", false);
    check(&[prefix("a", None)], b"anything", false);
    let counter = [atrace("C", "cnt", false)];
    check(&counter, b"C|12|cnt|5", false);
    check(&counter, b"C||cnt", false);
    check(&counter, b"C|12|other", true);
    check(&counter, b"C|12", true);
    check(&counter, b"C|1x|cnt", true);
    check(&counter, b"B|12|cnt", true);
    check(&counter, b"C|12\0|cnt", true);
    check(&[atrace("", "", false)], b"|1|", false);
    assert!(PrintFilter::default().is_empty());
}
