//! Which flushes a config asks for.

use super::*;
use FlushStrategy::{OnWrite, Periodic};
use protos::TraceConfig;

#[test]
fn strategies_by_config() {
    let choose = |mode: i32, write_ms, flush_ms| {
        let config = TraceConfig {
            write_into_file: Some(true),
            write_flush_mode: Some(protos::TraceConfigWriteFlushMode(mode)),
            file_write_period_ms: Some(write_ms),
            flush_period_ms: Some(flush_ms),
            ..Default::default()
        };
        FlushStrategy::choose(&config)
    };
    assert_eq!(choose(0, 0, 0), (Periodic(5000), None));
    assert_eq!(choose(1, 5001, 0).0, OnWrite);
    assert!(choose(1, 5001, 7).1.is_some());
    assert!(choose(1, 5001, 5000).1.is_some());
    assert_eq!(choose(1, 5001, 5001), (OnWrite, None));
    assert!(choose(0, 100, 4999).1.is_some());
    assert_eq!(choose(0, 100, 5000), (Periodic(5000), None));
    assert!(choose(3, 100, 99).1.is_some());
    assert_eq!(choose(3, 100, 100), (OnWrite, None));
    assert_eq!(choose(2, 5001, 0), (FlushStrategy::None, None));
    assert_eq!(choose(2, 5001, 7), (Periodic(7), None));
    assert_eq!(choose(3, 100, 0), (OnWrite, None));
    let no_file = TraceConfig { flush_period_ms: Some(7), ..Default::default() };
    assert_eq!(FlushStrategy::choose(&no_file).0, Periodic(7));
}
