//! The address of `traced` that a user has chosen: whether a service can be there at all.
//!
//! A producer waits for its service, however long that takes. So a wrong address would go unnoticed: the program runs,
//! and is in no trace.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use os::socket::Address;

use crate::report::report;

/// In the environment: where `traced` listens.
const VARIABLE: &str = "PERFETTO_PRODUCER_SOCK_NAME";

/// Says so on standard error if no service can be at the address of [`Init::address`](super::Init::address), or else of
/// the environment. The usual addresses need no look.
pub(super) fn check(chosen: Option<&Address>) {
    let variable = os::environment::variable(VARIABLE);
    let (origin, address) = match (chosen, variable) {
        (Some(address), _) => ("`Init::address`", address.clone()),
        // What is no address at all is an error of `init`.
        (None, Some(text)) => match Address::parse(text) {
            Ok(address) => (VARIABLE, address),
            Err(_) => return,
        },
        (None, None) => return,
    };
    if let Address::Path(path) = &address
        && let Some(fault) = fault_of(path)
    {
        report!(
            "no service can be at {path:?} ({origin}): {fault}. An address is the path of a socket, @NAME, \
             HOST:PORT or vsock://CID:PORT"
        );
    }
}

/// Why no service can be there, as far as the file system tells. A service may be started later, and makes the socket
/// then; it does not make folders, and it seldom runs in the same one as the program.
fn fault_of(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_socket() => None,
        Ok(_) => Some("it is not a socket".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.is_relative() {
                return Some("there is no such file in the working directory".to_owned());
            }
            let folder = path.parent().filter(|folder| !folder.exists())?;
            Some(format!("there is no folder {}", folder.display()))
        }
        Err(error) => Some(error.to_string()),
    }
}
