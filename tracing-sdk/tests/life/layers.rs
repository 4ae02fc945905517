//! The layer of `tracing`, behind other types: it does not learn which subscriber it is in. Each is alone in a process,
//! because `tracing` does something else once there are several subscribers.

use std::process::Command;

use tracing::subscriber::{set_global_default, with_default};
use tracing::{Subscriber, info};
use tracing_sdk::layer::{self, Recorder, Wanted, layer};
use tracing_sdk::session::record;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

use crate::PART;
use crate::trace::events;

/// Where the layer is, and whether its subscriber is the default of one thread or of all.
const PLACE: &str = "LIFE_TEST_PLACE";
const PLACES: [&str; 7] =
    ["plain", "option", "list", "boxed", "option of a list", "by hand", "no registry"];

pub(crate) fn a_layer_records_wherever_it_is() {
    for place in PLACES {
        for scope in ["a thread", "all"] {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.env(PART, "has a layer").env(PLACE, format!("{place} {scope}"));
            assert!(command.status().expect("a process").success(), "{place}, {scope}");
        }
    }
}

pub(crate) fn record_all() {
    let all = std::env::var(PLACE).expect("a place");
    let is_global = all.ends_with("all");
    match all.trim_end_matches(" all").trim_end_matches(" a thread") {
        "plain" => check(is_global, registry().with(layer())),
        "option" => check(is_global, registry().with(Some(layer()))),
        "list" => check(is_global, registry().with(vec![layer(), layer()])),
        "boxed" => check(is_global, registry().with(layer().boxed())),
        "option of a list" => check(is_global, registry().with(Some(vec![layer()]))),
        "by hand" => {
            check(is_global, registry().with(Recorder::new().with_filter(Wanted::default())))
        }
        "no registry" => check(is_global, layer::Subscriber::default()),
        other => panic!("no place {other:?}"),
    }
}

/// Sessions that start later have the events of their time, and nothing is wanted between them.
fn check(is_global: bool, subscriber: impl Subscriber + Send + Sync + 'static) {
    let is_list = std::env::var(PLACE).is_ok_and(|place| place.starts_with("list"));
    let work = || info!("work");
    let all = || {
        for _ in 0..2 {
            work();
            let events = events(&record(&["life::layers"], work).expect("a recording"));
            let expected = ["instant life::layers work"].repeat(1 + usize::from(is_list));
            assert_eq!(events, expected);
            assert!(!tracing::enabled!(tracing::Level::ERROR), "nobody wants anything");
        }
    };
    if is_global {
        set_global_default(subscriber).expect("the only one");
        all();
    } else {
        with_default(subscriber, all);
    }
}
