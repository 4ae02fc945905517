//! What is run: how much is written, into which kind of buffer, and where it goes.

use crate::producer::{self, Load};

pub struct Scenario {
    /// For people.
    pub name: &'static str,
    pub load: Load,
    pub smb_kb: u32,
    pub v2: bool,
    pub into_file: bool,
    /// The buffer takes all of it, so that everything that was written is to be read.
    pub fits: bool,
}

/// The session's only buffer, MiB.
pub const BUFFER_MB: u64 = 64;

const SMALL: Load = Load { threads: 1, events: 6_000_000, text: 0, stall: true };
const LARGE: Load = Load { threads: 1, events: 190_000, text: 300, stall: true };
const PLAIN: Scenario =
    Scenario { name: "", load: SMALL, smb_kb: 4096, v2: false, into_file: false, fits: true };

/// Small events take 9 or 10 bytes of the buffer, those with a string 330: either nearly fills it.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "1 thread, 6 M events, over IPC", ..PLAIN },
    Scenario {
        name: "2 threads, 6 M events, V2, over IPC",
        load: Load { threads: 2, ..SMALL },
        v2: true,
        ..PLAIN
    },
    Scenario { name: "1 thread, 6 M events, into a file", into_file: true, ..PLAIN },
    Scenario {
        name: "2 threads, 20 M events, four times round",
        load: Load { threads: 2, events: 20_000_000, ..SMALL },
        fits: false,
        ..PLAIN
    },
    Scenario {
        name: "2 threads, 2 M events, 256 KB shared, dropping",
        load: Load { threads: 2, events: 2_000_000, stall: false, ..SMALL },
        smb_kb: 256,
        ..PLAIN
    },
    Scenario { name: "190 k events of 330 bytes, over IPC", load: LARGE, ..PLAIN },
    Scenario { name: "190 k events of 330 bytes, V2, over IPC", load: LARGE, v2: true, ..PLAIN },
    Scenario {
        name: "190 k events of 330 bytes, into a file",
        load: LARGE,
        into_file: true,
        ..PLAIN
    },
    Scenario {
        name: "10 k events of 6 KB, which need patches",
        load: Load { threads: 1, events: 10_000, text: 6000, stall: true },
        ..PLAIN
    },
];

impl Scenario {
    /// Runs in a round: a scenario that depends on scheduling varies most, and takes least time.
    pub fn repeats(&self) -> usize {
        if self.load.stall { 1 } else { 25 }
    }

    /// Its `TraceConfig`, as text.
    pub fn config(&self) -> String {
        let name = producer::NAME;
        let mode = if self.v2 { " experimental_mode: TRACE_BUFFER_V2" } else { "" };
        // Nothing is written before the end: reading is what is measured.
        let file = match self.into_file {
            true => "write_into_file: true\nfile_write_period_ms: 3600000\n",
            false => "",
        };
        format!(
            "buffers {{ size_kb: {}{mode} }}\n\
             data_sources {{ config {{ name: \"{name}\" }} }}\n\
             producers {{ producer_name: \"{name}\" shm_size_kb: {} page_size_kb: 4 }}\n{file}",
            BUFFER_MB * 1024,
            self.smb_kb
        )
    }
}
