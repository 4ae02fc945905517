use super::*;

const TEXT: ConfigFormat = ConfigFormat::Text { lossy: false };

fn request() -> ConfigRequest {
    ConfigRequest {
        source: ConfigSource::Test,
        attributes: Vec::new(),
        notes: Vec::new(),
        statsd: TraceConfigStatsdMetadata::default(),
    }
}

fn completed(text: &str) -> Result<TraceConfig, Failure> {
    let mut config = parse("f", text.as_bytes(), TEXT)?;
    complete(&mut config, &request())?;
    Ok(config)
}

#[test]
fn text_and_binary_are_told_apart() {
    let text = b"buffers { size_kb: 64 }\nduration_ms: 5";
    let config = parse("f", text, TEXT).unwrap();
    assert_eq!(config.duration_ms, Some(5));
    assert_eq!(parse("f", &config.encode_to_vec(), ConfigFormat::Binary), Ok(config));
    let hint = parse("f", text, ConfigFormat::Binary).unwrap_err();
    assert_eq!(hint.text, "the config f is text: add --txt");
    assert!(parse("f", b"# only a comment\n", ConfigFormat::Binary).is_err());
    for (bytes, format) in [(&b""[..], ConfigFormat::Binary), (b"", TEXT), (b"# a comment\n", TEXT)]
    {
        assert_eq!(parse("f", bytes, format).unwrap_err().text, "the config f is empty");
    }
    let broken = parse("f", b"\x0a\x7f", ConfigFormat::Binary).unwrap_err();
    assert_eq!(
        broken.text,
        "the config f is not a binary TraceConfig (is it text? add --txt): \
         perfetto.protos.TraceConfig.buffers[0]: the input ends inside a field at byte 0"
    );
}

#[test]
fn mistakes_have_their_place() {
    let failure = parse("my.pbtx", b"buffers {\n  size_kbs: 64\n}", TEXT).unwrap_err();
    assert_eq!(
        failure.text,
        "the config is not valid\n\
         my.pbtx:2:3 error: no field named `size_kbs` in `perfetto.protos.TraceConfig.BufferConfig`: did you mean `size_kb`?\n  \
         size_kbs: 64\n  ^~~~~~~~ in perfetto.protos.TraceConfig.buffers[0]"
    );
    let lossy = ConfigFormat::Text { lossy: true };
    assert!(parse("f", b"nope: 1 buffers { size_kb: 1 nope {} }", lossy).is_ok());
    assert!(parse("f", b"duration_ms: 'a'", lossy).is_err());
}

#[test]
fn unknown_fields_pass_through() {
    let mut bytes = parse("f", b"duration_ms: 5", TEXT).unwrap().encode_to_vec();
    bytes.extend_from_slice(b"\xf2\xff\x03\x03new");
    let config = parse("f", &bytes, ConfigFormat::Binary).unwrap();
    assert_eq!(config.encode_to_vec(), bytes);
}

#[allow(deprecated, reason = "older services still read them")]
#[test]
fn what_is_always_sent() {
    let config = completed("duration_ms: 1").unwrap();
    assert_eq!(config.enable_extra_guardrails, Some(false));
    assert_eq!(config.statsd_metadata, Some(TraceConfigStatsdMetadata::default()));
    assert_eq!(config.statsd_logging, Some(TraceConfigStatsdLogging::STATSD_LOGGING_DISABLED));
    let (msb, lsb) = (config.trace_uuid_msb.unwrap(), config.trace_uuid_lsb.unwrap());
    assert_eq!((msb >> 12) & 0xf, 4, "version 4");
    assert_eq!(lsb.cast_unsigned() >> 62, 0b10, "variant");
    let other = completed("duration_ms: 1").unwrap();
    assert_ne!(other.trace_uuid_lsb, Some(lsb));
    let set = completed("trace_uuid_msb: 1 trace_uuid_lsb: 2").unwrap();
    assert_eq!((set.trace_uuid_msb, set.trace_uuid_lsb), (Some(1), Some(2)));
}

#[test]
fn a_start_delay_needs_both_ends() {
    for delay in ["min_delay_ms: 5", "max_delay_ms: 5", "min_delay_ms: 6 max_delay_ms: 5"] {
        let failure = completed(&format!("cmd_trace_start_delay {{ {delay} }}")).unwrap_err();
        assert!(failure.text.contains("cmd_trace_start_delay needs"), "{delay}: {failure}");
    }
    assert!(completed("cmd_trace_start_delay { min_delay_ms: 5 max_delay_ms: 5 }").is_ok());
}

#[test]
fn defaults_follow_their_purpose() {
    let light = light::Light::default();
    let all = builtin::Machine { has_cpu_frequencies: true, has_pressure: true };
    let machine = builtin::default(&light, builtin::Purpose::Machine, all);
    let command = builtin::default(&light, builtin::Purpose::Command, all);
    assert_eq!((machine.duration_ms, command.duration_ms), (Some(5000), Some(0)));
    assert_eq!((machine.data_sources.len(), command.data_sources.len()), (3, 4));
    // Periods must be multiples of the smallest, or linux.sys_stats polls nothing.
    let stats = machine.data_sources[1].config.clone().unwrap().sys_stats_config.unwrap();
    for period in [stats.vmstat_period_ms, stats.diskstat_period_ms, stats.psi_period_ms] {
        assert_eq!(period.unwrap() % stats.stat_period_ms.unwrap(), 0);
    }
}

#[test]
fn a_file_of_the_default_config_is_flushed() {
    let machine = builtin::Machine { has_cpu_frequencies: true, has_pressure: true };
    for (file_kb, flushes) in [(None, false), (Some(0), false), (Some(10), true)] {
        let light = light::Light { file_kb, ..light::Light::default() };
        let config = builtin::default(&light, builtin::Purpose::Machine, machine);
        assert_eq!(config.write_into_file.is_some(), flushes);
        assert_eq!(config.flush_period_ms.is_some(), flushes);
    }
}

/// A data source complains of what the kernel does not tell, so the default config does not ask for it.
#[test]
fn the_default_config_follows_the_machine() {
    let periods = |has_cpu_frequencies, has_pressure| {
        let machine = builtin::Machine { has_cpu_frequencies, has_pressure };
        let config = builtin::default(&light::Light::default(), builtin::Purpose::Machine, machine);
        let stats = config.data_sources[1].config.clone().unwrap().sys_stats_config.unwrap();
        (stats.cpufreq_period_ms, stats.psi_period_ms)
    };
    assert_eq!(periods(true, true), (Some(250), Some(1000)));
    assert_eq!(periods(true, false), (Some(250), None));
    assert_eq!(periods(false, true), (None, Some(1000)));
}

#[test]
fn several_files_are_one_config() {
    let files = |texts: [&str; 2]| texts.map(|text| ("f".to_owned(), text.as_bytes().to_vec()));
    let config =
        parse_files(&files(["buffers { size_kb: 4 } duration_ms: 1", "duration_ms: 2"]), TEXT);
    let config = config.unwrap();
    assert_eq!((config.buffers.len(), config.duration_ms), (1, Some(2)));
    assert!(parse_files(&files(["", "duration_ms: 2"]), TEXT).is_ok());
    assert_eq!(parse_files(&files(["", ""]), TEXT).unwrap_err().text, "the config f f is empty");
    let failure = parse_files(&files(["duration_ms: 1", "nope: 2"]), TEXT).unwrap_err();
    assert!(failure.text.contains("f:1:1 error"), "{failure}");
}
