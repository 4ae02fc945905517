//! The comment of a test says what the test checks, without the comments of other tests: it does not begin with a word
//! that refers to them.

use super::text::{Findings, Text};

/// What begins a comment that continues another one.
const BEGINNINGS: &[&str] =
    &["So", "The same.", "The same for", "The same with", "Also", "Nor", "They", "It"];

pub fn check(texts: &[Text], findings: &mut Findings) {
    for text in texts.iter().filter(|t| t.is_rust() && !t.is_generated()) {
        for (line, begin) in continued(&text.text) {
            let what =
                format!("`{begin}`: the comment of a test is read alone, so say what it checks");
            findings.add(&text.path, line, what);
        }
    }
}

/// The lines of comments of tests that continue another comment, with their beginnings.
fn continued(text: &str) -> Vec<(usize, &'static str)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    let is_test = |at: &usize| lines[*at] == "#[test]";
    for at in (0..lines.len()).filter(is_test) {
        let above = lines[..at].iter().rev();
        let attributes = above.clone().take_while(|line| line.starts_with("#[")).count();
        let comment = above.skip(attributes).take_while(|line| line.starts_with("///")).count();
        let first = at - attributes - comment;
        let doc = lines[first].trim_start_matches('/').trim_start();
        let continues = |begin: &&&str| {
            doc.strip_prefix(**begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        if comment > 0
            && let Some(begin) = BEGINNINGS.iter().find(continues)
        {
            found.push((first + 1, *begin));
        }
    }
    found
}

#[cfg(test)]
mod tests;
