//! When rings are read.

use super::*;

#[test]
fn passes_are_due_as_sessions_ask() {
    let mut world = World::new();
    let every = |ms| FtraceConfig { drain_period_ms: Some(ms), ..wants(&[FREQUENCY]) };
    assert_eq!(world.controller.due_ns(), None);
    let _one = world.start(1, every(500)).unwrap();
    assert_eq!(world.controller.due_ns(), Some(500_000_000));
    let _two = world.start(2, every(20)).unwrap();
    assert_eq!(world.controller.due_ns(), Some(20_000_000));
    world.controller.pass(45_000_000, &mut |_, _| {});
    assert_eq!(world.controller.due_ns(), Some(60_000_000));
    // A CPU with more pages than a pass reads makes the next one due at once.
    let full = (0..130).fold(Made::new(1), |made, _| made.event(1, &record(15)));
    world.play(CPU0, &vec![full; 300]);
    world.controller.pass(60_000_000, &mut |_, _| {});
    assert_eq!(world.controller.due_ns(), Some(60_000_000));
    world.controller.pass(61_000_000, &mut |_, _| {});
    assert_eq!(world.controller.due_ns(), Some(80_000_000));
}

#[test]
fn a_ring_that_fills_is_read() {
    let mut world = World::new();
    let found = world.fake.settings();
    let ready = |world: &mut World, mono_ns| world.controller.pass_ready(mono_ns, &mut |_, _| {});
    let one = world.start(1, polls(30)).unwrap();
    assert_eq!(world.fake.get("buffer_percent"), "30");
    assert_eq!(world.controller.polls_ns(), Some(0));
    // Passes by time are rare.
    assert_eq!(world.controller.due_ns(), Some(1_000_000_000));
    ready(&mut world, 5);
    assert_eq!((one.events(), world.controller.polls_ns()), (0, Some(0)), "no ring is full");
    world.play(CPU0, &[page(&[15])]);
    ready(&mut world, 5);
    assert_eq!((one.events(), world.controller.due_ns()), (1, Some(1_000_000_000)));
    // Not again at once.
    assert_eq!(world.controller.polls_ns(), Some(1_000_005));
    world.play(CPU0, &[page(&[15, 15])]);
    ready(&mut world, 1_000_004);
    assert_eq!(one.events(), 0);
    ready(&mut world, 1_000_005);
    assert_eq!(one.events(), 2);
    // More than a pass reads: the next one is due.
    let full = (0..130).fold(Made::new(1), |made, _| made.event(1, &record(15)));
    world.play(CPU0, &vec![full; 300]);
    ready(&mut world, 9_000_000);
    assert_eq!(world.controller.due_ns(), Some(9_000_000));
    world.controller.stop(1);
    assert_eq!((world.controller.polls_ns(), world.fake.settings()), (None, found));
}

#[test]
fn rings_that_nobody_polls_are_read_by_time() {
    let mut world = World::new();
    let _one = world.start(1, polls(0)).unwrap();
    assert_eq!(world.fake.get("buffer_percent"), "50", "the kernel's value stays");
    assert_eq!(world.controller.due_ns(), Some(1_000_000_000));
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..wants(&[FREQUENCY]) };
    let other = world.start(2, other).unwrap();
    assert_eq!(world.controller.due_ns(), Some(100_000_000));
    world.play(&format!("instances/other/{CPU0}"), &[page(&[15])]);
    world.controller.pass_ready(0, &mut |_, _| {});
    assert_eq!(other.events(), 0);
    // A period that a session asks for counts first.
    let _three = world.start(3, FtraceConfig { drain_period_ms: Some(7), ..polls(1) }).unwrap();
    assert_eq!(world.controller.due_ns(), Some(7_000_000));
}

/// Upstream: the main instance was never polled while nobody used it, and so all others were read by time.
#[test]
fn an_instance_that_nobody_uses_is_not_counted() {
    let mut world = World::new();
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..polls(30) };
    let _one = world.start(1, other).unwrap();
    assert_eq!(world.controller.due_ns(), Some(1_000_000_000));
    let _two = world.start(2, wants(&[FREQUENCY])).unwrap();
    assert_eq!(world.controller.due_ns(), Some(100_000_000));
    world.controller.stop(2);
    world.pass();
    assert_eq!(world.controller.due_ns(), Some(1_000_000_000));
}

#[test]
fn a_pipe_that_cannot_be_polled_is_read_by_time() {
    let mut world = World::new();
    // A CPU that was never on.
    world.fake.script(CPU0, [Next::Error(19)]);
    let one = world.start(1, polls(30)).unwrap();
    world.play(CPU0, &[page(&[15])]);
    world.controller.pass_ready(0, &mut |_, _| {});
    assert_eq!((one.events(), world.controller.polls_ns()), (0, Some(0)));
    // The other one is lost later: nothing is left to wait for.
    world.fake.script("per_cpu/cpu1/trace_pipe_raw", [Next::Error(19)]);
    world.controller.pass_ready(0, &mut |_, _| {});
    assert_eq!(world.controller.polls_ns(), None);
    world.pass();
    assert_eq!((one.events(), world.controller.due_ns()), (1, Some(100_000_000)));
}

#[test]
fn an_old_kernel_is_read_by_time_and_the_user_is_told() {
    for broken in [false, true] {
        let mut world = World::new();
        *world.here.is_old.borrow_mut() = !broken;
        if broken {
            for cpu in 0..2 {
                let pipe = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
                world.fake.script(&pipe, [Next::Error(19)]);
            }
        }
        let packets = world.start(1, polls(30)).unwrap();
        assert_eq!(world.controller.polls_ns(), None);
        assert_eq!(world.controller.due_ns(), Some(100_000_000));
        world.controller.flush(&[1], &mut |_, _| {});
        let told = packets.stats()[0].atrace_errors.clone().unwrap_or_default();
        assert!(told.contains("drain_buffer_percent is not used"), "{told}");
    }
}
