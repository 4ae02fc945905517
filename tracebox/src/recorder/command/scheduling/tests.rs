use super::*;

fn ftrace(tid: Option<u32>) -> FtraceConfig {
    let mut config = TraceConfig::default();
    add_to(&mut config, tid);
    let source = config.data_sources.remove(0).config.unwrap();
    assert_eq!(source.name.as_deref(), Some("linux.ftrace"));
    source.ftrace_config.clone().unwrap()
}

#[test]
fn what_a_thread_starts() {
    let followed = ftrace(Some(7));
    assert_eq!(followed.tids_to_trace, [7]);
    assert_eq!(followed.tracefs_options.len(), 1);
    assert!(followed.ftrace_events.contains(&"sched/sched_switch".to_owned()));
    let all = ftrace(None);
    assert!(all.tids_to_trace.is_empty() && all.tracefs_options.is_empty());
    assert_eq!(all.ftrace_events, followed.ftrace_events);
}
