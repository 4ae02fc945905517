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
    // Standing in for what was passed: something is open at 3 in nearly every test run.
    match listen_fds_from(&pid, "1", "first:second") {
        Ok(all) => assert!(all.len() == 1 && all[0].name == "first"),
        Err(error) => assert!(error.to_string().contains("descriptor 3"), "{error}"),
    }
}

/// This test again, in a process whose manager wants to be told nothing.
#[test]
fn an_empty_variable_means_nobody() {
    const AGAIN: &str = "NOTIFY_TEST_AGAIN";
    if std::env::var_os(AGAIN).is_some() {
        assert_eq!(tell("READY=1"), Ok(()));
        return;
    }
    let name = "system::systemd::tests::an_empty_variable_means_nobody";
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name]).env(AGAIN, "1").env("NOTIFY_SOCKET", "");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn one_datagram_arrives() {
    let name = format!("@notify-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(name.trim_start_matches('@')).unwrap();
    let receiver = UnixDatagram::bind_addr(&address).unwrap();
    tell_at(name.as_ref(), "READY=1\nSTATUS=listening").unwrap();
    let mut buf = [0; 100];
    let len = receiver.recv(&mut buf).unwrap();
    assert_eq!(&buf[..len], b"READY=1\nSTATUS=listening");
    drop(receiver);
    // Names that nobody ever had: a process that another test starts has a copy of the receiver until its `exec`.
    for nobody in [&*format!("{name}-nobody"), "/no/such/socket"] {
        let error = tell_at(nobody.as_ref(), "READY=1").unwrap_err();
        assert!(error.to_string().contains(nobody), "{error}");
    }
}
