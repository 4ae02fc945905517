//! `linux.system_info`: the processors, and the names of interrupts. It writes them once.

#[cfg(test)]
mod tests;

use abi::map::SortedMap;
use std::time::Duration;

use protos::{CpuInfoWriter, DataSourceConfig};

use crate::Root;
use crate::limits::CPUS_MAX;
use crate::output::Output;
use crate::parse::{hex_or_decimal, key_value, lines, number, text, words};
use crate::probe::Probe;

/// One instance.
#[derive(Debug)]
pub(crate) struct SystemInfoProbe {
    root: Root,
    irq_names: bool,
}

impl Probe for SystemInfoProbe {
    const NAME: &'static str = "linux.system_info";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = Root;

    fn new(root: &mut Root, config: &DataSourceConfig) -> Self {
        let config = config.system_info_config.as_ref();
        Self { root: root.clone(), irq_names: config.is_some_and(|c| c.irq_names == Some(true)) }
    }

    fn start(&mut self, _: &mut Root, out: &mut dyn Output) {
        let now_ns = out.clock()();
        let mut contents = Vec::new();
        match self.root.read("proc/cpuinfo", &mut contents) {
            Ok(()) => {
                let cpus = parse_cpus(&contents);
                out.packet(&mut |packet| {
                    packet.timestamp(now_ns);
                    let mut info = packet.cpu_info();
                    // Readers count, so one that is off has its place, and what sysfs still says of it.
                    let last = cpus.last_key_value().map(|(last, _)| *last);
                    let off = Cpu::default();
                    for number in last.map_or(0..0, |last| 0..last + 1) {
                        self.write_cpu(number, cpus.get(&number).unwrap_or(&off), &mut info);
                    }
                });
            }
            Err(error) => self.root.warn(&format!("/proc/cpuinfo is left out: {error}")),
        }
        let names = if self.irq_names { self.irq_names() } else { SortedMap::new() };
        if !names.is_empty() {
            out.packet(&mut |packet| {
                packet.timestamp(now_ns);
                let mut info = packet.interrupt_info();
                for (irq, name) in names.iter() {
                    info.irq_mapping().irq_id(*irq).name(name);
                }
            });
        }
    }

    fn period(&self) -> Option<Duration> {
        None
    }

    fn tick(&mut self, _: &mut Root, _: &mut dyn Output) {}
}

/// A section of `/proc/cpuinfo`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cpu {
    name: String,
    /// Implementer, architecture, variant, part, revision.
    arm: [Option<u32>; 5],
    features: u64,
}

/// Features of ARM cores that the schema has a bit for, in the order of the bits.
const FEATURES: [&[u8]; 2] = [b"mte", b"mte3"];

/// Processors by number, below [`CPUS_MAX`]. Before ARMv8 the name of all processors stands in a section of its own.
fn parse_cpus(contents: &[u8]) -> SortedMap<u32, Cpu> {
    let mut cpus = SortedMap::new();
    let mut current: Option<u32> = None;
    let mut name_of_all = String::new();
    for (key, value) in lines(contents).filter_map(key_value) {
        if key == b"processor" {
            let cpu = number(value).and_then(|n| u32::try_from(n).ok());
            current = cpu.filter(|cpu| *cpu < CPUS_MAX);
            if let Some(number) = current {
                cpus.insert(number, Cpu::default());
            }
            continue;
        }
        if key == b"Processor" {
            name_of_all = text(value).into_owned();
        }
        let Some(cpu) = current.and_then(|number| cpus.get_mut(&number)) else { continue };
        let arm = |id: &[u8]| match id {
            b"CPU implementer" => Some(0),
            b"CPU architecture" => Some(1),
            b"CPU variant" => Some(2),
            b"CPU part" => Some(3),
            b"CPU revision" => Some(4),
            _ => None,
        };
        if let Some(slot) = arm(key).and_then(|place: usize| cpu.arm.get_mut(place)) {
            *slot = hex_or_decimal(value);
        } else if key == b"model name" {
            cpu.name = text(value).into_owned();
        } else if key == b"Features" {
            for word in words(value) {
                if let Some(bit) = FEATURES.iter().position(|feature| *feature == word) {
                    cpu.features |= 1 << bit;
                }
            }
        }
    }
    let nameless = cpus.values_mut().filter(|cpu| cpu.name.is_empty());
    nameless.for_each(|cpu| cpu.name.clone_from(&name_of_all));
    cpus
}

impl SystemInfoProbe {
    fn write_cpu(&self, number: u32, cpu: &Cpu, info: &mut CpuInfoWriter<'_>) {
        let dir = format!("sys/devices/system/cpu/cpu{number}");
        let mut writer = info.cpus();
        if !cpu.name.is_empty() {
            writer.processor(&cpu.name);
        }
        for file in ["scaling_available_frequencies", "scaling_boost_frequencies"] {
            let line = self.root.read_line(&format!("{dir}/cpufreq/{file}")).unwrap_or_default();
            for khz in words(line.as_bytes()).filter_map(crate::parse::number) {
                writer.frequencies(u32::try_from(khz).unwrap_or(u32::MAX));
            }
        }
        let capacity = self.root.read_number(&format!("{dir}/cpu_capacity"));
        if let Some(Ok(capacity)) = capacity.map(u32::try_from) {
            writer.capacity(capacity);
        }
        if let [Some(implementer), architecture, variant, part, revision] = cpu.arm {
            let mut arm = writer.arm_identifier();
            arm.implementer(implementer).architecture(architecture.unwrap_or(0));
            arm.variant(variant.unwrap_or(0)).part(part.unwrap_or(0));
            arm.revision(revision.unwrap_or(0));
        }
        if cpu.features != 0 {
            writer.features(cpu.features);
        }
    }

    /// Names of the interrupts that have a handler.
    fn irq_names(&self) -> SortedMap<u32, String> {
        const DIR: &str = "sys/kernel/irq";
        let Some(irqs) = self.root.numbers(DIR, "") else {
            self.root.warn("/sys/kernel/irq is left out: it cannot be read");
            return SortedMap::new();
        };
        let named = irqs.into_iter().filter_map(|irq| {
            let name = self.root.read_line(&format!("{DIR}/{irq}/actions"))?;
            (!name.is_empty()).then_some((irq, name))
        });
        named.collect()
    }
}
