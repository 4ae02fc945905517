//! One file that is written, and on whose account its memory is.

#[cfg(feature = "host")]
use super::in_memory::{Charge, InMemory, Writing};
use crate::system::file::{CutShort, OutputFile};
use abi::error::OsError;
use service::FileError;

/// See the [module](self).
pub(super) struct FileOutput {
    file: OutputFile,
    #[cfg(feature = "host")]
    charge: Option<Charge>,
}

impl From<OutputFile> for FileOutput {
    /// A file of this process.
    fn from(file: OutputFile) -> Self {
        Self {
            file,
            #[cfg(feature = "host")]
            charge: None,
        }
    }
}

impl FileOutput {
    /// A file that `uid` has passed, or had created.
    #[cfg(feature = "host")]
    pub(super) fn of_user(file: OutputFile, uid: u32, accounts: &InMemory) -> Self {
        let charge = accounts.charge_of(uid, file.as_fd());
        Self { file, charge }
    }

    pub(super) fn file(&self) -> &OutputFile {
        &self.file
    }

    /// Appends a piece of a trace.
    pub(super) fn append(&self, data: &[u8]) -> Result<(), FileError> {
        let _paid = self.pay(data.len() as u64)?;
        append_packets(&self.file, data)
    }

    /// Appends the first `len` bytes of another file.
    pub(super) fn append_from(&self, source: &OutputFile, len: u64) -> Result<(), FileError> {
        let _paid = self.pay(len)?;
        self.file.append_from(source, len).map_err(failed)
    }

    /// Charges the user for what is written until the result is dropped.
    #[cfg(feature = "host")]
    fn pay(&self, bytes: u64) -> Result<Option<Writing<'_>>, FileError> {
        let Some(charge) = &self.charge else { return Ok(None) };
        let writing = charge.begin_write(self.file.as_fd(), bytes);
        writing.map(Some).map_err(|excess| FileError { text: excess.to_string() })
    }

    #[cfg(not(feature = "host"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with `host`")]
    fn pay(&self, _: u64) -> Result<Option<()>, FileError> {
        Ok(None)
    }
}

#[cfg(feature = "host")]
impl Drop for FileOutput {
    fn drop(&mut self) {
        if let Some(charge) = &self.charge {
            charge.before_close(self.file.as_fd());
        }
    }
}

pub(super) fn failed(error: OsError) -> FileError {
    FileError { text: error.reason() }
}

/// Appends a piece of a trace. If there is no room for all of it, the part of a packet at the end is removed, so
/// that the file stays a valid trace.
pub(super) fn append_packets(file: &OutputFile, data: &[u8]) -> Result<(), FileError> {
    file.append(data).map_err(|cut| {
        take_back_cut(file, data, &cut);
        failed(cut.error)
    })
}

pub(super) fn take_back_cut(file: &OutputFile, data: &[u8], cut: &CutShort) {
    let mut reader = protozero::Reader::new(data.get(..cut.written).unwrap_or_default());
    let mut whole = 0;
    while let Ok(Some(_)) = reader.next_field() {
        whole = reader.position();
    }
    // A pipe cannot take bytes back, and a failed disk may fail again: the first error is reported anyway.
    let _ = file.take_back((cut.written - whole) as u64);
}
