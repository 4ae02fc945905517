use super::*;
use protos::TraceConfigTriggerConfig;

#[test]
fn which_configs_want_them() {
    let config = |mode, clones| TraceConfig {
        trigger_config: Some(TraceConfigTriggerConfig {
            trigger_mode: mode,
            use_clone_snapshot_if_available: clones,
            ..TraceConfigTriggerConfig::default()
        }),
        ..TraceConfig::default()
    };
    assert!(!wanted(&TraceConfig::default()));
    assert!(wanted(&config(Some(TriggerMode::CLONE_SNAPSHOT), None)));
    assert!(wanted(&config(Some(TriggerMode::STOP_TRACING), Some(true))));
    assert!(!wanted(&config(Some(TriggerMode::STOP_TRACING), Some(false))));
    assert!(!wanted(&config(Some(TriggerMode::START_TRACING), None)));
}

#[test]
fn the_clone_knows_its_trigger() {
    let hit = ObservableEventsCloneTriggerHit {
        tracing_session_id: Some(-1),
        trigger_name: Some("t".into()),
        producer_name: Some("p".into()),
        producer_uid: Some(u32::MAX),
        boot_time_ns: Some(7),
        trigger_delay_ms: Some(8),
        ..ObservableEventsCloneTriggerHit::default()
    };
    let request = request(&hit);
    assert_eq!(request.selector, Some(CloneSessionRequestSelector::SessionId(u64::MAX)));
    assert_eq!(request.clone_trigger_name.as_deref(), Some("t"));
    assert_eq!(request.clone_trigger_producer_name.as_deref(), Some("p"));
    assert_eq!(request.clone_trigger_trusted_producer_uid, Some(-1));
    assert_eq!(
        (request.clone_trigger_boot_time_ns, request.clone_trigger_delay_ms),
        (Some(7), Some(8))
    );
    assert_eq!(numbered(Path::new("/a/b.pftrace"), 12), "/a/b.pftrace.12");
}
