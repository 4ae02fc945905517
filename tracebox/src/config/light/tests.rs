use super::*;

fn what(args: &[&str]) -> TraceArgs {
    let words: Vec<_> = args.iter().map(std::ffi::OsString::from).collect();
    crate::cli::parse::<crate::cli::Perfetto>("perfetto", &words).unwrap().unwrap().what
}

fn built(args: &[&str]) -> TraceConfig {
    config(&read(&what(args)).unwrap())
}

fn names(config: &TraceConfig) -> Vec<&str> {
    config
        .data_sources
        .iter()
        .map(|s| s.config.as_ref().unwrap().name.as_deref().unwrap())
        .collect()
}

#[test]
fn units() {
    for (text, ms) in [
        ("0", Some(0)),
        ("0s", Some(0)),
        ("1ms", Some(1)),
        ("10s", Some(10_000)),
        ("2m", Some(120_000)),
        ("1h", Some(3_600_000)),
        ("010s", Some(10_000)),
        ("10", None),
        ("10xx", None),
        ("s", None),
        ("", None),
        ("10s ", None),
        (" 10s", None),
        ("-1s", None),
        ("1.5s", None),
        ("10S", None),
        ("18446744073709551616s", None),
        ("18446744073709551615h", None),
    ] {
        assert_eq!(with_unit(text, time_unit), ms, "{text:?}");
    }
    for (text, kb) in [
        ("1kb", Some(1)),
        ("1k", Some(1)),
        ("32mb", Some(32 * 1024)),
        ("2m", Some(2048)),
        ("1gb", Some(1 << 20)),
        ("3g", Some(3 << 20)),
        ("1b", None),
        ("1", None),
        ("1tb", None),
    ] {
        assert_eq!(with_unit(text, size_unit), kb, "{text:?}");
    }
}

#[test]
fn mistakes_name_the_flag() {
    for (args, message) in [
        (&["-t", "10"][..], "-t \"10\": expected a number with a unit, as in 10s"),
        (&["-b", "lots"], "-b \"lots\": expected a number with a unit, as in 32mb"),
        (&["-b", "0"], "-b: a buffer of 0 bytes holds nothing"),
        (&["-s", "5x"], "-s \"5x\": expected a number with a unit, as in 100mb"),
        (&["-t", "5000000s"], "-t \"5000000s\" is too large"),
    ] {
        assert_eq!(read(&what(args)).unwrap_err().text, message);
    }
}

#[test]
fn defaults() {
    let config = built(&["-t", "0"]);
    assert_eq!(config.duration_ms, Some(0));
    let config = built(&[]);
    assert_eq!(config.duration_ms, Some(10_000));
    assert_eq!(config.buffers, [buffer(32 * 1024)]);
    assert_eq!(config.flush_period_ms, Some(30_000));
    assert_eq!((config.max_file_size_bytes, config.write_into_file), (Some(0), None));
    assert_eq!(names(&config), ["linux.process_stats", "linux.system_info"]);
}

#[test]
fn a_file_size_makes_the_service_write() {
    let config = built(&["-s", "3mb"]);
    assert_eq!((config.max_file_size_bytes, config.write_into_file), (Some(3 << 20), Some(true)));
}

#[test]
fn words_in_their_order() {
    let config =
        built(&["disk", "sched/sched_switch", "gfx", "freq", "-a", "com.app", "irq/*", "hyp"]);
    assert_eq!(
        names(&config),
        [
            "linux.sys_stats",
            "linux.ftrace",
            "linux.ftrace",
            "linux.process_stats",
            "linux.system_info",
        ]
    );
    let of = |at: usize| config.data_sources[at].config.as_ref().unwrap();
    assert_eq!(of(0).sys_stats_config.as_ref().unwrap().diskstat_period_ms, Some(1000));
    let ftrace = of(1).ftrace_config.as_ref().unwrap();
    assert_eq!(ftrace.ftrace_events, ["sched/sched_switch", "irq/*"]);
    assert_eq!(ftrace.atrace_categories, ["disk", "gfx", "freq"]);
    assert_eq!(ftrace.atrace_apps, ["com.app"]);
    assert_eq!(ftrace.symbolize_ksyms, Some(true));
    let hypervisor = of(2).ftrace_config.as_ref().unwrap();
    assert_eq!(hypervisor.instance_name.as_deref(), Some("hyp"));
    assert_eq!(hypervisor.ftrace_events, ["hyp/*"]);
}

#[test]
fn an_app_alone_asks_for_ftrace() {
    assert_eq!(
        names(&built(&["-a", "x"])),
        ["linux.ftrace", "linux.process_stats", "linux.system_info"]
    );
}
