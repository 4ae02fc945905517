//! A descriptor whose `close` takes as long as its sender likes, for both programs of tests.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt;

/// How long a `close` takes if the other end stays: longer than any test.
const LINGER: Duration = Duration::from_secs(3600);

/// A descriptor that takes an hour to close, and what makes that end.
pub fn slow_to_close() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    sender.set_nonblocking(true).unwrap();
    while sender.write(&[0; 65536]).is_ok() {}
    sockopt::set_socket_linger(&sender, Some(LINGER)).unwrap();
    (sender.into(), receiver)
}
