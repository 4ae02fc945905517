//! A program whose user has written something wrong: it runs, and says so.

use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::Duration;

use os::socket::{Address, Stream};
use tracing_sdk::Init;
use tracing_sdk::session::Config;

use crate::{LIFE, Place};

/// What `init` prints to standard error with `address` in the environment, and what the program then prints.
fn printed(place: &Place, address: &str) -> (String, String) {
    printed_by("looks for a service", place, address)
}

fn printed_by(part: &str, place: &Place, address: &str) -> (String, String) {
    let mut command = place.command(part);
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

/// A process listens there, and accepts nobody.
pub(crate) fn a_full_queue_stops_no_program() {
    let place = Place::new("full");
    let path = place.0.join("producer");
    let listener = UnixListener::bind(&path).expect("a socket");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let socket = crate::address(&path);
    let waiting: Vec<_> = std::iter::from_fn(|| Stream::connect(&socket).ok()).collect();
    assert!(!waiting.is_empty());
    let printed = printed_by("meets a full queue", &place, path.to_str().expect("a path"));
    assert_eq!(printed, (String::new(), "it runs\n".to_owned()));
}

pub(crate) fn meet_a_full_queue() {
    tracing_sdk::init().expect("a producer");
    // It would wait for a lock that a thread holds while it connects.
    tracing_sdk::register(&[&LIFE]);
    tracing_sdk::trigger(&["trigger"]);
    assert!(!tracing_sdk::sync(Duration::ZERO));
    println!("it runs");
    tracing_sdk::shutdown();
}

pub(crate) fn a_category_that_cannot_be_is_told() {
    let place = Place::new("category");
    let (errors, _) = printed_by("names categories", &place, "@none");
    let told: Vec<_> = errors.lines().collect();
    const ADVICE: &str = "name each on its own, such as `&[\"net\", \"gpu*\"]`";
    let line = |name: &str| format!("tracing-sdk: no category is called {name:?}: {ADVICE}");
    assert_eq!(told, [line("net,gpu"), line("")]);
}

pub(crate) fn name_categories() {
    let _config = Config::new().track_events(&["net", "net,gpu", "gpu*", ""]);
}
