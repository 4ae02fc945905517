//! `traced`: the service, listening.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use tracing_core::client::serve::{BindError, Server, ServerOptions, service_config};
use tracing_core::os::socket::{Address, defaults};
use tracing_core::service::LogLevel;

use crate::VERSION;
use crate::applet::Ending;
use crate::background::{self, Started};
use crate::cli;
use crate::console;
use crate::failure::{Context, Failure};

/// How long the first of two processes waits for the second to listen.
pub(crate) const START_WAIT: Duration = Duration::from_secs(10);

/// The tracing service: producers and consumers meet there.
#[derive(Parser, Debug)]
#[command(name = "traced")]
#[command(after_help = "It listens at PERFETTO_PRODUCER_SOCK_NAME (a list, with commas) and \
    PERFETTO_CONSUMER_SOCK_NAME, else in /run/perfetto, else in /tmp.\n\
    When it listens it writes 1 to the descriptor TRACED_NOTIFY_FD, if that is set.")]
struct Traced {
    /// Go to the background when it listens; prints the process id
    #[arg(long)]
    background: bool,
    /// Print the version
    #[arg(long)]
    version: bool,
    /// Groups and modes of the socket files, such as traced-p:0660:traced-c:0660
    #[arg(long, value_name = "PGROUP:PMODE:CGROUP:CMODE")]
    set_socket_permissions: Option<String>,
    /// Not in this version
    #[arg(long)]
    enable_relay_endpoint: bool,
    /// Not in this version
    #[arg(long, value_name = "SOCKET")]
    enable_relay_endpoint_on: Vec<String>,
}

/// A group and a mode for socket files.
type Permissions = (u32, u32);

/// Runs the service until SIGINT or SIGTERM.
///
/// # Errors
/// One line: bad words, somebody who listens there already.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Traced>(name, words)? else { return Ok(0) };
    if args.version {
        println!("{VERSION}");
        return Ok(0);
    }
    if args.enable_relay_endpoint || !args.enable_relay_endpoint_on.is_empty() {
        return Err(Failure::new("relay endpoints are not in this version"));
    }
    let permissions = args.set_socket_permissions.as_deref().map(permissions).transpose()?;
    if args.background && !background::is_child() {
        return match background::start(words, name, START_WAIT)? {
            (_, Started::No(code)) => Ok(code),
            (pid, Started::Yes) => {
                println!("{pid}");
                Ok(0)
            }
            (_, Started::Unknown) => Err(Failure::new("it does not listen after 10 s")),
        };
    }
    let server = listen(permissions)?;
    if let Some(fd) = std::env::var_os("TRACED_NOTIFY_FD") {
        background::notify(fd, b"1").context("TRACED_NOTIFY_FD")?;
    }
    if args.background {
        background::leave()?;
        background::tell(true);
    }
    server.run().context("the service ended")?;
    Ok(0)
}

fn listen(permissions: Option<(Permissions, Permissions)>) -> Result<Server, Failure> {
    let sockets = defaults();
    if let Some(warning) = &sockets.warning {
        console::say(&format!("[{}] traced: {warning}", console::clock()));
    }
    let producer_sockets =
        Address::parse_list(&sockets.producer).context("PERFETTO_PRODUCER_SOCK_NAME")?;
    let consumer = Address::parse(&sockets.consumer).context("PERFETTO_CONSUMER_SOCK_NAME")?;
    if producer_sockets.contains(&consumer) {
        let text = format!("{consumer} is the socket of both producers and consumers");
        return Err(Failure::new(text));
    }
    let options = ServerOptions {
        producer_sockets,
        consumer_sockets: vec![consumer],
        service: service_config(VERSION).context("cannot start the service")?,
        log: console::service_log(LogLevel::Info),
    };
    let mut server = Server::bind(options).map_err(|error| match error {
        BindError::Listen(error) => Failure::new(error),
        error => Failure::new(format_args!("cannot start the service: {error}")),
    })?;
    if let Some((producers, consumers)) = permissions {
        server.set_permissions(producers, consumers).context("--set-socket-permissions")?;
    }
    server.stop_on_signals().context("cannot catch signals")?;
    console::say(&format!(
        "[{}] traced: Started traced, listening on {} {}",
        console::clock(),
        sockets.producer.display(),
        sockets.consumer.display()
    ));
    Ok(server)
}

/// `PGROUP:PMODE:CGROUP:CMODE`; a group is a name or a number, a mode four octal digits.
fn permissions(text: &str) -> Result<(Permissions, Permissions), Failure> {
    let parts: Vec<&str> = text.split(':').collect();
    let [producer_group, producer_mode, consumer_group, consumer_mode] = parts[..] else {
        return Err(Failure::new(format_args!(
            "--set-socket-permissions {text:?}: expected PGROUP:PMODE:CGROUP:CMODE"
        )));
    };
    Ok((
        (group(producer_group)?, mode(producer_mode)?),
        (group(consumer_group)?, mode(consumer_mode)?),
    ))
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
    // NAME:PASSWORD:ID:MEMBERS; directories of other kinds (LDAP) are asked by number.
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
mod tests {
    use super::*;

    #[test]
    fn socket_permissions() {
        assert_eq!(permissions("0:0660:5:0600"), Ok(((0, 0o660), (5, 0o600))));
        assert_eq!(permissions("root:0777:root:0000"), Ok(((0, 0o777), (0, 0))));
        for (text, message) in [
            ("", "expected PGROUP:PMODE:CGROUP:CMODE"),
            ("a:b:c", "expected PGROUP:PMODE:CGROUP:CMODE"),
            ("0:0660:0:0660:0", "expected PGROUP:PMODE:CGROUP:CMODE"),
            ("0:660:0:0660", "mode \"660\" is not four octal digits"),
            ("0:0668:0:0660", "mode \"0668\" is not four octal digits"),
            (":0660:0:0660", "there is no group \"\""),
            ("no such group:0660:0:0660", "there is no group \"no such group\""),
        ] {
            let failure = permissions(text).unwrap_err();
            assert!(failure.text.ends_with(message), "{failure}");
        }
    }
}
