use super::*;
use crate::traced::is_consumer;

fn text(name: &str) -> &'static str {
    FILES.iter().find(|file| file.0.ends_with(name)).unwrap().1
}

/// The value of `key` in a unit.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

#[test]
fn paths_of_programs() {
    for good in ["/usr/bin/tracebox", "/opt/x-1.2/trace_box+"] {
        assert_eq!(unit_path(Path::new(good)), Ok(good));
    }
    for (bad, why) in [
        ("/tmp/tracebox", "units do not see"),
        ("/opt/my tools/tracebox", "characters"),
        ("/opt/100%/tracebox", "characters"),
    ] {
        assert!(unit_path(Path::new(bad)).unwrap_err().text.contains(why), "{bad}");
    }
}

#[test]
fn services_start_the_program() {
    for (unit, applet) in [("traced.service", "traced"), ("traced-probes.service", "traced_probes")]
    {
        assert_eq!(value(text(unit), "ExecStart"), Some(&*format!("{PROGRAM} {applet}")));
    }
}

/// `traced` distinguishes the two sockets by their names, in any order.
#[test]
fn sockets_are_told_apart() {
    for (unit, consumer) in [("traced-producer.socket", false), ("traced-consumer.socket", true)] {
        let name = value(text(unit), "FileDescriptorName").unwrap();
        assert_eq!(is_consumer(name, usize::MAX), Some(consumer), "{name}");
        assert_eq!(value(text(unit), "Service"), Some("traced.service"));
    }
}

/// Clients look where systemd listens.
#[test]
fn sockets_are_where_clients_look() {
    let socket = |unit| value(text(unit), "ListenStream").unwrap();
    assert_eq!(socket("traced-producer.socket"), "/run/perfetto/traced-producer.sock");
    assert_eq!(socket("traced-consumer.socket"), "/run/perfetto/traced-consumer.sock");
    let environment = value(text("traced-probes.service"), "Environment").unwrap();
    assert!(environment.ends_with(socket("traced-producer.socket")), "{environment}");
}
