use super::*;

/// `SAFETY.md` says in which form of `ci` a tool runs.
#[test]
fn the_table_of_proofs_says_when_a_tool_runs() {
    let ctx = Ctx::new().unwrap();
    let text = read(&ctx.root().join("SAFETY.md")).unwrap();
    let table = text.split("| tool | over what | when |").nth(1).unwrap();
    let mut rows = 0;
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let when = row.rsplit('|').nth(1).unwrap().trim();
        let (command, when) = when.split_once(", ").unwrap();
        let command = command.trim_matches('`').trim_start_matches("cargo xtask ");
        let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
        assert!(STEPS.iter().any(|step| step.0 == name), "{row}");
        // What a step leaves out is run by hand.
        let expected = match name {
            "miri" if arguments.is_empty() => "by hand, before a change of unsafe code",
            _ if LONG.contains(&name) => "in `ci --all`",
            _ => "in ci",
        };
        assert_eq!(when, expected, "{row}");
        rows += 1;
    }
    assert!(rows >= 8, "{rows}");
}

#[test]
fn long_steps_are_steps() {
    assert!(LONG.iter().all(|name| STEPS.iter().any(|step| step.0 == *name)));
}
