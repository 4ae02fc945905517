use super::*;
use protos::TraceAttributesAttributeValue;

use crate::cli;
use crate::config::light::Light;
use crate::config::{ConfigFormat, ConfigRequest, ConfigSource};

fn plan_of(line: &str, program: Program) -> Result<Plan, Failure> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    plan(cli::parse::<Perfetto>("perfetto", &words)?.expect("no help"), program)
}

fn recorded(line: &str, program: Program) -> RecordRequest {
    match plan_of(line, program) {
        Ok(Plan::Record(record)) => *record,
        other => panic!("{line}: {other:?}"),
    }
}

/// Each line is refused, with one line that names what is wrong.
#[test]
fn bad_combinations() {
    for (line, about) in [
        ("", "say what to record"),
        ("-o x", "say what to record"),
        ("--long", "--long goes with --query"),
        ("--query --query-raw", "--query and --query-raw"),
        ("--query --attach=k", "--query does not go with --attach"),
        ("--query --detach=k", "--query does not go with --detach"),
        ("--query -d", "--query does not go with --background"),
        ("--query-raw -D", "--query-raw does not go with --background-wait"),
        ("--query --clone 1", "--query does not go with --clone"),
        ("--query -c f", "takes no config"),
        ("--query -t 1s", "takes no config"),
        ("--query sched", "takes no config"),
        ("--query -o x", "takes no -o"),
        ("--query-raw -o x", "--query-raw records nothing: it takes no -o"),
        ("--attach=a --detach=b", "--attach does not go with --detach"),
        ("--attach=a --is_detached=a", "--attach and --is_detached"),
        ("--attach=a -c f", "takes no config"),
        ("--attach=a -o x", "takes no -o"),
        ("--attach=a --clone 1", "--attach does not go with --clone"),
        ("--is_detached=a -t 1s", "--is_detached is about a session that runs: it takes no config"),
        ("--stop", "--stop goes with --attach"),
        ("--stop --detach=k -c f -o x", "--stop goes with --attach"),
        ("--txt --txt-lossy -c f -o x", "--txt and --txt-lossy"),
        ("--txt -t 1s -o x", "name one with -c"),
        ("--detach=k -d -c f -o x", "--background does not go with --detach"),
        ("--detach=k -D -c f -o x", "--background-wait does not go with --detach"),
        ("--clone 1 --clone-by-name n -o x", "--clone and --clone-by-name"),
        ("--clone-for-bugreport -o x", "--clone-for-bugreport goes with"),
        ("--clone 1", "where to write the copy"),
        ("--clone 1 -c f -o x", "takes no config"),
        ("--clone-by-name n -t 1s -o x", "--clone-by-name copies a session that runs"),
        ("--clone 1 -d -o x", "--clone does not go with --background"),
        ("-c :mem -o x", ":mem is not in this version"),
        ("-c :test -t 1s -o x", "-c :test is a whole config"),
        ("-c :test -c f -o x", "-c :test is a whole config"),
        ("--clone -2 -o x", "a session has a number as its id"),
        ("--add-note =v -t 1s -o x", "--add-note \"=v\" has no key"),
        ("--conf f -o x", "unexpected argument '--conf'"),
        ("-d -t 1s -o -", "no stdout"),
        ("-d --notify-fd 3 -t 1s -o x", "--notify-fd stays in the foreground"),
        ("--upload -t 1s", "Android"),
        ("--dropbox t -t 1s", "Android"),
        ("--save-for-bugreport --save-all-for-bugreport", "exclude each other"),
        ("--save-for-bugreport -o x", "takes no -o"),
        ("--save-for-bugreport -c f", "takes no config"),
        ("--save-all-for-bugreport -t 1s", "takes no config"),
        ("--save-for-bugreport -d", "a bug report does not go with --background"),
        ("--save-for-bugreport --detach=k", "a bug report does not go with --detach"),
        ("--save-for-bugreport --notify-fd 3", "a bug report does not go with --notify-fd"),
        ("--save-for-bugreport --attach=k", "--attach does not go with --save-for-bugreport"),
        ("--save-all-for-bugreport --clone 1 -o x", "--clone does not go with --save-all"),
        ("--save-for-bugreport --query", "--query does not go with --save-for-bugreport"),
        ("--json", "--json goes with --query"),
        ("--query-raw --json", "--json goes with --query"),
        ("--query --json --long", "--long is for the table"),
        ("--query --notify-fd 3", "--query does not go with --notify-fd"),
        ("--attach=k --notify-fd 3", "--attach does not go with --notify-fd"),
        ("--clone 1 --notify-fd 3 -o x", "--clone does not go with --notify-fd"),
        ("--detach=k --notify-fd 3 -c f -o x", "--detach does not wait"),
        ("--detach=k --strict -c f -o x", "--detach does not see the end"),
        ("-d --strict -c f -o x", "its exit code would be lost"),
        ("--attach=a -d", "--attach does not go with --background"),
        ("--is_detached=a --stop", "--stop goes with --attach"),
        ("--is_detached=a --clone-by-name n", "--is_detached does not go with --clone-by-name"),
        ("--is_detached=a --detach=a", "--is_detached does not go with --detach"),
        ("--query --is_detached=a", "--query does not go with --is_detached"),
        ("--query-raw --long", "--long goes with --query"),
        ("--clone-by-name n --detach=k -o x", "--clone-by-name does not go with --detach"),
        ("--clone-for-bugreport --clone-by-name n", "where to write the copy"),
        ("--clone x -o x", "invalid value 'x'"),
        ("--add-attribute", "a value is required"),
        ("--add-attribute =v -t 1s -o x", "has no key"),
        ("--notify-fd x -t 1s -o x", "invalid value 'x'"),
        ("--no-such-option", "unexpected argument '--no-such-option'"),
        ("-o", "a value is required for '--out <FILE>'"),
    ] {
        let failure = plan_of(line, Program::Perfetto).expect_err(line);
        assert!(failure.text.contains(about), "{line}: {failure}");
        assert_eq!((failure.text.lines().count(), failure.code), (1, 1), "{line}: {failure}");
    }
}

#[test]
fn good_ones() {
    assert_eq!(plan_of("--version -c", Program::Perfetto).map_err(|f| f.code), Err(1));
    assert_eq!(plan_of("--version", Program::Perfetto), Ok(Plan::Version));
    assert_eq!(
        plan_of("--query", Program::Perfetto),
        Ok(Plan::Query(QueryFormat::Table { long: false }))
    );
    assert_eq!(
        plan_of("--query --long", Program::Perfetto),
        Ok(Plan::Query(QueryFormat::Table { long: true }))
    );
    assert_eq!(plan_of("--query --json", Program::Perfetto), Ok(Plan::Query(QueryFormat::Json)));
    assert_eq!(plan_of("--query-raw", Program::Perfetto), Ok(Plan::Query(QueryFormat::Raw)));
    assert_eq!(plan_of("--reset-guardrails", Program::Perfetto), Ok(Plan::ResetGuardrails));
    assert_eq!(plan_of("--is_detached=k", Program::Perfetto), Ok(Plan::IsDetached("k".into())));
    assert_eq!(
        plan_of("--attach=k --stop", Program::Perfetto),
        Ok(Plan::Attach { key: "k".into(), stop: true, strict: false })
    );
    let Ok(Plan::Clone(clone)) = plan_of("--clone-by-name n -o x --strict", Program::Perfetto)
    else {
        panic!("no clone");
    };
    assert_eq!(clone.of, CloneOf::Name("n".into()));
    assert!(clone.strict && !clone.for_bugreport);
    for (line, all) in [("--save-for-bugreport", false), ("--save-all-for-bugreport", true)] {
        let save = SaveRequest { all, no_clobber: false, strict: false };
        assert_eq!(plan_of(line, Program::Perfetto), Ok(Plan::Save(save)));
    }
}

#[test]
fn sources() {
    let source = |line| recorded(line, Program::Perfetto).config.source;
    let file = |path: &str, format| {
        let paths = path.split(' ').map(OsString::from).collect();
        ConfigSource::Files { paths, format, if_empty: None }
    };
    assert_eq!(source("-c f -o x"), file("f", ConfigFormat::Binary));
    assert_eq!(source("-c - --txt -o -"), file("-", ConfigFormat::Text { lossy: false }));
    assert_eq!(
        source("--config=f --txt-lossy --out=x"),
        file("f", ConfigFormat::Text { lossy: true })
    );
    assert_eq!(source("-c f -c g -o x"), file("f g", ConfigFormat::Binary));
    assert_eq!(source("-c :test -o x"), ConfigSource::Test);
    let ConfigSource::Files { if_empty, .. } = source("-c - -t 3s -o x") else {
        panic!("no files")
    };
    let expected = Light { duration_ms: Some(3000), ..Light::default() };
    assert_eq!(if_empty, Some(Box::new(ConfigSource::Light(expected))));
    let light = Light { duration_ms: Some(3000), ..Light::default() };
    assert_eq!(source("-t 3s -o x"), ConfigSource::Light(light.clone()));
    // tracebox has a default config for its own data sources, unless events are named.
    assert_eq!(
        recorded("-t 3s -o x", Program::Tracebox).config.source,
        ConfigSource::Default(light)
    );
    assert_eq!(
        recorded("-o x", Program::Tracebox).config.source,
        ConfigSource::Default(Light::default())
    );
    assert!(matches!(
        recorded("sched -o x", Program::Tracebox).config.source,
        ConfigSource::Light(_)
    ));
}

#[test]
fn background_and_the_rest() {
    let record = recorded("-D -t 1s -o x --no-clobber", Program::Perfetto);
    assert_eq!((record.background, record.no_clobber), (Background::Wait, true));
    assert_eq!(recorded("-d -t 1s -o x", Program::Perfetto).background, Background::Start);
    let record =
        recorded("-t 1s -o x --alert-id -5 --config-uid 7 --no-guardrails", Program::Perfetto);
    assert_eq!(record.config.statsd.triggering_alert_id, Some(-5));
    assert_eq!(record.config.statsd.triggering_config_uid, Some(7));
}

#[test]
fn attributes() {
    let line = "-t 1s -o x --add-attribute a --add-attribute b=c=d --add-attribute e=";
    let pairs: Vec<_> = recorded(line, Program::Perfetto)
        .config
        .attributes
        .into_iter()
        .map(|attribute| (attribute.key.unwrap(), attribute.value.unwrap()))
        .collect();
    let text = |text: &str| TraceAttributesAttributeValue::StringValue(text.to_owned());
    assert_eq!(
        pairs,
        [("a".to_owned(), text("")), ("b".to_owned(), text("c=d")), ("e".to_owned(), text("")),]
    );
}

#[test]
fn as_getopt_long_reads_them() {
    let clone = |line| match plan_of(line, Program::Perfetto) {
        Ok(Plan::Clone(clone)) => clone.of,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(clone("--clone -1 -o x"), CloneOf::Id(u64::MAX));
    assert_eq!(clone("--clone=-1 -o x"), CloneOf::Id(u64::MAX));
    assert_eq!(clone("--clone 7 -o x"), CloneOf::Id(7));
    let light = |line| match recorded(line, Program::Perfetto) {
        RecordRequest {
            config: ConfigRequest { source: ConfigSource::Light(light), .. },
            out,
            ..
        } => (light.duration_ms, out),
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(light("-t 1s -t 2s -o x -o y"), (Some(2000), Some("y".into())));
    assert_eq!(light("--ti 1s --ou=x"), (Some(1000), Some("x".into())));
    let notes =
        recorded("-t 1s -o x --add-note a=b=c --add-note d", Program::Perfetto).config.notes;
    let notes: Vec<_> = notes.into_iter().map(|note| (note.key, note.value)).collect();
    let note = |key: &str, value: &str| (Some(key.to_owned()), Some(value.to_owned()));
    assert_eq!(notes, [note("a", "b=c"), note("d", "")]);
}
