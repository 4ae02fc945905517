//! A program that looks for its service where none can be.

use std::process::Stdio;

use os::socket::Address;
use tracing_sdk::Init;

use crate::{LIFE, Place};

/// What `init` prints to standard error with `address` in the environment, and what the program then prints.
fn printed(place: &Place, address: &str) -> (String, String) {
    let mut command = place.command("looks for a service");
    command.env("PERFETTO_PRODUCER_SOCK_NAME", address).current_dir(&place.0);
    let output = command.stderr(Stdio::piped()).output().expect("a process");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stderr), text(&output.stdout))
}

pub(crate) fn an_address_where_no_service_can_be_is_told() {
    let place = Place::new("address");
    let folder = place.0.display().to_string();
    std::fs::write(place.0.join("file"), "no socket").expect("a file");
    const FORMS: &str =
        "An address is the path of a socket, @NAME, HOST:PORT or vsock://CID:PORT\n";
    for (address, fault) in [
        ("localhost".to_owned(), "there is no such file in the working directory".to_owned()),
        (format!("{folder}/none/socket"), format!("there is no folder {folder}/none")),
        (format!("{folder}/file"), "it is not a socket".to_owned()),
        (format!("{folder}/file/x"), "Not a directory (os error 20)".to_owned()),
    ] {
        let expected = format!(
            "tracing-sdk: no service can be at {address:?} (PERFETTO_PRODUCER_SOCK_NAME): {fault}. {FORMS}"
        );
        assert_eq!(printed(&place, &address), (expected, "it runs\n".to_owned()));
    }
    // A service may start there, or be there.
    for address in [format!("{folder}/socket"), "@none".to_owned(), "127.0.0.1:9".to_owned()] {
        assert_eq!(printed(&place, &address), (String::new(), "it runs\n".to_owned()), "{address}");
    }
    let (errors, _) = printed(&place, "tcp://localhost:80");
    assert!(errors.starts_with("bad socket address \"tcp://localhost:80\": an address is a path"));
}

pub(crate) fn look() {
    if let Err(error) = tracing_sdk::init() {
        eprintln!("{error}");
        return;
    }
    // Told once.
    tracing_sdk::init().expect("a producer");
    assert!(!LIFE.is_enabled());
    println!("it runs");
    let chosen = Address::parse("/none/socket").expect("an address");
    assert!(Init::new().address(chosen).system().is_err(), "other options");
}
