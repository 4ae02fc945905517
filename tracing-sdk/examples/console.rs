//! Prints what the program does, and stores nothing: a session whose config asks for the interceptor `console`.
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process,text --example console
//! ```
//!
//! The picture: lines on the terminal, one for each event. Their columns are seconds since the session has started, the
//! track, the category, and a dash for each slice around the event:
//!
//! ```text
//! [  0.000] console           app   start {
//! [  0.000] console           app   -  read(path:settings.toml)
//! [  0.000] worker            app   job {(number:1)
//! [  0.012] worker            app   } job +12ms
//! [  0.012] console           app   } start +12ms
//! ```
//!
//! A program that connects to `traced` prints, too, if a session there asks for it with the same lines of config.

use std::error::Error;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing_sdk::interceptor::Console;
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{categories, instant, slice};

categories! {
    APP = "app";
}

const CONFIG: &str = r#"
    buffers { size_kb: 64 }
    data_sources {
      config {
        name: "track_event"
        track_event_config { enabled_categories: "app" disabled_categories: "*" }
        interceptor_config { name: "console" console_config { output: OUTPUT_STDERR } }
      }
    }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    Console::register();
    let session = Session::in_process(&Config::from_text(CONFIG)?)?;
    session.start()?;
    let start = slice!(APP, "start");
    instant!(APP, "read", path = "settings.toml");
    let worker = thread::Builder::new().name("worker".to_owned()).spawn(|| {
        let _slice = slice!(APP, "job", number = 1);
        // Nobody sends it, so this takes twelve milliseconds.
        let (_sender, message) = mpsc::channel::<()>();
        let _ = message.recv_timeout(Duration::from_millis(12));
    })?;
    let _ = worker.join();
    drop(start);
    session.stop()?;
    Ok(())
}
