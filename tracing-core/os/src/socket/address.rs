//! Addresses of sockets, and the default addresses of the daemon.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::environment;

/// Longest file system path or abstract name, bytes: `sun_path` less the terminating or leading NUL.
const UNIX_NAME_BYTES_MAX: usize = 107;

/// Default socket for producers where there is no `/run/perfetto`.
pub(super) const TMP_PRODUCER: &str = "/tmp/perfetto-producer";
/// The same for consumers.
pub(super) const TMP_CONSUMER: &str = "/tmp/perfetto-consumer";

/// The address of a socket.
///
/// | text | meaning |
/// |---|---|
/// | `@name` | abstract AF_UNIX: lives in the kernel, no file |
/// | `vsock://CID:PORT` | AF_VSOCK, between a virtual machine and its host |
/// | `host:PORT`, `[v6]:PORT` | TCP |
/// | anything else | a path, AF_UNIX |
///
/// A path that starts with `/` is a path even if it ends like a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A socket file.
    Path(PathBuf),
    /// An abstract name, without the `@`.
    Abstract(Vec<u8>),
    /// A TCP port; the host as written, brackets removed.
    Tcp {
        /// Name or number.
        host: String,
        /// Port.
        port: u16,
    },
    /// A port between a virtual machine and its host.
    Vsock {
        /// Which machine: 1 this one, 2 the host; 4294967295 is any, to listen.
        cid: u32,
        /// Port.
        port: u32,
    },
}

/// A text that is not an address.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[derive(Clone, PartialEq, Eq)]
pub struct AddressError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Debug for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad socket address {:?}: {}", self.text, self.reason)
    }
}

impl std::error::Error for AddressError {}

impl Address {
    /// Reads one address.
    ///
    /// # Errors
    /// When it is empty, too long for AF_UNIX, has a part that should be a number and is not, or begins like a URL of
    /// another kind.
    pub fn parse(text: impl AsRef<OsStr>) -> Result<Self, AddressError> {
        Self::parse_text(text.as_ref())
    }

    fn parse_text(text: &OsStr) -> Result<Self, AddressError> {
        let bytes = text.as_bytes();
        let bad = |reason| Err(AddressError { text: text.to_string_lossy().into_owned(), reason });
        if bytes.is_empty() {
            return bad("it is empty");
        }
        if bytes.contains(&0) {
            return bad("it contains a NUL byte");
        }
        if let Some(name) = bytes.strip_prefix(b"@") {
            if name.is_empty() {
                return bad("an abstract name needs at least one byte after '@'");
            }
            if name.len() > UNIX_NAME_BYTES_MAX {
                return bad("an abstract name has at most 107 bytes");
            }
            return Ok(Self::Abstract(name.to_vec()));
        }
        if let Some(rest) = bytes.strip_prefix(b"vsock://") {
            let number = |part: &[u8]| {
                let digits = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
                std::str::from_utf8(part).ok().filter(|_| digits)?.parse().ok()
            };
            let mut parts = rest.splitn(2, |byte| *byte == b':').map(number);
            return match (parts.next().flatten(), parts.next().flatten()) {
                (Some(cid), Some(port)) => Ok(Self::Vsock { cid, port }),
                _ => bad("vsock://CID:PORT has two numbers of 32 bits"),
            };
        }
        if is_url(bytes) {
            return bad("an address is a path, @name, HOST:PORT or vsock://CID:PORT");
        }
        if let Some((host, port)) = split_port(bytes) {
            let Ok(port) = port.parse() else {
                return bad("a port is a number up to 65535");
            };
            let Ok(host) = std::str::from_utf8(host) else {
                return bad("the host is not UTF-8");
            };
            let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
            if host.is_empty() {
                return bad("the host is empty");
            }
            let is_number = host.parse::<std::net::Ipv6Addr>().is_ok();
            // A number may have a zone behind a `%`.
            if host.contains(':') && !is_number && !host.contains('%') {
                return bad(
                    "the host is neither a name nor a number: brackets surround one with `:`",
                );
            }
            return Ok(Self::Tcp { host: host.to_owned(), port });
        }
        if bytes.len() > UNIX_NAME_BYTES_MAX {
            return bad("a socket path has at most 107 bytes");
        }
        Ok(Self::Path(PathBuf::from(text)))
    }

    /// Reads a comma-separated list, as the listening daemon does.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for the first bad one.
    pub fn parse_list(text: impl AsRef<OsStr>) -> Result<Vec<Self>, AddressError> {
        text.as_ref()
            .as_bytes()
            .split(|byte| *byte == b',')
            .map(|part| Self::parse(OsStr::from_bytes(part)))
            .collect()
    }

    /// Whether descriptors (and so shared memory) can be passed through it.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Path(_) | Self::Abstract(_))
    }
}

/// `unix://x`, `tcp://x`, `http://x`.
fn is_url(bytes: &[u8]) -> bool {
    let scheme_len = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    scheme_len > 0 && bytes.get(scheme_len..).is_some_and(|rest| rest.starts_with(b"://"))
}

/// `host` and `port` of `host:123`, unless the text is a path.
fn split_port(bytes: &[u8]) -> Option<(&[u8], &str)> {
    if bytes.starts_with(b"/") {
        return None;
    }
    let colon = bytes.iter().rposition(|byte| *byte == b':')?;
    let (host, port) = (bytes.get(..colon)?, bytes.get(colon + 1..)?);
    if port.is_empty() || !port.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some((host, std::str::from_utf8(port).ok()?))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "@{}", String::from_utf8_lossy(name)),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Vsock { cid, port } => write!(f, "vsock://{cid}:{port}"),
        }
    }
}

impl From<&Address> for OsString {
    fn from(address: &Address) -> Self {
        match address {
            Address::Path(path) => path.clone().into_os_string(),
            Address::Abstract(name) => Self::from_vec([b"@", name.as_slice()].concat()),
            other @ (Address::Tcp { .. } | Address::Vsock { .. }) => other.to_string().into(),
        }
    }
}

/// The texts of the two addresses to use when the command line names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Producer socket. For a daemon it may be a list; a producer takes the text as it is.
    pub producer: OsString,
    /// Consumer socket.
    pub consumer: OsString,
    /// A line for the log, when `/run/perfetto` exists but cannot be used.
    pub warning: Option<String>,
}

/// Finds the addresses of the sockets: `PERFETTO_PRODUCER_SOCK_NAME` and `PERFETTO_CONSUMER_SOCK_NAME`, each on its
/// own; else in `/run/perfetto` if this process can enter it; else in `/tmp` (`default_socket.cc`).
///
/// A variable that is set but empty counts as not set, and so does each in a program that has more rights than the user
/// who started it ([`environment`]).
#[must_use]
pub fn defaults() -> Defaults {
    defaults_from(
        environment::variable("PERFETTO_PRODUCER_SOCK_NAME"),
        environment::variable("PERFETTO_CONSUMER_SOCK_NAME"),
        // Finding `.` in a directory needs the right to enter it.
        std::fs::metadata("/run/perfetto/.").map(drop),
    )
}

pub(super) fn defaults_from(
    producer: Option<OsString>,
    consumer: Option<OsString>,
    run_directory: io::Result<()>,
) -> Defaults {
    let non_empty = |name: Option<OsString>| name.filter(|name| !name.is_empty());
    let (in_run, warning) = match run_directory {
        Ok(()) => (true, None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (false, None),
        Err(error) => (
            false,
            Some(format!("/run/perfetto exists but cannot be entered ({error}), using /tmp")),
        ),
    };
    let default = |in_run_name: &str, tmp_name: &str| {
        OsString::from(if in_run { in_run_name } else { tmp_name })
    };
    let (producer, consumer) = (non_empty(producer), non_empty(consumer));
    let warning = warning.filter(|_| producer.is_none() || consumer.is_none());
    Defaults {
        producer: producer
            .unwrap_or_else(|| default("/run/perfetto/traced-producer.sock", TMP_PRODUCER)),
        consumer: consumer
            .unwrap_or_else(|| default("/run/perfetto/traced-consumer.sock", TMP_CONSUMER)),
        warning,
    }
}
