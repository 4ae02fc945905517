use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use crate::recorder::command::process_tree::Event;

/// A shell with a child that lives until its stdin ends.
#[test]
fn a_child_comes_and_goes() {
    let mut shell = Command::new("sh");
    let mut shell = shell.args(["-c", "cat; read line"]).stdin(Stdio::piped()).spawn().unwrap();
    let root = shell.id().cast_signed();
    let (mut tree, mut polling) = (ProcessTree::new(1), Polling::new());
    tree.handle_begin(root, 1, 5, Image { name: "sh".into(), ..Image::default() });
    let mut next = |wanted: &dyn Fn(&Event) -> bool| {
        loop {
            polling.read_proc(&mut tree, root, 10);
            while let Some(event) = tree.poll_event() {
                if wanted(&event) {
                    return event;
                }
            }
        }
    };
    let runs_cat = |event: &Event| match event {
        Event::Began { process } | Event::Executed { process, .. } => {
            process.image.cmdline == ["cat"]
        }
        Event::Ended { .. } => false,
    };
    let (Event::Began { process: cat } | Event::Executed { process: cat, .. }) = next(&runs_cat)
    else {
        unreachable!()
    };
    assert_eq!(cat.parent, root);
    writeln!(shell.stdin.as_mut().unwrap()).unwrap();
    drop(shell.stdin.take());
    next(&|event| matches!(event, Event::Ended { process, .. } if process.pid == cat.pid));
    shell.wait().unwrap();
    // The command itself is waited for.
    polling.read_proc(&mut tree, root, 20);
    assert!(tree.contains(root));
}
