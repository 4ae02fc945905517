//! Opens traces.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::console;
use crate::failure::{Context, Failure};

/// Names that traces have.
const EXTENSIONS: [&str; 4] = ["pftrace", "perfetto-trace", "perfetto_trace", "ptrace"];

/// Whether this looks like the name of a trace, or is a file that begins like one.
#[must_use]
pub fn is_trace(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let begins = || {
        let mut tag = [0];
        let file = File::open(path);
        file.is_ok_and(|mut file| file.read_exact(&mut tag).is_ok() && tag == [PACKET_TAG])
    };
    // Opening a pipe would wait for its writer.
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        || (path.is_file() && begins())
}

/// The first byte of a trace: `Trace.packet`.
const PACKET_TAG: u8 = 0x0a;

/// Opens a trace that is read once, and says how messages call it.
pub(crate) fn open(file: &OsString) -> Result<(String, Box<dyn Read>), Failure> {
    let shown = console::name(file);
    if file == "-" {
        return Ok((shown, Box::new(io::stdin().lock())));
    }
    let opened = File::open(file).context(format_args!("cannot read {shown}"))?;
    Ok((shown, Box::new(opened)))
}

/// Opens a trace that is read several times. A pipe is copied to a temporary file first.
pub(super) fn open_seekable(file: &OsString) -> Result<(String, File), Failure> {
    let shown = console::name(file);
    let opened = if file == "-" {
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        File::open(file)
    };
    let opened = opened.context(format_args!("cannot read {shown}"))?;
    let kind = opened.metadata().context(format_args!("cannot read {shown}"))?.file_type();
    if kind.is_file() {
        return Ok((shown, opened));
    }
    if kind.is_dir() {
        return Err(Failure::new(format_args!("cannot read {shown}: it is a directory")));
    }
    let folder = std::env::temp_dir();
    let copied = copy(opened, &folder);
    let copy = copied.context(format_args!("cannot copy {shown} to {}", console::name(&folder)))?;
    Ok((shown, copy))
}

/// Copies `input` to a file without a name, which goes away with its last descriptor.
fn copy(mut input: File, folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("tracebox-{}-{}", std::process::id(), nonce()));
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    io::copy(&mut input, &mut file)?;
    Ok(file)
}

fn nonce() -> u64 {
    tracing_core::os::clock::boot_ns()
}
