//! The disk: files in memory, which must be whole traces at every moment, and which fail when told to.

use protos::TracePacket;
use protozero::Message as _;

use super::World;
use crate::ids::FileId;
use crate::service::FileError;
use crate::testing::check::Reader;

pub(super) struct SimFile {
    pub(super) bytes: Vec<u8>,
    pub(super) closed: bool,
    /// The service got it; until then it dies with the message it is in.
    pub(super) arrived: bool,
    /// Bytes up to here were checked.
    checked: usize,
    reader: Reader,
    session: u64,
}

impl World {
    pub(super) fn new_file(&mut self, consumer: Option<usize>, reader: Reader) -> FileId {
        self.last_id += 1;
        let id = FileId(self.last_id);
        let file = SimFile {
            bytes: Vec::new(),
            closed: false,
            arrived: consumer.is_none(),
            checked: 0,
            reader,
            session: 0,
        };
        self.files.insert(id, file);
        id
    }

    pub(super) fn write(
        &mut self,
        id: FileId,
        data: &[u8],
        close: bool,
    ) -> Result<Result<(), FileError>, String> {
        let fails = self.effect_fails(10);
        let Some(file) = self.files.get_mut(&id) else { return Err("unknown file".into()) };
        if file.closed {
            return Err(format!("{id:?} is written after its end"));
        }
        if fails {
            file.closed = true;
            return Ok(Err(FileError { text: "No space left on device".into() }));
        }
        file.bytes.extend_from_slice(data);
        file.closed = close;
        // At every moment the file is a whole trace.
        let mut fields = protozero::Reader::new(&file.bytes[file.checked..]);
        let mut packets = Vec::new();
        while let Some(field) = fields.next_field().map_err(|e| format!("{id:?} is cut: {e}"))? {
            let protozero::Value::Len(packet) = field.value else {
                return Err(format!("{id:?} is no trace"));
            };
            // Packets of hostile producers may be anything that passes the validator.
            packets.extend(TracePacket::decode(packet));
        }
        file.checked = file.bytes.len();
        for packet in &packets {
            if file.session == 0 {
                file.session = self.ledger.session_of(packet);
            }
            file.reader.packet(&mut self.ledger, file.session, packet)?;
        }
        Ok(Ok(()))
    }
}
