use super::*;

#[test]
fn codes() {
    assert_eq!(code(ExitStatus::from_raw(0)), 0);
    assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
    assert_eq!(code(ExitStatus::from_raw(255 << 8)), 255);
    assert_eq!(code(ExitStatus::from_raw(9)), 137);
}

#[test]
fn commands_need_a_separator() {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let parsed = parse("record", &words(&["-o", "x", "-t", "1s", "--", "ls", "-o"]));
    let args = parsed.unwrap().unwrap();
    assert_eq!(args.command, ["ls", "-o"]);
    assert_eq!(args.what.time.as_deref(), Some("1s"));
    for bad in [&["-o", "x", "ls"][..], &["-o", "x", "--"], &[]] {
        let failure = parse("record", &words(bad)).unwrap_err();
        assert!(failure.text.contains("COMMAND"), "{failure}");
        let advice = failure.text.starts_with("write `--` before the command: ");
        assert_eq!(advice, !bad.contains(&"--"), "{failure}");
    }
}
