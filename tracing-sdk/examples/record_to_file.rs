//! Records some work of this program into a file, without any service beside it:
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process --example record_to_file -- work.pftrace
//! ```
//!
//! The picture: the first thread has ten slices `round` of five milliseconds each, one after the other, with the argument
//! `number`. At the beginning of each is an instant `begun`. The process has a counter `done`, a staircase from 0 to 9.

#![allow(clippy::disallowed_methods, reason = "the sleep stands for work")]

use std::time::Duration;

use tracing_sdk::session::{SessionError, record_to_file};
use tracing_sdk::{categories, counter, instant, slice};

categories! {
    /// The work.
    WORK = "work";
}

fn main() -> Result<(), SessionError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "work.pftrace".to_owned());
    record_to_file(&path, &["work"], || {
        for round in 0..10 {
            let _slice = slice!(WORK, "round", number = round);
            instant!(WORK, "begun");
            counter!(WORK, "done", round);
            std::thread::sleep(Duration::from_millis(5));
        }
    })?;
    println!("{path} opens in https://ui.perfetto.dev");
    Ok(())
}
