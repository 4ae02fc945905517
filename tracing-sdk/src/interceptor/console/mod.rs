//! The interceptor `console`: it prints track events while they happen.
//!
//! ```text
//!   packet ──> names: interned names, times ──┐
//!                                             ├──> line ──> standard output, standard error, or a file
//!              tracks: titles, open slices ───┘
//! ```

mod line;
mod names;
mod numbers;
mod packet;
#[cfg(test)]
mod tests;
mod tracks;

use core::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::{Mutex, PoisonError};

use protos::{ConsoleConfigOutput, DataSourceConfig};

use self::line::line;
use self::names::Names;
use self::packet::Packet;
use self::tracks::Tracks;
use super::registry::{Interceptor, register};

/// Prints track events: a line for each beginning and end of a slice, each instant and each state, in the columns of
/// the interceptor of this name in the C++ SDK. Counters are not printed.
///
/// ```text
/// seconds   track             category
/// [  0.102] worker            net   fetch {(url:example.com)
/// [  0.103] worker            net   -  connected
/// [  0.117] worker            net   } fetch +15ms
/// ```
///
/// A session whose config has this for `track_event` is printed, once the program has called
/// [`register`](Self::register):
///
/// ```text
/// interceptor_config { name: "console" console_config { output: OUTPUT_STDERR enable_colors: false } }
/// ```
///
/// Both fields of `console_config` may be left out: then it prints to standard output, with colours if that is a
/// terminal.
///
/// Unlike in C++, control characters of names are escaped, so that an event is one line and cannot command the
/// terminal; times are right for all clocks and units of a config; a slice that ends on another thread than it has
/// begun on has its name at its end.
///
/// It remembers 8192 tracks. When there are more, it forgets those without an open slice, except threads and processes:
/// such a track is printed as a number later.
pub struct Console {
    /// Whether the config wants colours.
    colors: Option<bool>,
    has_colors: bool,
    /// None: there is no standard output. Otherwise a descriptor of its own, so that a line is one write, which waits
    /// for no lock of the program.
    output: Option<File>,
    start_ns: u64,
    tracks: Mutex<Tracks>,
}

impl Console {
    /// Makes it known as `console`. Call it before sessions start.
    pub fn register() {
        register("console", Self::new);
    }

    /// For the session of `config`: to print into a file, under another name.
    ///
    /// ```
    /// use tracing_sdk::interceptor::{self, Console};
    ///
    /// interceptor::register("events.log", |config| {
    ///     let file = std::fs::File::create("/tmp/events.log").expect("a file");
    ///     Console::new(config).output(file)
    /// });
    /// ```
    #[must_use]
    pub fn new(config: &DataSourceConfig) -> Self {
        let config = config.interceptor_config.as_ref();
        let config = config.and_then(|config| config.console_config.as_ref());
        let colors = config.and_then(|config| config.enable_colors);
        let wants = config.and_then(|config| config.output);
        let descriptor = match wants {
            Some(ConsoleConfigOutput::OUTPUT_STDERR) => io::stderr().as_fd().try_clone_to_owned(),
            _ => io::stdout().as_fd().try_clone_to_owned(),
        };
        let console = Self {
            colors,
            has_colors: colors == Some(true),
            output: None,
            start_ns: os::clock::boot_ns(),
            tracks: Mutex::default(),
        };
        match descriptor {
            Ok(descriptor) => console.output(File::from(descriptor)),
            // The program has closed it.
            Err(_) => console,
        }
    }

    /// Prints into `file`.
    #[must_use]
    pub fn output(mut self, file: File) -> Self {
        self.has_colors = self.colors.unwrap_or_else(|| file.is_terminal());
        self.output = Some(file);
        self
    }
}

impl Interceptor for Console {
    type Sequence = Sequence;

    fn packet(&self, Sequence(names): &mut Sequence, packet: &[u8]) {
        // Packets of the program's own data sources may have any content.
        let packet = Packet::read(packet);
        let time_ns = names.learn(&packet);
        let mut tracks = self.tracks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(descriptor) = packet.track_descriptor {
            tracks.describe(descriptor);
        }
        let line = packet.track_event.and_then(|event| {
            let since_start = i128::from(time_ns) - i128::from(self.start_ns);
            let printed = tracks.add(event, names, time_ns)?;
            Some(line(self.has_colors, since_start, &printed, event, names))
        });
        drop(tracks);
        if let Some((line, mut output)) = line.zip(self.output.as_ref()) {
            // A program goes on when nobody reads what it prints.
            let _ = output.write_all(line.as_bytes());
        }
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("has_colors", &self.has_colors).finish_non_exhaustive()
    }
}

/// What [`Console`] remembers of a sequence.
#[derive(Debug, Default)]
pub struct Sequence(Names);
