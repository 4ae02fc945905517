use super::*;

fn image(name: &str) -> Image {
    Image { name: name.into(), cmdline: vec![name.into()], uid: 0 }
}

/// One letter per event, with the process and its program.
fn events(tree: &mut ProcessTree) -> Vec<(char, i32, String)> {
    let events = std::iter::from_fn(|| tree.poll_event());
    let short = |event| match event {
        Event::Began { process } => ('b', process.pid, process.image.name),
        Event::Executed { process, .. } => ('x', process.pid, process.image.name),
        Event::Ended { process, .. } => ('e', process.pid, process.image.name),
    };
    events.map(short).collect()
}

#[test]
fn life_of_a_process() {
    let mut tree = ProcessTree::new(7);
    tree.handle_begin(10, 1, 100, image("sh"));
    tree.handle_begin(11, 10, 110, image("sh"));
    tree.handle_exec(11, 120, image("ls"));
    tree.handle_exec(11, 130, image("ls"));
    tree.handle_exec(11, 140, Image { name: "ls".into(), ..Image::default() });
    tree.handle_exec(99, 140, image("stranger"));
    tree.handle_exit(11, 150, None);
    tree.handle_exit(11, 160, None);
    let expected = [('b', 10, "sh"), ('b', 11, "sh"), ('x', 11, "ls"), ('e', 11, "ls")];
    assert_eq!(events(&mut tree), expected.map(|(c, pid, name)| (c, pid, name.to_owned())));
    let left: Vec<_> = tree.processes().map(|process| (process.pid, process.track)).collect();
    assert_eq!(left, [(10, 7)]);
}

#[test]
fn events_that_nothing_takes_are_bounded() {
    let mut tree = ProcessTree::new(7);
    tree.handle_begin(10, 1, 100, image("a"));
    for number in 0..EVENTS_MAX {
        tree.handle_exec(10, 110, image(&number.to_string()));
    }
    assert_eq!(events(&mut tree).len(), EVENTS_MAX);
}

#[test]
fn a_number_that_comes_again() {
    let mut tree = ProcessTree::new(7);
    tree.handle_begin(10, 1, 100, image("a"));
    tree.handle_begin(10, 1, 200, image("b"));
    let expected = [('b', 10, "a"), ('e', 10, "a"), ('b', 10, "b")];
    assert_eq!(events(&mut tree), expected.map(|(c, pid, name)| (c, pid, name.to_owned())));
    assert_eq!(tree.processes().next().unwrap().track, 8, "a track of its own");
}
