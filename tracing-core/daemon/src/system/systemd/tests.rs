use super::*;

#[test]
fn variables_of_others_mean_nothing() {
    for pid in ["", "1", "x", "-1"] {
        assert!(listen_fds_from(pid, "1", "").unwrap().is_empty(), "{pid}");
    }
}

#[test]
fn counts_and_descriptors_must_be_there() {
    let pid = std::process::id().to_string();
    for count in ["", "x", "-1", "1025", "99999999999"] {
        assert!(listen_fds_from(&pid, count, "").is_err(), "{count}");
    }
    assert!(listen_fds_from(&pid, "0", "a:b").unwrap().is_empty());
    // Standing in for what was passed: something is open at 3 in every test run.
    let some = listen_fds_from(&pid, "1", "first:second");
    assert!(some.is_err() || some.is_ok_and(|all| all[0].name == "first"));
}

#[test]
fn one_datagram_arrives() {
    let name = format!("@notify-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(name.trim_start_matches('@')).unwrap();
    let receiver = UnixDatagram::bind_addr(&address).unwrap();
    notify_to(name.as_ref(), "READY=1\nSTATUS=listening").unwrap();
    let mut buf = [0; 100];
    let len = receiver.recv(&mut buf).unwrap();
    assert_eq!(&buf[..len], b"READY=1\nSTATUS=listening");
    drop(receiver);
    assert!(notify_to(name.as_ref(), "STOPPING=1").is_err());
    assert!(notify_to("/no/such/socket".as_ref(), "READY=1").is_err());
}
