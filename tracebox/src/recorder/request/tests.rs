use super::*;

fn request(out: Option<&str>, detach: Option<&str>) -> RecordRequest {
    RecordRequest {
        config: ConfigRequest {
            source: ConfigSource::Test,
            attributes: Vec::new(),
            notes: Vec::new(),
            statsd: TraceConfigStatsdMetadata::default(),
        },
        out: out.map(Into::into),
        no_clobber: false,
        background: Background::No,
        notify_fd: None,
        strict: false,
        detach: detach.map(Into::into),
    }
}

fn check(text: &str, request: &RecordRequest) -> Result<(), Failure> {
    let format = ConfigFormat::Text { lossy: false };
    request.check(&config::parse("f", text.as_bytes(), format)?)
}

#[test]
fn configs_that_contradict_the_command_line() {
    let exists = env!("CARGO_MANIFEST_DIR");
    let x = Some("x");
    for (text, out, about) in [
        ("duration_ms: 1".to_owned(), None, "say with -o where"),
        ("output_path: '/nowhere/t' write_into_file: true".into(), x, "does not go with -o"),
        (format!("output_path: '{exists}' write_into_file: true"), None, "exists already"),
        ("output_path: '/nowhere/t'".into(), None, "output_path needs write_into_file"),
    ] {
        let failure = check(&text, &request(out, None)).expect_err(&text);
        assert!(failure.text.contains(about), "{text}: {failure}");
    }
    let into_file = "output_path: '/nowhere/t' write_into_file: true";
    assert_eq!(check(into_file, &request(None, None)), Ok(()));
    assert_eq!(check("activate_triggers: 'a'", &request(None, None)), Ok(()));
    let failure = check("duration_ms: 1", &request(x, x)).unwrap_err();
    assert!(failure.text.contains("--detach needs"), "{failure}");
    assert_eq!(check("write_into_file: true", &request(x, x)), Ok(()));
}
