//! A data source of the program's own: it samples the memory of this process on a thread while a session runs.
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process --example custom_data_source -- memory.pftrace
//! ```
//!
//! The picture: there is none. The trace has about twenty packets, ten milliseconds apart, with a text of
//! `/proc/self/statm` each; viewers show only packets that they know. `tracebox trace print memory.pftrace` prints them.

use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing_sdk::data_source::{DataSource, Registered, StopGuard};
use tracing_sdk::protos::DataSourceConfig;
use tracing_sdk::session::{Config, Session, SessionError};

static MEMORY: Registered<Memory> = Registered::new("com.example.memory");

/// One session that samples memory.
struct Memory {
    period: Duration,
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl DataSource for Memory {
    type Incremental = ();

    fn setup(config: &DataSourceConfig) -> Self {
        // A config of one's own is an extension of the schema, or a text here.
        let ms = config.legacy_config.as_deref().and_then(|text| text.parse().ok()).unwrap_or(100);
        Self { period: Duration::from_millis(ms), thread: Mutex::default() }
    }

    fn start(&self) {
        let (stop, stopped) = mpsc::channel();
        let period = self.period;
        let sample = move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                write_sample();
            }
        };
        if let Ok(mut thread) = self.thread.lock() {
            *thread = Some((stop, std::thread::spawn(sample)));
        }
    }

    fn stop(&self, stop: StopGuard) {
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some((sender, thread)) = thread {
            drop(sender);
            let _ = thread.join();
        }
        // A last sample: the instance records until the guard is dropped.
        write_sample();
        drop(stop);
    }
}

fn write_sample() {
    MEMORY.trace(|context| {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        context.packet(|packet| {
            packet.for_testing().str(status.trim_end());
        });
    });
}

fn main() -> Result<(), SessionError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "memory.pftrace".to_owned());
    MEMORY.register();
    let config = DataSourceConfig {
        name: Some(MEMORY.name().to_owned()),
        legacy_config: Some("10".to_owned()),
        ..Default::default()
    };
    let config = Config::new()
        .data_source(config)
        .duration(Duration::from_millis(200))
        .write_into_file(&path);
    let session = Session::in_process(&config)?;
    session.start()?;
    session.wait(None)?;
    println!("the samples are in {path}");
    Ok(())
}
