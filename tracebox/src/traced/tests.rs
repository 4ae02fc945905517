use super::*;

#[test]
fn passed_sockets() {
    use PortKind::{Consumer, Producer};
    for (name, index, expected) in [
        ("traced-consumer.socket", 0, Some(Consumer)),
        ("traced-producer.socket", 1, Some(Producer)),
        ("unknown", 0, Some(Producer)),
        ("", 1, Some(Consumer)),
        ("", 2, None),
        ("producer-and-consumer", 5, None),
        ("producer2", 7, Some(Producer)),
    ] {
        assert_eq!(port_of(name, Some(index)), expected, "{name} {index}");
    }
}

#[test]
fn socket_permissions() {
    let of = |(group, mode), (consumer_group, consumer_mode)| Permissions {
        producers: SocketPermissions { group, mode },
        consumers: SocketPermissions { group: consumer_group, mode: consumer_mode },
    };
    assert_eq!(permissions("0:0660:5:0600"), Ok(of((0, 0o660), (5, 0o600))));
    assert_eq!(permissions("root:0777:root:0000"), Ok(of((0, 0o777), (0, 0))));
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

#[test]
fn failures_to_listen_say_what_to_do() {
    let address = || Address::parse("/s").unwrap();
    let failed = |errno| ListenError::Os { address: address(), error: OsError::new("open", errno) };
    for (error, end) in [
        (
            ListenError::InUse(address()),
            "another service is running there; `perfetto --query` asks it",
        ),
        (
            failed(13),
            "; run as root, or set PERFETTO_PRODUCER_SOCK_NAME and PERFETTO_CONSUMER_SOCK_NAME",
        ),
        (failed(2), "No such file or directory (os error 2)"),
    ] {
        let text = listen_failure(&error).text;
        assert!(text.ends_with(end), "{text}");
    }
    let chown = OsError::new("chown", 1);
    let text = with_advice(&chown, &chown, "only root").text;
    assert_eq!(text, "chown: Operation not permitted (os error 1); only root");
}

#[test]
fn an_old_kernel_is_named() {
    let failure = |errno| passed_failure(&OsError::new("pidfd_open", errno)).text;
    assert!(failure(libc::ENOSYS).contains("older than Linux 5.6"), "{}", failure(libc::ENOSYS));
    assert!(!failure(libc::EPERM).contains("Linux"), "{}", failure(libc::EPERM));
}

/// Users may have parts of the memory, and of little memory together more than all.
#[test]
fn little_memory_is_told() {
    for bytes in [0, 256 << 20, 1 << 40] {
        assert_eq!(memory_warning(bytes), None, "{bytes}");
    }
    for bytes in [1, (256 << 20) - 1] {
        let warning = memory_warning(bytes).expect("a warning");
        let named = format!("may use {} MiB", bytes >> 20);
        assert!(warning.contains(&named) && warning.contains("at least 256 MiB"), "{warning}");
    }
}
