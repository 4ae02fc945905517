//! Reads the facts. It changes nothing: files are opened for reading, and only those that give data without an effect;
//! `trace`, which can stop a recording when it is opened, is not opened. The service is asked as any recorder asks it.
//!
//! Each part has a thread. One that does not answer in time is given up, and ends with the process.

mod files;
mod machine;
mod part;
mod service;
mod sockets;
mod tracefs;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use tracing_core::os::socket::defaults;

use self::part::started;
use super::facts::{Facts, Process, Service, Tracefs};

/// How long a part may take.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// Reads all facts.
pub(super) fn gather() -> Facts {
    let deadline = Instant::now() + ANSWER_WAIT;
    let addresses = defaults();
    let (producer, consumer) = (addresses.producer, addresses.consumer.clone());
    let consumer = started(move || sockets::read(&consumer));
    let producer = started(move || sockets::read(&producer));
    let tracefs = started(tracefs::read);
    // Apart: a file system of a user may not answer.
    let records_of_others = started(tracefs::records_of_others);
    let machine = started(machine::read);
    let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
    let consumer = consumer.recv_timeout(left(deadline)).ok();
    let service = match &consumer {
        Some(socket) if !socket.is_remote && (!socket.is_served || !socket.is_open) => {
            Service::Unasked
        }
        // A connection would start the service.
        Some(socket) if !socket.processes.is_empty() && is_activated(&socket.processes) => {
            Service::Activated
        }
        _ => service::ask(&addresses.consumer, ANSWER_WAIT),
    };
    Facts {
        program: program(),
        user: machine::user(),
        producer: producer.recv_timeout(left(deadline)).ok(),
        consumer,
        service,
        tracefs: tracefs.recv_timeout(left(deadline)).ok(),
        records_of_others: records_of_others.recv_timeout(left(deadline)).ok(),
        machine: machine.recv_timeout(left(deadline)).ok(),
    }
}

/// The state of tracefs alone. `None`: it did not answer in time.
pub(super) fn tracefs() -> Option<Tracefs> {
    started(tracefs::read).recv_timeout(ANSWER_WAIT).ok()
}

/// Only systemd has the socket.
fn is_activated(processes: &[Process]) -> bool {
    processes.iter().all(|process| process.pid == 1)
}

/// How a shell, also that of root, finds this program.
fn program() -> String {
    let Ok(path) = std::env::current_exe() else { return "tracebox".to_owned() };
    shell_word(&path)
}

/// The word for a program in a command: its name, if it is in a folder that every user's `PATH` has.
fn shell_word(program: &Path) -> String {
    let folders = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let is_found = program.parent().is_some_and(|folder| folders.iter().any(|f| folder == *f));
    let word = match program.file_name() {
        Some(name) if is_found => name.to_string_lossy(),
        _ => program.to_string_lossy(),
    };
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+".contains(&b);
    match word.bytes().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
