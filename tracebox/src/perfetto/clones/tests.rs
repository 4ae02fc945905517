use super::*;

#[test]
fn who_is_saved_under_which_name() {
    let session = |id, score, state: &str, name: Option<&str>| TracingServiceStateTracingSession {
        id: Some(id),
        state: Some(state.into()),
        bugreport_score: score,
        bugreport_filename: name.map(str::to_owned),
        ..TracingServiceStateTracingSession::default()
    };
    let sessions = vec![
        session(1, Some(5), "STARTED", None),
        session(2, Some(9), "STARTED", None),
        session(3, Some(0), "STARTED", None),
        session(4, None, "STARTED", None),
        session(5, Some(99), "CONFIGURED", None),
        session(6, Some(5), "STARTED", Some("../../etc/passwd")),
        session(7, Some(1), "STARTED", Some("mine")),
        session(8, Some(1), "STARTED", Some("mine")),
        session(9, Some(1), "STARTED", Some("..")),
        session(10, Some(1), "STARTED", Some("")),
    ];
    let found = ranked(sessions, |name| name == "systrace_1.pftrace");
    let found: Vec<_> = found.iter().map(|it| (it.id, it.file_name.as_str())).collect();
    assert_eq!(
        found,
        [
            (2, "systrace.pftrace"),
            (1, "systrace_2.pftrace"),
            (6, "systrace_3.pftrace"),
            (7, "mine"),
            (8, "mine_1"),
            (9, "systrace_4.pftrace"),
            (10, "systrace_5.pftrace"),
        ]
    );
}

#[test]
fn a_bug_report_is_not_filtered() {
    assert_eq!(purpose(false), CloneSessionRequest::default());
    let report = purpose(true);
    assert_eq!((report.for_bugreport, report.skip_trace_filter), (Some(true), Some(true)));
}
