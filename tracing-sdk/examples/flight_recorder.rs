//! A program that always records, and saves a trace when a request is slow or hangs, when a thread panics, and at its
//! end:
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process --example flight_recorder
//! ```
//!
//! The pictures: `slow.pftrace` has slices `request` on the first thread; that with the argument `number` 7 lasts 50
//! milliseconds, and the others almost nothing. `hangs.pftrace` was saved while that one went on, so it has no end
//! there. `panic.pftrace` has all ten requests, and an open slice `fails` on another thread. `end.pftrace` has the
//! same, with the slice `fails` ended by the panic. If the program runs again, `slow-2.pftrace`, `hangs-2.pftrace` and
//! `panic-2.pftrace` appear beside the first ones, and `end.pftrace` is replaced.

#![allow(clippy::disallowed_methods, reason = "the sleep stands for work")]

use std::time::Duration;

use tracing_sdk::session::{Config, Fill, FlightRecorder, SessionError};
use tracing_sdk::{categories, slice};

categories! {
    /// Requests.
    NET = "net";
}

fn request(number: u32) {
    let _slice = slice!(NET, "request", number = number);
    if number == 7 {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn main() -> Result<(), SessionError> {
    let directory = std::env::temp_dir();
    let config = Config::new().buffer_kb(4096, Fill::Ring).track_events(&["net"]);
    let recorder = FlightRecorder::start(config)?;
    recorder.dump_on_panic(directory.join("panic.pftrace"));

    for number in 0..10 {
        let limit = Duration::from_millis(20);
        // Also if the request never ends.
        let _watchdog = recorder.watchdog(limit, directory.join("hangs.pftrace"));
        recorder.dump_if_slow(limit, directory.join("slow.pftrace"), || request(number));
    }
    let panics = std::thread::spawn(|| {
        let _slice = slice!(NET, "fails");
        panic!("saves panic.pftrace");
    });
    let _ = panics.join();
    recorder.dump(directory.join("end.pftrace"))?;
    println!(
        "the newest slow*.pftrace, hangs*.pftrace, panic*.pftrace and end.pftrace are in {}",
        directory.display()
    );
    Ok(())
}
