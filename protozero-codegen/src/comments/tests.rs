use super::safe;

fn check(text: &str, expected: &str) {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(safe(&lines).join("\n"), expected);
}

#[test]
fn text_stays_text() {
    check("Plain. `code [x]` stays.", "Plain. `code [x]` stays.");
    check("an [index] of Vec<u8>", "an \\[index\\] of Vec\\<u8\\>");
    check("see https://a.b/c_[1], and", "see <https://a.b/c_>\\[1\\], and");
    check("(http://x.y).", "(<http://x.y>).");
    check("one ` tick, \\[done\\]", "one \\` tick, \\[done\\]");
    check("bell \u{7} and tab\tend", "bell   and tab end");
    check("\u{202e}abc\u{202c} \u{2067}d\u{2069}", "abc d");
}

#[test]
fn no_code_is_ever_run() {
    check("```\nlet a = [1];\n```\n[b]", "```text\nlet a = [1];\n```\n\\[b\\]");
    check("```rust\nx", "```text\nx\n```");
    check("~~~\n```\n~~~", "~~~text\n```\n~~~");
    check("~~~~\nfoo(;\n~~~\n~~~~\n[b]", "~~~~text\nfoo(;\n~~~\n~~~~\n\\[b\\]");
    check("```a```", "```a```");
    check("So:\n\n    a < b\n\n    c\n\nThen", "So:\n\n```text\n    a < b\n\n    c\n```\n\nThen");
    check("So:\n    goes on", "So:\n    goes on");
    check("    first", "```text\n    first\n```");
}

/// Indented lines behind what is no paragraph are code, without an empty line between.
#[test]
fn indented_lines_begin_no_code() {
    for title in [
        "Example:\n--------",
        "Example\n===",
        "# Example",
        "***",
        "* * *",
        "-",
        "1.",
        "- # A",
        "|a|\n|-|\n|b|",
    ] {
        check(&format!("{title}\n    foo()\n    bar()"), &format!("{title}\n   foo()\n    bar()"));
    }
    check("```\na\n```\n    foo()", "```text\na\n```\n   foo()");
    check("-     x = 1\n+      y", "- x = 1\n+ y");
    check("1.     x\n12)     y\n  * -     z", "1. x\n12) y\n  * - z");
    // Few spaces make no code, and these are no list marks.
    check("-    x\n1.    y\n1.5     z\n--     a", "-    x\n1.    y\n1.5     z\n--     a");
    // A nested list.
    check("- a\n  - b\n    - c", "- a\n  - b\n    - c");
}

/// The fence at the begin is written without indentation, so the one at the end must not be deeper than three spaces.
#[test]
fn indented_fences_are_closed() {
    check("1. a\n    ```\n    x\n    ```\n[b]", "1. a\n```text\n    x\n```\n\\[b\\]");
}
