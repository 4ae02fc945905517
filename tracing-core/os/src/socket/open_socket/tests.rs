use std::fs::File;
use std::io::{Read as _, Write as _};

use super::*;

/// Two ends of a connection. The first one does not wait for bytes.
fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().expect("a connection");
    a.set_nonblocking(true).expect("a socket");
    (a, b)
}

#[test]
fn only_sockets_are_known() {
    let (a, _b) = pair();
    let socket = OpenSocket::of(a.as_fd()).expect("a socket");
    assert_eq!(OpenSocket::from_bits(socket.to_bits()), socket);
    let file = File::open("/dev/null").expect("a file");
    assert_eq!(OpenSocket::of(file.as_fd()), None);
}

#[test]
fn what_is_left_to_the_parent_is_closed_here() {
    let (mut a, mut b) = pair();
    OpenSocket::of(a.as_fd()).expect("a socket").leave_to_parent();
    assert_eq!(a.read(&mut [0]).expect("an end"), 0);
    // Nobody else has the socket.
    assert_eq!(b.read(&mut [0]).expect("an end"), 0);
}

/// Its number may belong to another file by now.
#[test]
fn what_took_the_number_of_a_socket_stays() {
    let ((mut a, mut b), (other, _peer)) = (pair(), pair());
    let mut was = OpenSocket::of(other.as_fd()).expect("a socket");
    was.fd = a.as_raw_fd();
    was.leave_to_parent();
    b.write_all(b"x").expect("a connection");
    assert_eq!(a.read(&mut [0]).expect("a byte"), 1);
}
