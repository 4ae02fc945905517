//! `fastrace`: spans below one root span for each burst.

use std::hint::black_box;

use fastrace::collector::{Config, Reporter, SpanRecord};
use fastrace::local::LocalSpan;
use fastrace::prelude::{Span, SpanContext};

use crate::contender::{Contender, Mode, no_bytes, nothing};

pub const CONTENDER: Contender = Contender {
    name: "fastrace 0.7.19",
    init: nothing,
    start: || fastrace::set_reporter(Discard, Config::default()),
    burst,
    clear_thread: nothing,
    drain: fastrace::flush,
    stop: no_bytes,
};

struct Discard;

impl Reporter for Discard {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans);
    }
}

/// Spans of one root at a time: more would be dropped.
const PER_ROOT: u32 = 2000;

fn burst(mode: Mode, count: u32) -> bool {
    if mode == Mode::Disabled {
        for _ in 0..count {
            drop(LocalSpan::enter_with_local_parent("event"));
        }
        return true;
    }
    for first in (0..count).step_by(PER_ROOT as usize) {
        let root = Span::root("burst", SpanContext::random());
        let _parent = root.set_local_parent();
        for n in first..count.min(first + PER_ROOT) {
            match mode {
                Mode::Slice => drop(LocalSpan::enter_with_local_parent("event")),
                Mode::Args => {
                    let span = LocalSpan::enter_with_local_parent("event");
                    let properties = || [("n", n.to_string()), ("m", black_box(7_u64).to_string())];
                    drop(span.with_properties(properties));
                }
                Mode::String => {
                    let span = LocalSpan::enter_with_local_parent("event");
                    drop(span.with_property(|| ("text", black_box("sixteen letters."))));
                }
                Mode::Disabled | Mode::Instant | Mode::Counter => return false,
            }
        }
    }
    true
}
