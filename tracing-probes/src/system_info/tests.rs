use protos::{DataSourceConfig, SystemInfoConfig, TracePacketData};

use super::{Cpu, SystemInfoProbe, parse_cpus};
use crate::tests::{Alone, Packets, World};

const ARM: &str = "processor\t: 0\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd mte aes\n\
    CPU implementer\t: 0x51\nCPU architecture: 8\nCPU variant\t: 0xf\nCPU part\t: 0x804\n\
    CPU revision\t: 14\n\nprocessor\t: 1\nCPU implementer\t: 0x51\n";

#[test]
fn arm() {
    let cpus = parse_cpus(ARM.as_bytes());
    let first = Cpu {
        name: String::new(),
        arm: [Some(0x51), Some(8), Some(0xf), Some(0x804), Some(14)],
        features: 1,
    };
    assert_eq!(cpus.get(&0), Some(&first));
    assert_eq!(cpus.get(&1).unwrap().arm, [Some(0x51), None, None, None, None]);
    let old = parse_cpus(b"Processor : ARMv7 rev 1\nprocessor : 0\n");
    assert_eq!(old.get(&0).unwrap().name, "ARMv7 rev 1");
}

#[test]
fn x86_with_frequencies_and_interrupts() {
    let world = World::new();
    world
        .put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Xeon\nflags\t: fpu\n")
        .put(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies",
            "800000 1600000 \n",
        )
        .put("sys/devices/system/cpu/cpu0/cpufreq/scaling_boost_frequencies", "3200000\n")
        .put("sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n")
        .put("sys/kernel/irq/24/actions", "ACPI:Ged\n")
        .put("sys/kernel/irq/3/actions", "\n")
        .put("sys/kernel/irq/4/actions", "a,b\n");
    let config = DataSourceConfig {
        system_info_config: Some(SystemInfoConfig { irq_names: Some(true), ..Default::default() }),
        ..Default::default()
    };
    let mut out = Packets::default();
    Alone::<SystemInfoProbe>::new(&world.root, &config).start(&mut out);
    let packets = out.take();
    let [Some(TracePacketData::CpuInfo(cpus)), Some(TracePacketData::InterruptInfo(irqs))] =
        [packets[0].data.clone(), packets[1].data.clone()]
    else {
        panic!("{packets:?}");
    };
    let cpu = &cpus.cpus[0];
    assert_eq!(cpu.processor.as_deref(), Some("Xeon"));
    assert_eq!(cpu.frequencies, [800_000, 1_600_000, 3_200_000]);
    assert_eq!((cpu.capacity, &cpu.identifier, cpu.features), (Some(1024), &None, None));
    let irqs: Vec<_> = irqs.irq_mapping.iter().map(|i| (i.irq_id, i.name.as_deref())).collect();
    assert_eq!(irqs, [(Some(4), Some("a,b")), (Some(24), Some("ACPI:Ged"))]);
}

/// Readers count the processors: one that is off must not move the others.
#[test]
fn processors_that_are_off_keep_their_places() {
    let world = World::new();
    world
        .put("proc/cpuinfo", "processor\t: 1\nmodel name\t: a\n\nprocessor\t: 3\nmodel name\t: b\n")
        .put("sys/devices/system/cpu/cpu1/cpu_capacity", "512\n")
        .put("sys/devices/system/cpu/cpu2/cpu_capacity", "600\n")
        .put("sys/devices/system/cpu/cpu3/cpu_capacity", "1024\n");
    let mut out = Packets::default();
    let mut probe = Alone::<SystemInfoProbe>::new(&world.root, &DataSourceConfig::default());
    probe.start(&mut out);
    let cpus = |out: &mut Packets| match out.one().data {
        Some(TracePacketData::CpuInfo(info)) => info.cpus,
        other => panic!("{other:?}"),
    };
    let told: Vec<_> =
        cpus(&mut out).into_iter().map(|cpu| (cpu.processor, cpu.capacity)).collect();
    let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
    assert_eq!(told, [(None, None), (a, Some(512)), (None, Some(600)), (b, Some(1024))]);
    // A number that no machine has makes no list without end.
    world.put("proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 4294967295\n");
    probe.start(&mut out);
    assert_eq!(cpus(&mut out).len(), 1);
}

#[test]
fn nothing_to_read() {
    let world = World::new();
    let mut out = Packets::default();
    Alone::<SystemInfoProbe>::new(&world.root, &DataSourceConfig::default()).start(&mut out);
    assert_eq!(out.0, []);
    assert_eq!(world.log().len(), 1);
}
