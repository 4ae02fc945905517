use super::*;
use crate::doctor::tests::{good, process};

fn check(edit: impl FnOnce(&mut Tracefs)) -> Option<Obstacle> {
    let mut tracefs = good().tracefs.unwrap();
    edit(&mut tracefs);
    obstacle(&tracefs)
}

#[test]
fn obstacles() {
    assert_eq!(check(|_| ()), None);
    let rights =
        |text: &str| Some(Obstacle::Rights(format!("{text}; use sudo, or see `tracebox doctor`")));
    let told = |edit: fn(&mut Tracefs)| match check(edit) {
        Some(Obstacle::Rights(text)) => text,
        other => panic!("{other:?}"),
    };
    let missing = told(|t| t.path = None);
    assert!(missing.contains("`sudo mount -t tracefs tracefs /sys/kernel/tracing`"), "{missing}");
    let none = told(|t| (t.path, t.is_in_kernel) = (None, false));
    assert_eq!(none, "this kernel, or this container, has no tracefs");
    // A read-only tracefs is an obstacle also for root, who may do everything else.
    let read_only = told(|t| t.is_read_only = true);
    assert!(read_only.contains("`sudo mount -o remount,rw /sys/kernel/tracing`"), "{read_only}");
    let closed = check(|t| t.closed = vec!["trace".to_owned()]);
    assert_eq!(closed, rights("this user has no rights to /sys/kernel/tracing"));
    let on = |tracefs: &mut Tracefs| tracefs.state.as_mut().unwrap().enabled_count = 1;
    assert!(matches!(check(on), Some(Obstacle::Foreign(_))));
    let tracer = check(|t| t.state.as_mut().unwrap().tracer = "blk".to_owned());
    assert!(matches!(tracer, Some(Obstacle::Foreign(_))));
    let ours = check(|tracefs| {
        on(tracefs);
        let holder = Some(process(9, "tracebox"));
        tracefs.records = Records::Seen { files: Vec::new(), holder };
    });
    let Some(Obstacle::InUse(text)) = ours else { panic!("{ours:?}") };
    assert!(text.starts_with("tracebox (pid 9) records them now"), "{text}");
    // The next recording puts back what a killed one has left, before it begins.
    let killed = check(|tracefs| {
        on(tracefs);
        tracefs.records = Records::Seen { files: vec!["root.ftrace".to_owned()], holder: None };
    });
    assert_eq!(killed, None);
    // A daemon that waits for sessions.
    let idle = check(|tracefs| {
        let holder = Some(process(9, "traced_probes"));
        tracefs.records = Records::Seen { files: Vec::new(), holder };
    });
    assert_eq!(idle, None);
}
