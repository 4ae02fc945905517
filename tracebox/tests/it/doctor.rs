//! `tracebox doctor`.

use rustix::process::Signal;

use crate::world::{Ran, World};

/// The status of a check, in JSON.
fn status(json: &str, check: &str) -> String {
    let from = json.split_once(&format!("\"name\": \"{check}\",")).expect(json).1;
    let value = from.split_once("\"status\": \"").unwrap().1;
    value.split_once('"').unwrap().0.to_owned()
}

#[test]
fn without_a_service_with_one_and_with_one_that_is_stopped() {
    let world = World::new();
    let check = |expected: &str| {
        let ran = world.run("tracebox doctor --json");
        let json = ran.text().to_owned();
        assert_eq!(status(&json, "service"), expected, "{json}");
        // What else there is depends on the machine.
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        if expected == "broken" {
            assert_eq!(ran.code, Some(1));
        }
        json
    };
    assert_eq!(status(&check("absent"), "consumer-socket"), "absent");
    let traced = world.traced();
    let json = check("works");
    assert_eq!(status(&json, "consumer-socket"), "works");
    assert!(json.contains(&format!("(pid {})", traced.child.id())), "{json}");
    assert_eq!(status(&json, "data-sources"), "limited");
    traced.signal(Signal::STOP);
    let json = check("broken");
    assert!(json.contains(&format!("sudo kill -CONT {}", traced.child.id())), "{json}");
    traced.signal(Signal::CONT);
    check("works");
}

/// A user without rights gets an answer to each check, and a command where one helps.
#[test]
fn without_rights() {
    let world = World::new();
    let run = |line: &str| -> Ran { world.command_of_nobody(line).output().unwrap().into() };
    let ran = run("tracebox doctor --json");
    let json = ran.text();
    assert_eq!(ran.code, Some(1), "{json}");
    assert_eq!(status(json, "tracefs"), "limited", "{json}");
    for check in ["ftrace-in-use", "events", "trace-clock"] {
        assert_eq!(status(json, check), "unknown", "{check}: {json}");
    }
    assert!(matches!(&status(json, "ftrace-leftovers")[..], "unknown" | "works"), "{json}");
    let ran = run("tracebox doctor");
    let text = ran.text();
    let is_mended = ["sudo chown -R \"$(id -u)\" /sys/kernel/", "sudo mount -t tracefs"];
    assert!(is_mended.iter().any(|command| text.contains(command)), "{text}");
    assert!(text.contains("cannot be recorded"), "{text}");
}

#[test]
fn a_wrong_option() {
    let world = World::new();
    world.run("tracebox doctor --nonsense").failed(2, "--nonsense");
}
