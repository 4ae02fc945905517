use protos::{TraceConfigTriggerConfig, TraceConfigTriggerConfigTrigger};

use super::*;

#[test]
fn how_long_it_can_take() {
    let trigger = |stop_delay_ms| TraceConfigTriggerConfigTrigger {
        stop_delay_ms,
        ..TraceConfigTriggerConfigTrigger::default()
    };
    let config = |duration_ms, timeout, triggers: &[Option<u32>]| TraceConfig {
        duration_ms,
        trigger_config: Some(TraceConfigTriggerConfig {
            trigger_timeout_ms: timeout,
            triggers: triggers.iter().copied().map(trigger).collect(),
            ..TraceConfigTriggerConfig::default()
        }),
        ..TraceConfig::default()
    };
    assert_eq!(longest_ms(&TraceConfig::default()), None);
    assert_eq!(longest_ms(&config(Some(0), None, &[])), None);
    assert_eq!(longest_ms(&config(Some(5), None, &[])), Some(5));
    assert_eq!(longest_ms(&config(None, Some(7), &[])), Some(7));
    assert_eq!(longest_ms(&config(None, Some(7), &[Some(2), None, Some(9)])), Some(16));
    let most = u32::MAX;
    assert_eq!(longest_ms(&config(None, Some(most), &[Some(most)])), Some(2 * u64::from(most)));
}
