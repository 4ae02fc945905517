//! One file for each contender.

mod cpp;
mod fastrace;
mod ours;
mod perfetto_sdk;
mod puffin;
mod recorder;
mod spans;

use crate::contender::Contender;

/// All of them, in the order of the tables.
pub const ALL: [&Contender; 13] = [
    &ours::MACROS,
    &ours::COUNTER_CLOCK,
    &cpp::CONTENDER,
    &perfetto_sdk::CONTENDER,
    &recorder::CONTENDER,
    &fastrace::CONTENDER,
    &puffin::CONTENDER,
    &spans::OURS,
    &spans::OUR_SUBSCRIBER,
    &spans::PERFETTO_SDK,
    &spans::PERFETTO,
    &spans::CHROME,
    &spans::NOTHING,
];
