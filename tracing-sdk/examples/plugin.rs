//! A library that a program loads at run time and that traces itself: `plugin_run` is its function.
//!
//! `cargo build -p tracebox-sdk --example plugin` makes it. A test, `tracing-sdk/tests/life/plugin.rs`, is a program that loads it.
//!
//! It has a copy of the SDK of its own, so it is a producer beside the program's. Both name the same process and
//! threads, so a trace shows the slices of both on one track:
//!
//! ```text
//!   main thread   [ host .......................... ]
//!                    [ plugin: work ]  [ plugin: work ]
//! ```
#![allow(unsafe_code)]

use std::time::Duration;

use tracing_sdk::{Flow, Init, categories, slice};

categories! {
    /// Work of the plugin.
    PLUGIN = "plugin";
}

/// Does some work. The program calls it as often as it likes.
// SAFETY: no other function of the program or of its libraries has this name.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_run() {
    // The first call connects. It waits for the sessions that run, as this work is short.
    if Init::new().name("plugin").wait(Duration::from_secs(10)).system().is_ok() {
        // Flows of each copy of the SDK have numbers of their own.
        let _work = slice!(PLUGIN, "work", flow = Flow::new());
    }
}
