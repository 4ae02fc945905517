use super::*;

#[test]
fn files_of_a_process() {
    assert_eq!(split_cmdline(b""), [""; 0]);
    assert_eq!(split_cmdline(b"sh\0-c\0\0"), ["sh", "-c", ""]);
    assert_eq!(split_cmdline(b"cut off"), ["cut off"]);
    let stat = |has_ended, parent| Some(Stat { parent, has_ended });
    assert_eq!(Stat::parse(b"7 (a) b) S 3 7 7 0"), stat(false, 3));
    assert_eq!(Stat::parse(b"7 (a) Z 3 7"), stat(true, 3));
    assert_eq!(Stat::parse(b"7 (a) S"), None);
    assert_eq!(Stat::parse(b""), None);
}

#[test]
fn this_process() {
    let pid = std::process::id().cast_signed();
    let image = Image::read(pid).unwrap();
    assert!(!image.name.is_empty() && !image.cmdline.is_empty());
    assert!(!Stat::read(pid).unwrap().has_ended);
    assert_eq!(Image::read(-1), None);
}

#[test]
fn both_ways_to_find_children() {
    let mut child = std::process::Command::new("cat");
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let pid = std::process::id().cast_signed();
    let expected = (pid, child.id().cast_signed());
    for lists in [ChildLists::detect(), ChildLists::OfMachine] {
        assert!(lists.children(&[pid]).contains(&expected), "{lists:?}");
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}
