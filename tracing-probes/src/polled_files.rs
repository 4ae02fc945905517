//! Files that stay open and are read at every tick, once for all instances that are due then.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use abi::map::SortedMap;

use crate::Root;
use crate::limits::FILE_BYTES_MAX;
use crate::probe::Shared;

/// Asked from the kernel at a time, bytes: more than most files have, so that one read shows one instant.
const READ_BYTES: usize = 64 * 1024;

/// See the [module](self). Paths are constants, so there are as many files as the program knows.
#[derive(Debug)]
pub(crate) struct PolledFiles {
    root: Root,
    files: SortedMap<&'static str, PolledFile>,
    /// The memory of reads.
    buf: Vec<u8>,
    /// When the batch began, boot time in ns, once one has asked.
    begin_ns: Option<u64>,
}

#[derive(Debug)]
struct PolledFile {
    /// None after a failure.
    file: Option<File>,
    text: Vec<u8>,
    /// `text` was read in this batch.
    is_fresh: bool,
}

impl Shared for PolledFiles {
    fn new(root: &Root) -> Self {
        Self { root: root.clone(), files: SortedMap::new(), buf: Vec::new(), begin_ns: None }
    }

    fn begin_batch(&mut self) {
        self.begin_ns = None;
        self.files.values_mut().for_each(|file| file.is_fresh = false);
    }
}

impl PolledFiles {
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// When the batch began, by `clock`: nothing of it was read before.
    pub(crate) fn begin_ns(&mut self, clock: fn() -> u64) -> u64 {
        *self.begin_ns.get_or_insert_with(clock)
    }

    /// Opens a file, unless it is open. If that fails, the log says so, and it is left out.
    pub(crate) fn open(&mut self, path: &'static str) {
        if self.files.get(path).is_some_and(|file| file.file.is_some()) {
            return;
        }
        let file = self.root.open(path);
        if let Err(error) = &file {
            self.root.warn(&format!("/{path} is left out: {error}"));
        }
        let file = PolledFile { file: file.ok(), text: Vec::new(), is_fresh: false };
        self.files.insert(path, file);
    }

    /// The contents of a file that was opened. After a failure it is not read again.
    pub(crate) fn read(&mut self, path: &str) -> Option<&[u8]> {
        let polled = self.files.get_mut(path)?;
        if !polled.is_fresh {
            let text = read_all(polled.file.as_ref()?, &mut self.buf);
            if let Err(error) = &text {
                self.root.warn(&format!("/{path} is left out from now on: {error}"));
                polled.file = None;
            }
            polled.text.clear();
            polled.text.extend_from_slice(text.ok()?);
            polled.is_fresh = true;
        }
        Some(&polled.text)
    }
}

#[cfg(test)]
impl PolledFiles {
    pub(crate) fn open_count(&self) -> usize {
        self.files.values().filter(|polled| polled.file.is_some()).count()
    }
}

/// Reads a file from its beginning, at most [`FILE_BYTES_MAX`] or a little more.
fn read_all<'a>(file: &File, buf: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    buf.resize(buf.capacity().max(READ_BYTES), 0);
    let mut len = 0;
    loop {
        let free = buf.get_mut(len..).unwrap_or_default();
        match file.read_at(free, len as u64) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if len == buf.len() {
            if len as u64 >= FILE_BYTES_MAX {
                break;
            }
            buf.resize(len * 2, 0);
        }
    }
    Ok(buf.get(..len).unwrap_or_default())
}
