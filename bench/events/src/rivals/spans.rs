//! Layers of the crate `tracing`: an instant is an event, a slice is a span that is entered and closed.

use std::hint::black_box;
use std::io::sink;
use std::sync::{Mutex, PoisonError};

use tracing::{info, info_span};
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::prelude::*;

use super::{ours, perfetto_sdk};
use crate::contender::{Contender, Mode, no_bytes, nothing};

pub const OURS: Contender = Contender {
    name: "layer of tracing-sdk (ours)",
    init: || {
        ours::init();
        tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init();
    },
    start: || ours::start("*"),
    burst,
    clear_thread: nothing,
    drain: ours::drain,
    stop: ours::stop,
};

/// Without the registry of `tracing-subscriber`.
pub const OUR_SUBSCRIBER: Contender = Contender {
    name: "subscriber of tracing-sdk (ours)",
    init: || {
        ours::init();
        tracing_sdk::layer::Subscriber::default().install().expect("the only subscriber");
    },
    ..OURS
};

pub const PERFETTO_SDK: Contender = Contender {
    name: "tracing-perfetto-sdk 1.0.0",
    init: || {
        tracing_perfetto_sdk::init_in_process();
        tracing_subscriber::registry().with(tracing_perfetto_sdk::PerfettoLayer::new()).init();
    },
    start: || perfetto_sdk::start("tracing"),
    burst,
    clear_thread: nothing,
    drain: perfetto_sdk::drain,
    stop: perfetto_sdk::stop,
};

/// Records from the beginning, so nothing of it is ever disabled.
pub const PERFETTO: Contender = Contender {
    name: "tracing-perfetto 0.1.5",
    init: nothing,
    start: || {
        let layer = tracing_perfetto::PerfettoLayer::new(Mutex::new(sink()));
        tracing_subscriber::registry().with(layer).init();
    },
    burst: burst_if_recording,
    clear_thread: nothing,
    drain: nothing,
    stop: no_bytes,
};

static CHROME_GUARD: Mutex<Option<FlushGuard>> = Mutex::new(None);

/// Records from the beginning, so nothing of it is ever disabled.
pub const CHROME: Contender = Contender {
    name: "tracing-chrome 0.7.2",
    init: nothing,
    start: || {
        let (layer, guard) = ChromeLayerBuilder::new().include_args(true).writer(sink()).build();
        tracing_subscriber::registry().with(layer).init();
        *CHROME_GUARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    },
    burst: burst_if_recording,
    clear_thread: nothing,
    drain: || {
        let guard = CHROME_GUARD.lock().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().expect("a guard").flush();
    },
    stop: no_bytes,
};

/// What the crates `tracing` and `tracing-subscriber` cost by themselves.
pub const NOTHING: Contender = Contender {
    name: "a layer that does nothing",
    init: nothing,
    start: || {
        tracing_subscriber::registry().with(tracing_subscriber::layer::Identity::new()).init()
    },
    burst: burst_if_recording,
    clear_thread: nothing,
    drain: nothing,
    stop: no_bytes,
};

fn burst_if_recording(mode: Mode, count: u32) -> bool {
    mode != Mode::Disabled && burst(mode, count)
}

fn burst(mode: Mode, count: u32) -> bool {
    match mode {
        Mode::Instant => {
            for _ in 0..count {
                info!("event");
            }
        }
        Mode::Disabled | Mode::Slice => {
            for _ in 0..count {
                drop(info_span!("event").entered());
            }
        }
        Mode::Args => {
            for n in 0..count {
                drop(info_span!("event", n, m = black_box(7_u64)).entered());
            }
        }
        Mode::String => {
            let text = black_box("sixteen letters.");
            for _ in 0..count {
                drop(info_span!("event", text).entered());
            }
        }
        Mode::Counter => return false,
    }
    true
}
