//! Records the beginning of this program, before a session asks for it, and before `traced` runs:
//!
//! ```text
//! cargo run -p tracebox-sdk --example startup
//! ```
//!
//! Within ten seconds, or the number of seconds in the first argument, record with an equal config:
//!
//! ```text
//! tracebox --system-sockets -t 2s -o startup.pftrace --txt -c - <<'END'
//! buffers { size_kb: 4096 }
//! data_sources { config { name: "track_event" track_event_config {
//!     enabled_categories: "boot" disabled_categories: "*" } } }
//! END
//! ```
//!
//! The trace begins with the slice `boot`, although the session started later.

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use tracing_sdk::{Init, Startup, StartupAbort, StartupEvent, categories, instant, slice};

categories! {
    /// The beginning of the program.
    BOOT = "boot";
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let (tell, events) = mpsc::channel();
    let startup = Startup::new()
        .track_events(&["boot"])
        .timeout(Duration::from_secs(seconds))
        // Nobody listens when the program ends.
        .on_event(move |event| drop(tell.send(event.clone())));
    Init::new().startup(startup).system()?;

    let boot = slice!(BOOT, "boot");
    for number in 0..1000_u64 {
        instant!(BOOT, "step", number = number);
    }
    drop(boot);

    for event in events {
        match event {
            StartupEvent::Started { source } => println!("{source} records"),
            StartupEvent::Adopted { source } => {
                instant!(BOOT, "adopted");
                tracing_sdk::flush();
                println!("a session has all that {source} recorded");
            }
            StartupEvent::Aborted { reason: StartupAbort::Timeout, discarded_packets, .. } => {
                println!("nobody asked for these {discarded_packets} packets in time");
                return Ok(());
            }
            StartupEvent::Aborted { reason, discarded_packets, .. } => {
                println!("discarded {discarded_packets} packets: {reason}");
                return Ok(());
            }
            _ => {}
        }
    }
    Ok(())
}
