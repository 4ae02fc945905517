//! `tracebox lint` and `tracebox stats` over real traces.

use crate::world::World;

const SHORT: &str = "buffers { size_kb: 64 } duration_ms: 100
    data_sources { config { name: 'linux.system_info' } }";

#[test]
fn a_recorded_trace_has_no_findings() {
    let world = World::new();
    for compression in ["", "compression { zstd {} }"] {
        world.write("c", &format!("{SHORT} {compression}"));
        world.run("tracebox -c c --txt -o trace").good();
        let count = world.packets("trace").len();
        let ran = world.run("tracebox lint trace").good();
        assert!(ran.text().ends_with(" events: no findings\n"), "{ran:?}");
        let ran = world.run("tracebox stats trace").good();
        assert!(ran.text().contains("  system_info\n"), "{ran:?}");
        let ran = world.run("tracebox stats --json trace").good();
        let shown = ran.text().contains(&format!("\"packets\": {count},"));
        assert!(shown || !compression.is_empty(), "{ran:?}");
    }
}

#[test]
fn findings_and_broken_files_have_exit_codes() {
    let world = World::new();
    std::fs::write(world.path("bad"), b"\x0a\x06\x40\x05\x5a\x02\x48\x01").unwrap();
    let ran = world.run("tracebox lint bad");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.text().starts_with("packet 0 at 2: error: track_event_missing_sequence_id: "));
    let ran = world.run("tracebox lint --json bad");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.text().contains("\"findings\": 1"), "{ran:?}");
    std::fs::write(world.path("cut"), b"\x0a\x06\x40").unwrap();
    let why = "cut: packet 0 at 0: the trace is cut off; copy the whole file";
    world.run("tracebox lint cut").failed(2, why);
    world.run("tracebox stats cut").failed(2, why);
    world.run("tracebox lint nothing").failed(2, "cannot read nothing");
    world.run("tracebox stats nothing").failed(2, "cannot read nothing");
}
