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

#[test]
fn a_snapshot_leaves_room_on_the_disk() {
    const MIB: u64 = 1 << 20;
    let small = |free| Disk { total: 200 * MIB, free };
    assert!(small(14 * MIB).check(4 * MIB).is_ok(), "10 MiB stay");
    let error = small(14 * MIB - 1).check(4 * MIB).unwrap_err().to_string();
    assert!(
        error.contains("a snapshot takes up to 4") && error.contains("max_per_24_h"),
        "{error}"
    );
    // Of a large disk a gigabyte stays.
    let large = |free| Disk { total: 1 << 40, free };
    assert!(large((1 << 30) + MIB).check(MIB).is_ok());
    assert!(large((1 << 30) + MIB - 1).check(MIB).is_err());
    let here = Disk::of(Path::new("trace")).unwrap();
    assert!(here.total >= here.free && here.total > 0);
    assert!(Disk::of(Path::new("/nowhere/trace")).is_err());
    let buffer = |size_kb| protos::TraceConfigBufferConfig { size_kb, ..Default::default() };
    let buffers = vec![buffer(Some(64)), buffer(None), buffer(Some(u32::MAX))];
    let config = TraceConfig { buffers, ..TraceConfig::default() };
    assert_eq!(snapshot_bytes(&config), (64 + u64::from(u32::MAX)) * 1024);
}

#[test]
fn the_disk_is_asked_before_the_service() {
    let mut worker = Worker {
        connect: Box::new(|| panic!("no connection is needed")),
        out: std::env::temp_dir().join("trace"),
        no_clobber: true,
        bytes: u64::MAX,
        next: 0,
        shared: Arc::default(),
        results: SnapshotResults::default(),
    };
    worker.take(&ObservableEventsCloneTriggerHit::default());
    assert_eq!((worker.results.failed, worker.results.outcomes.len()), (1, 0));
}
