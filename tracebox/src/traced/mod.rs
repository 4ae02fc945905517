//! `traced`: the tracing service, at its sockets.

mod confinement;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use tracing_core::abi::error::OsError;
use tracing_core::daemon::serve::{
    BindError, PortKind, Server, ServerOptions, SocketPermissions, service_config,
};
use tracing_core::daemon::system::systemd;
use tracing_core::os::socket::{Address, ListenError, Listener, defaults};
use tracing_core::os::{memory_limit, process};
use tracing_core::service::limits::MEMORY_BYTES_MIN;
use tracing_core::service::{LogLevel, ServiceConfig};

use crate::background::{self, Started};
use crate::cli;
use crate::console;
use crate::failure::Ending;
use crate::failure::{Context, Failure};
use crate::version::VERSION;
use confinement::{Folders, confine, gain_nothing};

/// How long the first process of `--background` waits until the second one listens.
pub(crate) const START_WAIT: Duration = Duration::from_secs(10);

/// The tracing service, which producers and consumers connect to.
#[derive(Parser, Debug)]
#[command(name = "traced")]
#[command(
    after_help = "It listens at PERFETTO_PRODUCER_SOCK_NAME (several are separated by commas) and \
    PERFETTO_CONSUMER_SOCK_NAME, else in /run/perfetto, or in /tmp if that directory cannot be entered.\n\
    Without --set-socket-permissions the umask decides who can connect: with that of root, only root.\n\
    A service manager can pass open sockets (LISTEN_FDS). Their names (LISTEN_FDNAMES) contain \"producer\" \
    or \"consumer\"; without names the first is for producers and the second for consumers.\n\
    When it listens, it sends READY=1 to NOTIFY_SOCKET and writes 1 to the descriptor TRACED_NOTIFY_FD, if \
    they are set."
)]
struct Traced {
    /// Go to the background when it listens, and print the process id
    #[arg(long)]
    background: bool,
    /// Print the version
    #[arg(long)]
    version: bool,
    /// Groups and modes of the socket files for producers and for consumers, such as perfetto:0666:perfetto:0660
    #[arg(long, value_name = "PGROUP:PMODE:CGROUP:CMODE")]
    set_socket_permissions: Option<String>,
    /// Folder below which consumers may have trace files created (output_path). Several are possible. Without it: all
    /// folders but those of the system and of root, such as /etc, /usr, /var (not /var/tmp) and /root
    #[arg(long, value_name = "DIR")]
    write_to: Vec<PathBuf>,
    /// Keep all rights of the user, and make all system calls
    #[arg(long, conflicts_with = "write_to")]
    unconfined: bool,
    /// Refused: relays are not in this version
    #[arg(long)]
    enable_relay_endpoint: bool,
    /// Refused: relays are not in this version
    #[arg(long, value_name = "SOCKET")]
    enable_relay_endpoint_on: Vec<String>,
}

/// The variables that name the sockets: producers', consumers'.
const ADDRESSES: [&str; 2] = ["PERFETTO_PRODUCER_SOCK_NAME", "PERFETTO_CONSUMER_SOCK_NAME"];

/// Who may connect to the socket files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Permissions {
    producers: SocketPermissions,
    consumers: SocketPermissions,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Traced::command()
}

/// Runs the service until SIGINT or SIGTERM.
///
/// # Errors
/// When an option is not valid, or another service listens there already.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Traced>(name, words)? else { return Ok(0) };
    if args.version {
        console::answer(VERSION)?;
        return Ok(0);
    }
    if args.enable_relay_endpoint || !args.enable_relay_endpoint_on.is_empty() {
        return Err(Failure::new("relay endpoints are not in this version"));
    }
    let permissions = args.set_socket_permissions.as_deref().map(permissions).transpose()?;
    if args.background && !background::is_child() {
        return match background::start(words, name, START_WAIT)? {
            (_, Started::No(code)) => Ok(code),
            (pid, Started::Yes | Started::InPart) => {
                console::answer(pid)?;
                Ok(0)
            }
            (_, Started::Unknown) => Err(Failure::new("it does not listen after 10 s")),
        };
    }
    let traces = traces(&args.write_to)?;
    // Before there are threads.
    let privileges = if args.unconfined { Ok(()) } else { gain_nothing() };
    // Each connection needs a descriptor, and the memory of a producer another one.
    let descriptors = process::raise_descriptor_limit();
    let (server, sockets) = listen(permissions, descriptors)?;
    if let Some(fd) = std::env::var_os("TRACED_NOTIFY_FD") {
        background::notify(fd, b"1").context("TRACED_NOTIFY_FD")?;
    }
    let null = if args.background {
        background::leave()?;
        // Opened now: it may open no device when it is confined.
        background::null()
    } else {
        None
    };
    // The socket is closed at once: a service with a hole could send to all services of root with it. The manager sees
    // the process end.
    systemd::tell("READY=1\nSTATUS=Listening").context("NOTIFY_SOCKET")?;
    if args.unconfined {
        log("Not confined: it keeps all rights of its user");
    } else {
        log(confine(&Folders { traces, sockets }, privileges));
    }
    if args.background {
        // The user has seen by now what it may write.
        background::tell_and_write_to(true, null);
    }
    server.run().context("the service ended")?;
    Ok(0)
}

/// The folders of `--write-to`, or all but those of the system.
fn traces(write_to: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if write_to.is_empty() {
        return Ok(confinement::writable(Path::new("/")));
    }
    let absolute = |folder: &PathBuf| {
        // It may leave the working directory.
        let absolute = folder.canonicalize().and_then(|path| path.read_dir().map(|_| path));
        absolute.context(format_args!("--write-to {}", console::name(folder)))
    };
    write_to.iter().map(absolute).collect()
}

fn log(line: impl std::fmt::Display) {
    console::log(&format!("[{}] traced: {line}", console::clock()));
}

/// A server, and the folders of the socket files that it removes at its end.
fn listen(
    permissions: Option<Permissions>,
    descriptors: u64,
) -> Result<(Server, Vec<PathBuf>), Failure> {
    let passed = systemd::listen_fds().map_err(|error| passed_failure(&error))?;
    let (mut server, listening, folders) = if passed.is_empty() {
        bind(permissions)?
    } else {
        if permissions.is_some() {
            return Err(Failure::new(
                "--set-socket-permissions: the service manager has opened the sockets; with systemd set SocketGroup= \
                 and SocketMode= in traced-producer.socket and traced-consumer.socket",
            ));
        }
        if ADDRESSES
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        {
            let [producers, consumers] = ADDRESSES;
            log(format_args!(
                "{producers} and {consumers} have no effect: the service manager has opened the sockets"
            ));
        }
        inherit(passed)?
    };
    server.stop_on_signals().context("cannot catch signals")?;
    // A script that reads this line may send a signal at once: signals are caught by now.
    log(format_args!("Started traced, {listening}, up to {descriptors} descriptors"));
    Ok((server, folders))
}

/// The port of a passed socket, by its name, else by its index; `None` if neither tells.
pub(crate) fn port_of(name: &str, index: Option<usize>) -> Option<PortKind> {
    match (name.contains("consumer"), name.contains("producer"), index) {
        (true, false, _) => Some(PortKind::Consumer),
        (false, true, _) => Some(PortKind::Producer),
        (.., Some(0)) => Some(PortKind::Producer),
        (.., Some(1)) => Some(PortKind::Consumer),
        _ => None,
    }
}

/// A server, what it listens at, and the folders of the socket files that it has made.
type Listening = (Server, String, Vec<PathBuf>);

/// Makes a server of sockets that a service manager opened.
fn inherit(passed: Vec<systemd::Inherited>) -> Result<Listening, Failure> {
    let (mut producers, mut consumers) = (Vec::new(), Vec::new());
    for (index, socket) in passed.into_iter().enumerate() {
        let name = socket.name;
        let listener =
            Listener::inherit(socket.fd).context(format_args!("passed socket {index} ({name})"))?;
        match port_of(&name, Some(index)) {
            Some(PortKind::Consumer) => consumers.push(listener),
            Some(PortKind::Producer) => producers.push(listener),
            None => {
                return Err(Failure::new(format_args!(
                    "passed socket {index} ({name}): its name says neither producer nor consumer"
                )));
            }
        }
    }
    let names = |listeners: &[Listener]| {
        listeners.iter().map(|l| l.address().to_string()).collect::<Vec<_>>().join(",")
    };
    if producers.is_empty() || consumers.is_empty() {
        return Err(Failure::new(
            "passed sockets: one of each, producers' and consumers', is needed",
        ));
    }
    let listening = format!("passed {} {}", names(&producers), names(&consumers));
    let service = service()?;
    let log = console::service_log(LogLevel::Info);
    let server = Server::with_listeners(producers, consumers, service, log);
    Ok((server.context("cannot start the service")?, listening, Vec::new()))
}

/// What the service is made with. It shares the memory of this daemon among users.
fn service() -> Result<ServiceConfig, Failure> {
    let mut service = service_config(VERSION).context("cannot start the service")?;
    service.memory_bytes = memory_limit::read();
    if let Some(warning) = memory_warning(service.memory_bytes) {
        log(warning);
    }
    Ok(service)
}

/// What is to be said of so little memory, if the kernel tells how much there is.
fn memory_warning(bytes: u64) -> Option<String> {
    let (has, needs) = (bytes >> 20, MEMORY_BYTES_MIN >> 20);
    (1..MEMORY_BYTES_MIN).contains(&bytes).then(|| {
        format!(
            "it may use {has} MiB of memory, and users together can take more than that: then the kernel ends it. Give \
             it at least {needs} MiB (MemoryMax=)"
        )
    })
}

fn bind(permissions: Option<Permissions>) -> Result<Listening, Failure> {
    let sockets = defaults();
    if let Some(warning) = &sockets.warning {
        log(warning);
    }
    let producer_sockets =
        Address::parse_list(&sockets.producer).context("PERFETTO_PRODUCER_SOCK_NAME")?;
    let consumer = Address::parse(&sockets.consumer).context("PERFETTO_CONSUMER_SOCK_NAME")?;
    if producer_sockets.contains(&consumer) {
        let text = format!("{consumer} is the socket of both producers and consumers");
        return Err(Failure::new(text));
    }
    if !consumer.is_unix() {
        log(format_args!(
            "every program that can connect to {consumer} counts as root, and can read all traces"
        ));
    }
    let mut options = ServerOptions::new(service()?, console::service_log(LogLevel::Info));
    options.producer_sockets = producer_sockets;
    options.consumer_sockets = vec![consumer];
    let addresses = options.producer_sockets.iter().chain(&options.consumer_sockets);
    let folders = addresses.filter_map(folder).collect();
    let server = Server::bind(options).map_err(|error| match error {
        BindError::Listen(error) => listen_failure(&error),
        error => Failure::new(format_args!("cannot start the service: {error}")),
    })?;
    if let Some(Permissions { producers, consumers }) = permissions {
        server
            .set_permissions(producers, consumers)
            .map_err(|error| {
                with_advice(&error, &error, "only root may give a socket to any group")
            })
            .context("--set-socket-permissions")?;
    }
    let (producer, consumer) = (sockets.producer.display(), sockets.consumer.display());
    Ok((server, format!("listening on {producer} {consumer}"), folders))
}

/// Why the sockets that were passed cannot be taken.
fn passed_failure(error: &OsError) -> Failure {
    let advice = match error.errno {
        libc::ENOSYS => {
            "; this kernel is older than Linux 5.6, which can take them: start traced without the socket units"
        }
        _ => "",
    };
    Failure::new(format_args!("sockets that were passed: {error}{advice}"))
}

/// Why it cannot listen, and what to do.
fn listen_failure(error: &ListenError) -> Failure {
    match error {
        ListenError::InUse(_) => Failure::new(format_args!("{error}; `perfetto --query` asks it")),
        ListenError::Os { error: cause, .. } => with_advice(
            error,
            cause,
            "run as root, or set PERFETTO_PRODUCER_SOCK_NAME and PERFETTO_CONSUMER_SOCK_NAME",
        ),
        error => Failure::new(error),
    }
}

/// `error` with what to do, if it has its `cause` in rights that are missing.
fn with_advice(error: &dyn std::fmt::Display, cause: &OsError, advice: &str) -> Failure {
    match std::io::Error::from_raw_os_error(cause.errno).kind() {
        ErrorKind::PermissionDenied => Failure::new(format_args!("{error}; {advice}")),
        _ => Failure::new(error),
    }
}

/// The folder of a socket file.
fn folder(address: &Address) -> Option<PathBuf> {
    let Address::Path(path) = address else { return None };
    // `--background` leaves the working directory.
    std::path::absolute(path).ok()?.parent().map(Path::to_owned)
}

/// `PGROUP:PMODE:CGROUP:CMODE`; a group is a name or a number, a mode four octal digits.
fn permissions(text: &str) -> Result<Permissions, Failure> {
    let parts: Vec<&str> = text.split(':').collect();
    let [producer_group, producer_mode, consumer_group, consumer_mode] = parts[..] else {
        return Err(Failure::new(format_args!(
            "--set-socket-permissions {text:?}: expected PGROUP:PMODE:CGROUP:CMODE"
        )));
    };
    let of = |name, digits| -> Result<_, Failure> {
        Ok(SocketPermissions { group: group(name)?, mode: mode(digits)? })
    };
    let producers = of(producer_group, producer_mode)?;
    Ok(Permissions { producers, consumers: of(consumer_group, consumer_mode)? })
}

fn mode(text: &str) -> Result<u32, Failure> {
    let octal = text.len() == 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    octal.then(|| u32::from_str_radix(text, 8).ok()).flatten().ok_or_else(|| {
        Failure::new(format_args!(
            "--set-socket-permissions: mode {text:?} is not four octal digits"
        ))
    })
}

fn group(name: &str) -> Result<u32, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    // NAME:PASSWORD:ID:MEMBERS. Groups that are not in this file, such as those of LDAP, are given as a number.
    let groups = std::fs::read_to_string("/etc/group").context("cannot read /etc/group")?;
    groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.first() == Some(&name) && !name.is_empty())
        .and_then(|fields| fields.get(2)?.parse().ok())
        .ok_or_else(|| {
            Failure::new(format_args!("--set-socket-permissions: there is no group {name:?}"))
        })
}

#[cfg(test)]
mod tests;
