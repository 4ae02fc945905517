use abi::error::OsError;

use super::*;

/// Errors of the connection say what to do next.
#[test]
fn errors_of_the_connection() {
    let text = |error| SessionError::from(error).to_string();
    let address = os::socket::Address::parse("/run/x").expect("an address");
    let refused = OsError::new("connect", 13);
    let error = ConsumerError::Connect { address, error: refused };
    assert_eq!(
        text(error),
        "cannot connect to /run/x: Permission denied (os error 13); run as a user who may write to that socket, or \
         record inside the program with `Session::in_process` (feature `in-process`)"
    );
    assert!(text(ConsumerError::Disconnected).ends_with("start it again, and make a new session"));
    assert_eq!(text(ConsumerError::Service("no buffers".into())), "no buffers");
}
