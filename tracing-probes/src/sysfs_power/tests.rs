use protos::{BatteryCounters, DataSourceConfig, TracePacketData};

use super::SysfsPowerProbe;
use crate::tests::{Alone, Packets, World};

fn counters(out: &mut Packets) -> Vec<BatteryCounters> {
    let counters = |packet: protos::TracePacket| match packet.data {
        Some(TracePacketData::Battery(counters)) => {
            assert_eq!(packet.timestamp, Some(1000));
            counters
        }
        other => panic!("{other:?}"),
    };
    out.take().into_iter().map(counters).collect()
}

fn put(world: &World, supply: &str, files: &[(&str, &str)]) {
    for (file, text) in files {
        world.put(&format!("sys/class/power_supply/{supply}/{file}"), text);
    }
}

#[test]
fn all_values_of_the_only_battery() {
    let world = World::new();
    put(&world, "AC", &[("type", "Mains\n"), ("present", "1\n"), ("voltage_now", "1\n")]);
    put(&world, "BAT1", &[("type", "Battery\n"), ("present", "0\n"), ("voltage_now", "1\n")]);
    let files = [
        ("type", "Battery\n"),
        ("present", "1\n"),
        ("charge_now", "3120000\n"),
        ("capacity", "87\n"),
        ("current_now", "-1500000\n"),
        ("energy_now", "45000000\n"),
        ("voltage_now", "x\n"),
    ];
    put(&world, "BAT0", &files);
    let mut out = Packets::default();
    let mut probe = Alone::<SysfsPowerProbe>::new(&world.root, &DataSourceConfig::default());
    probe.start(&mut out);
    assert_eq!(probe.period().unwrap().as_millis(), 1000);
    probe.tick(&mut out);
    let expected = BatteryCounters {
        charge_counter_uah: Some(3_120_000),
        capacity_percent: Some(87.0),
        current_ua: Some(-1_500_000),
        energy_counter_uwh: Some(45_000_000),
        ..Default::default()
    };
    assert_eq!(counters(&mut out), [expected]);
    // The mean counts if there is one, in the same field.
    put(&world, "BAT0", &[("current_avg", "-9\n"), ("voltage_now", "12000000\n")]);
    probe.tick(&mut out);
    let later = counters(&mut out);
    assert_eq!((later[0].current_ua, later[0].voltage_uv), (Some(-9), Some(12_000_000)));
    assert_eq!(later[0].current_avg_ua, None);
    // Unplugged.
    world.remove("sys/class/power_supply/BAT0");
    probe.tick(&mut out);
    assert_eq!(out.take(), []);
}

#[test]
fn several_batteries_have_names() {
    let world = World::new();
    for (name, volt) in [("BAT1", "2"), ("BAT0", "1")] {
        put(&world, name, &[("type", "Battery"), ("present", "1"), ("voltage_now", volt)]);
    }
    let mut out = Packets::default();
    let mut probe = Alone::<SysfsPowerProbe>::new(&world.root, &DataSourceConfig::default());
    probe.start(&mut out);
    probe.tick(&mut out);
    let counters = counters(&mut out);
    let names: Vec<_> = counters.iter().map(|c| (c.name.as_deref(), c.voltage_uv)).collect();
    assert_eq!(names, [(Some("BAT0"), Some(1)), (Some("BAT1"), Some(2))]);
    assert_eq!(world.log(), [""; 0]);
}

#[test]
fn a_machine_without_batteries_is_told_once() {
    let world = World::new();
    let mut out = Packets::default();
    let mut probe = Alone::<SysfsPowerProbe>::new(&world.root, &DataSourceConfig::default());
    probe.start(&mut out);
    assert_eq!((probe.period(), out.take().len(), world.log().len()), (None, 0, 1));
}
