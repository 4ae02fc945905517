//! Files in memory. They must be whole traces at every moment; some writes fail.

use protos::{TraceConfig, TracePacket};
use protozero::Message as _;

use super::configs::reader;
use super::{World, shape};
use crate::check::Reader;
use abi::ids::FileId;
use service::FileError;

pub(super) struct SimFile {
    pub(super) bytes: Vec<u8>,
    pub(super) closed: bool,
    /// A write failed, so all later writes fail, too.
    failed: bool,
    /// The service abandoned it, so completions are not reported.
    pub(super) abandoned: bool,
    /// The service has received it. Before that, it is lost with the message that carries it.
    pub(super) arrived: bool,
    /// Bytes up to here were checked.
    checked: usize,
    /// The config of its session.
    config: TraceConfig,
    /// Its size must stay below; zero for no limit.
    bytes_max: u64,
    reader: Reader,
    session: u64,
}

impl World {
    /// Makes a file for a consumer to send, or for the service. For a clone, `config` is a default, as its source is
    /// not known yet.
    pub(super) fn new_file(&mut self, consumer: Option<usize>, config: &TraceConfig) -> FileId {
        self.last_id += 1;
        let id = FileId::new(self.last_id);
        let file = SimFile {
            bytes: Vec::new(),
            closed: false,
            failed: false,
            abandoned: false,
            arrived: consumer.is_none(),
            checked: 0,
            bytes_max: config.max_file_size_bytes.unwrap_or(0),
            config: config.clone(),
            reader: reader(config),
            session: 0,
        };
        self.files.insert(id, file);
        id
    }

    /// Copies what was written to `from` to the beginning of `to`.
    pub(super) fn copy(
        &mut self,
        from: FileId,
        to: FileId,
    ) -> Result<Result<(), FileError>, String> {
        let from = self.files.get(&from).ok_or("unknown file")?;
        let (bytes, config) = (from.bytes.clone(), from.config.clone());
        let to_file = self.files.get_mut(&to).ok_or("unknown file")?;
        to_file.reader = reader(&config);
        to_file.config = config;
        self.write(to, &bytes, false)
    }

    pub(super) fn write(
        &mut self,
        id: FileId,
        data: &[u8],
        close: bool,
    ) -> Result<Result<(), FileError>, String> {
        let fails = self.effect_fails(10);
        let Some(file) = self.files.get_mut(&id) else { return Err("unknown file".into()) };
        if file.failed {
            return Ok(Err(FileError { text: "the file is closed".into() }));
        }
        if file.closed {
            return Err(format!("{id:?} is written after its end"));
        }
        if fails {
            (file.closed, file.failed) = (true, true);
            return Ok(Err(FileError { text: "No space left on device".into() }));
        }
        file.bytes.extend_from_slice(data);
        file.closed = close;
        if file.bytes_max > 0 && file.bytes.len() as u64 >= file.bytes_max {
            return Err(format!("{id:?} has {} bytes", file.bytes.len()));
        }
        // At every moment the file is a whole trace.
        let whole = shape::packets(&file.bytes[file.checked..]);
        let mut plain = Vec::new();
        for packet in whole.map_err(|e| format!("{id:?} is cut: {e}"))? {
            for packet in shape::unpack(&file.config, packet, &mut plain)? {
                // Packets of hostile producers may be anything that passes the validator.
                let Ok(packet) = TracePacket::decode(packet) else { continue };
                if file.session == 0 {
                    file.session = self.ledger.session_of(&packet);
                }
                file.reader.packet(&mut self.ledger, file.session, &packet)?;
            }
        }
        file.checked = file.bytes.len();
        Ok(Ok(()))
    }
}
