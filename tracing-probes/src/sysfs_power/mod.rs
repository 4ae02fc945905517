//! `linux.sysfs_power`: the batteries that the kernel has in `/sys/class/power_supply`.
//!
//! Each second there is a packet for each battery that was present at the start. A value that the kernel does not have,
//! or that is no number, is left out. `current_avg` stands in for `current_now`, in the same field, as upstream's
//! `linux_power_sysfs_data_source.cc` does; the sign of a current is that of the driver.

#[cfg(test)]
mod tests;

use std::time::Duration;

use protos::{BatteryCountersWriter, DataSourceConfig};

use crate::Root;
use crate::output::Output;
use crate::parse::signed;
use crate::probe::Probe;

const FOLDER: &str = "sys/class/power_supply";
/// Time between packets. No config changes it.
const PERIOD: Duration = Duration::from_secs(1);

/// Writes a value.
type Set =
    for<'a, 'w> fn(&'a mut BatteryCountersWriter<'w>, i64) -> &'a mut BatteryCountersWriter<'w>;

/// The values of a battery: the files that may have each, the last that does counts.
const VALUES: [(&[&str], Set); 5] = [
    (&["charge_now"], |w, micro_ah| w.charge_counter_uah(micro_ah)),
    (&["capacity"], |w, percent| w.capacity_percent(percent as f32)),
    (&["current_now", "current_avg"], |w, micro_a| w.current_ua(micro_a)),
    (&["energy_now"], |w, micro_wh| w.energy_counter_uwh(micro_wh)),
    (&["voltage_now"], |w, micro_v| w.voltage_uv(micro_v)),
];

/// One instance.
#[derive(Debug)]
pub(crate) struct SysfsPowerProbe {
    /// Names of folders, sorted.
    batteries: Vec<String>,
}

impl Probe for SysfsPowerProbe {
    const NAME: &'static str = "linux.sysfs_power";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = Root;

    fn new(_: &mut Root, _: &DataSourceConfig) -> Self {
        Self { batteries: Vec::new() }
    }

    fn start(&mut self, root: &mut Root, _: &mut dyn Output) {
        let is_battery = |name: &String| {
            let has = |file, text| {
                root.read_line(&format!("{FOLDER}/{name}/{file}")).as_deref() == Some(text)
            };
            !name.starts_with('.') && has("type", "Battery") && has("present", "1")
        };
        self.batteries = root.names(FOLDER).unwrap_or_default();
        self.batteries.retain(is_battery);
        self.batteries.sort_unstable();
        if self.batteries.is_empty() {
            root.warn("sysfs_power: /sys/class/power_supply has no battery: nothing is recorded");
        }
    }

    fn period(&self) -> Option<Duration> {
        (!self.batteries.is_empty()).then_some(PERIOD)
    }

    fn tick(&mut self, root: &mut Root, out: &mut dyn Output) {
        for battery in &self.batteries {
            let value = |file: &str| {
                signed(root.read_line(&format!("{FOLDER}/{battery}/{file}"))?.trim().as_bytes())
            };
            let now_ns = out.clock()();
            let values = VALUES
                .map(|(files, set)| (files.iter().filter_map(|file| value(file)).next_back(), set));
            if values.iter().all(|(value, _)| value.is_none()) {
                continue;
            }
            out.packet(&mut |packet| {
                packet.timestamp(now_ns);
                let mut counters = packet.battery();
                for (value, set) in &values {
                    if let Some(value) = value {
                        set(&mut counters, *value);
                    }
                }
                if self.batteries.len() > 1 {
                    counters.name(battery);
                }
            });
        }
    }
}
