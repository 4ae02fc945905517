use super::*;
use crate::plan::Background;

const TEXT: Format = Format::Text { lossy: false };

fn record(out: Option<&str>) -> Record {
    Record {
        source: Source::Test,
        out: out.map(Into::into),
        no_clobber: false,
        background: Background::No,
        notify_fd: None,
        strict: false,
        detach: None,
        attributes: Vec::new(),
        statsd: TraceConfigStatsdMetadata::default(),
    }
}

fn completed(text: &str, record: &Record) -> Result<TraceConfig, Failure> {
    let mut config = parse("f", text.as_bytes(), TEXT)?;
    complete(&mut config, record)?;
    Ok(config)
}

#[test]
fn text_and_binary_are_told_apart() {
    let text = b"buffers { size_kb: 64 }\nduration_ms: 5";
    let config = parse("f", text, TEXT).unwrap();
    assert_eq!(config.duration_ms, Some(5));
    assert_eq!(parse("f", &config.encode_to_vec(), Format::Binary), Ok(config));
    let hint = parse("f", text, Format::Binary).unwrap_err();
    assert_eq!(hint.text, "the config f is text: add --txt");
    assert!(parse("f", b"# only a comment\n", Format::Binary).is_err());
    for (bytes, format) in [(&b""[..], Format::Binary), (b"", TEXT), (b"# a comment\n", TEXT)] {
        assert_eq!(parse("f", bytes, format).unwrap_err().text, "the config f is empty");
    }
    let broken = parse("f", b"\x0a\x7f", Format::Binary).unwrap_err();
    assert_eq!(
        broken.text,
        "the config f is no binary TraceConfig (is it text? add --txt): the input ends inside a field at byte 0"
    );
}

#[test]
fn mistakes_have_their_place() {
    let failure = parse("my.pbtx", b"buffers {\n  size_kbs: 64\n}", TEXT).unwrap_err();
    assert_eq!(
        failure.text,
        "the config is not valid\n\
         my.pbtx:2:3 error: no field named `size_kbs` in `perfetto.protos.TraceConfig.BufferConfig`: did you mean `size_kb`?\n  \
         size_kbs: 64\n  ^~~~~~~~"
    );
    let lossy = Format::Text { lossy: true };
    assert!(parse("f", b"nope: 1 buffers { size_kb: 1 nope {} }", lossy).is_ok());
    assert!(parse("f", b"duration_ms: 'a'", lossy).is_err());
}

#[test]
fn unknown_fields_pass_through() {
    let mut bytes = parse("f", b"duration_ms: 5", TEXT).unwrap().encode_to_vec();
    bytes.extend_from_slice(b"\xf2\xff\x03\x03new");
    let config = parse("f", &bytes, Format::Binary).unwrap();
    assert_eq!(config.encode_to_vec(), bytes);
}

#[allow(deprecated, reason = "older services still read them")]
#[test]
fn what_is_always_sent() {
    let config = completed("duration_ms: 1", &record(Some("x"))).unwrap();
    assert_eq!(config.enable_extra_guardrails, Some(false));
    assert_eq!(config.statsd_metadata, Some(TraceConfigStatsdMetadata::default()));
    assert_eq!(config.statsd_logging, Some(TraceConfigStatsdLogging::STATSD_LOGGING_DISABLED));
    let (msb, lsb) = (config.trace_uuid_msb.unwrap(), config.trace_uuid_lsb.unwrap());
    assert_eq!((msb >> 12) & 0xf, 4, "version 4");
    assert_eq!(lsb.cast_unsigned() >> 62, 0b10, "variant");
    let other = completed("duration_ms: 1", &record(Some("x"))).unwrap();
    assert_ne!(other.trace_uuid_lsb, Some(lsb));
    let set = completed("trace_uuid_msb: 1 trace_uuid_lsb: 2", &record(Some("x"))).unwrap();
    assert_eq!((set.trace_uuid_msb, set.trace_uuid_lsb), (Some(1), Some(2)));
}

#[test]
fn contradictions() {
    let exists = env!("CARGO_MANIFEST_DIR");
    let x = Some("x");
    for (text, out, about) in [
        ("duration_ms: 1".to_owned(), None, "say with -o where"),
        ("output_path: '/nowhere/t' write_into_file: true".into(), x, "does not go with -o"),
        (format!("output_path: '{exists}' write_into_file: true"), None, "exists already"),
        ("output_path: '/nowhere/t'".into(), None, "output_path needs write_into_file"),
        ("cmd_trace_start_delay { min_delay_ms: 5 }".into(), x, "cmd_trace_start_delay needs"),
        ("cmd_trace_start_delay { max_delay_ms: 5 }".into(), x, "cmd_trace_start_delay needs"),
        (
            "cmd_trace_start_delay { min_delay_ms: 6 max_delay_ms: 5 }".into(),
            x,
            "cmd_trace_start_delay needs",
        ),
    ] {
        let failure = completed(&text, &record(out)).expect_err(&text);
        assert!(failure.text.contains(about), "{text}: {failure}");
    }
    let detached = Record { detach: Some("k".into()), ..record(x) };
    let failure = completed("duration_ms: 1", &detached).unwrap_err();
    assert!(failure.text.contains("--detach needs"), "{failure}");
    assert!(completed("write_into_file: true", &detached).is_ok());
    assert!(completed("output_path: '/nowhere/t' write_into_file: true", &record(None)).is_ok());
    assert!(completed("activate_triggers: 'a'", &record(None)).is_ok(), "records nothing");
}

#[test]
fn defaults_follow_their_use() {
    let light = light::Light::default();
    let machine = builtin::default(&light, builtin::Use::Machine);
    let command = builtin::default(&light, builtin::Use::Command);
    assert_eq!((machine.duration_ms, command.duration_ms), (Some(5000), Some(0)));
    assert_eq!((machine.data_sources.len(), command.data_sources.len()), (3, 4));
    // Periods must be multiples of the smallest, or linux.sys_stats polls nothing.
    let stats = machine.data_sources[1].config.clone().unwrap().sys_stats_config.unwrap();
    for period in [stats.vmstat_period_ms, stats.diskstat_period_ms, stats.psi_period_ms] {
        assert_eq!(period.unwrap() % stats.stat_period_ms.unwrap(), 0);
    }
}
