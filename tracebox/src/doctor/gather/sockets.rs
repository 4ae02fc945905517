//! The sockets of the service, and who listens there: what the kernel says, without a connection.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rustix::fs::Access;
use tracing_core::os::process::effective_uid;
use tracing_core::os::socket::Address;

use super::super::facts::{Process, Socket};
use super::files::{may, owner, process};

/// The flag of a socket that listens, `__SO_ACCEPTCON`.
const LISTENS: u32 = 1 << 16;

/// The first address of a list.
pub(super) fn read(address: &OsStr) -> Socket {
    let shown = address.to_string_lossy().into_owned();
    let addresses = Address::parse_list(address).unwrap_or_default();
    let Some(address) = addresses.first().filter(|address| address.is_unix()) else {
        return Socket { address: shown, is_remote: true, ..Socket::default() };
    };
    let shown = address.to_string();
    let path = shown.strip_prefix('@').is_none().then(|| Path::new(&shown));
    let inodes = listening(Path::new("/proc/net/unix"), &shown);
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|name| !name.is_empty());
    let mut socket = Socket {
        trusted_by: variable_of(&shown).filter(|variable| !is_set(variable)),
        file: path.and_then(owner),
        is_open: path.is_none_or(|path| may(path, Access::WRITE_OK)),
        is_served: !inodes.is_empty(),
        processes: holders(&inodes),
        is_remote: false,
        address: shown,
    };
    socket.is_open &= socket.distrusted_by(effective_uid()).is_none();
    socket
}

/// The variable without which programs trust only root and their own user at this address, because any user can listen
/// there.
pub(super) fn variable_of(address: &str) -> Option<&'static str> {
    match address {
        "/tmp/perfetto-producer" => Some("PERFETTO_PRODUCER_SOCK_NAME"),
        "/tmp/perfetto-consumer" => Some("PERFETTO_CONSUMER_SOCK_NAME"),
        _ => None,
    }
}

/// Inodes of the sockets that listen at a name, in a file such as `/proc/net/unix`.
pub(super) fn listening(table: &Path, name: &str) -> Vec<u64> {
    let inode = |line: Vec<u8>| {
        let line = String::from_utf8_lossy(&line);
        let mut fields = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let inode = fields.nth(2)?.parse().ok()?;
        (flags & LISTENS != 0 && fields.next()? == name).then_some(inode)
    };
    // A busy machine has megabytes of lines, in any order.
    let lines = File::open(table).into_iter().flat_map(|file| BufReader::new(file).split(b'\n'));
    lines.map_while(Result::ok).filter_map(inode).collect()
}

/// The processes that have one of these sockets open, as far as this user may see that.
fn holders(inodes: &[u64]) -> Vec<Process> {
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    if links.is_empty() {
        return Vec::new();
    }
    let names = |path: String| std::fs::read_dir(path).into_iter().flatten().flatten();
    let has = |pid: i32| {
        names(format!("/proc/{pid}/fd")).any(|entry| {
            let link = std::fs::read_link(entry.path());
            link.is_ok_and(|link| links.iter().any(|of| link.as_os_str() == of.as_str()))
        })
    };
    let pids =
        names("/proc".to_owned()).filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has(*pid)).map(process).collect()
}
