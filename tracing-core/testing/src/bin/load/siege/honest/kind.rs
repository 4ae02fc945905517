//! What an honest user needs of the service, besides buffers: each of it is refused to nobody because others use it up.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;

use client::consumer::{Consumer, ConsumerError, Waited};
use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, TraceConfig, TraceConfigCompressionConfig,
    TraceStats,
};

use super::{Counts, ROUND, WRITERS};
use crate::Outcome;
use crate::daemon::FOREVER;

/// Sessions of an honest user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The consumer reads it.
    Read,
    /// The service writes it into a file of the consumer.
    File,
    /// The service compresses what the consumer reads.
    Compressed,
    /// Another consumer clones it while it records.
    Cloned,
    /// Its consumer leaves it, and another one takes it up.
    Detached,
    /// Producers of all names may write into its buffer.
    Open,
}

/// The trace of a clone, and how many packets of each writer the service had before.
pub(super) type Cloned = (Vec<u8>, [u64; WRITERS]);

/// A session that is over.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) trace: Vec<u8>,
    /// Of a clone that was made meanwhile.
    pub(super) clone: Option<Cloned>,
    pub(super) is_compressed: bool,
    pub(super) is_open: bool,
    pub(super) stats: TraceStats,
}

impl Recorded {
    /// Whether the buffer lost chunks because hostile producers filled it.
    pub(super) fn is_overwritten(&self) -> bool {
        self.is_open && self.stats.buffer_stats.iter().any(|it| it.chunks_overwritten > Some(0))
    }
}

impl Kind {
    /// That of a round. A user that shares its account with hostile ones only reads.
    pub(super) fn of(round: u64, has_own_account: bool) -> Self {
        let all =
            [Self::Read, Self::File, Self::Compressed, Self::Cloned, Self::Detached, Self::Open];
        if has_own_account { all[(round % all.len() as u64) as usize] } else { Self::Read }
    }

    /// Records a session. The first of `both` consumers has it at the end; the other one has none.
    pub(super) fn record(
        self,
        mut config: TraceConfig,
        round: u64,
        both: &mut [Consumer; 2],
        counts: &Counts,
    ) -> Outcome<Recorded> {
        let name = format!("honest.{}.{round}", std::process::id());
        config.unique_session_name = Some(name.clone());
        config.duration_ms = (self != Self::Detached).then_some(ROUND.as_millis() as u32);
        if self == Self::Compressed {
            config.compression = Some(TraceConfigCompressionConfig {
                deflate: Some(Default::default()),
                ..Default::default()
            });
        }
        if self == Self::Open {
            for source in &mut config.data_sources {
                source.producer_name_filter.clear();
            }
        }
        let mut file = None;
        if self == Self::File {
            config.write_into_file = Some(true);
            config.file_write_period_ms = Some(ROUND.as_millis() as u32 / 3);
            file = Some(new_file(&name).map_err(|error| format!("{name}: {error}"))?);
        }
        let failed = |error: ConsumerError| format!("{self:?}: {error}");
        let handed = file.as_ref().map(File::try_clone).transpose();
        let handed = handed.map_err(|error| error.to_string())?.map(OwnedFd::from);
        both[0].enable_tracing(&config, handed).map_err(failed)?;
        let mut recorded = Recorded {
            clone: self.meanwhile(&name, both, counts).map_err(failed)?,
            is_compressed: self == Self::Compressed,
            is_open: self == Self::Open,
            ..Recorded::default()
        };
        let consumer = &mut both[0];
        while consumer.wait(Some(FOREVER)).map_err(failed)? != Waited::Ended {}
        match &mut file {
            Some(file) => {
                let read = file.seek(SeekFrom::Start(0));
                read.and_then(|_| file.read_to_end(&mut recorded.trace))
                    .map_err(|error| format!("{name}: {error}"))?;
            }
            None => consumer.read_into(&mut recorded.trace, FOREVER).map_err(failed).map(drop)?,
        }
        recorded.stats = consumer.get_trace_stats().map_err(failed)?;
        consumer.free_buffers().map_err(failed)?;
        Ok(recorded)
    }

    /// What happens while it records. Returns what a clone has.
    fn meanwhile(
        self,
        name: &str,
        both: &mut [Consumer; 2],
        counts: &Counts,
    ) -> Result<Option<Cloned>, ConsumerError> {
        let mut cloned = None;
        match self {
            Self::Read | Self::File | Self::Compressed | Self::Open => {}
            Self::Cloned => {
                // Sends the request before.
                both[0].query_capabilities()?;
                // Time to write something. Nothing waits for this.
                std::thread::park_timeout(ROUND / 2);
                let (mut clone, flushed) = (Vec::new(), counts.flushed());
                let selector = CloneSessionRequestSelector::UniqueSessionName(name.to_owned());
                let request =
                    CloneSessionRequest { selector: Some(selector), ..Default::default() };
                both[1].clone_session(request, None)?;
                both[1].read_into(&mut clone, FOREVER)?;
                both[1].free_buffers()?;
                cloned = Some((clone, flushed));
            }
            Self::Detached => {
                both[0].query_capabilities()?;
                both[0].detach(name)?;
                both.swap(0, 1);
                both[0].attach(name)?;
                // The time of the recording. Nothing waits for this.
                std::thread::park_timeout(ROUND);
                both[0].disable_tracing()?;
            }
        }
        Ok(cloned)
    }
}

/// A file that only this process has.
fn new_file(name: &str) -> std::io::Result<File> {
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// What a packet has in it that was compressed.
pub fn inflate(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut trace = Vec::new();
    let read = flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut trace);
    read.map_err(|error| format!("compressed packets: {error}"))?;
    Ok(trace)
}
