//! A test that does not run here tells it, by the crate `skip`: else it looks like one that found everything right.

use super::text::{Findings, Text};

/// How tests ask whether they may be another user.
const ROOT: [&str; 3] = ["geteuid().is_root()", "effective_uid() == 0", "effective_uid() != 0"];

/// Its commands are of a user without rights, and where the tests are not root's, their own user is one.
const IN_FULL: &str = "tracebox/tests/it/world.rs";

pub fn check(texts: &[Text], findings: &mut Findings) {
    let is_meant = |text: &&Text| {
        let path = text.path.as_str();
        let elsewhere = ["xtask/", "tracing-core/skip/"].iter().any(|own| path.starts_with(own));
        text.is_rust() && text.is_test() && !elsewhere
    };
    for text in texts.iter().filter(is_meant) {
        let asks = ROOT.iter().any(|question| text.code.contains(question));
        if asks && !text.code.contains("skip::without_root(") && text.path != IN_FULL {
            let what = "a test for root alone tells where it does not run: `skip::without_root`";
            findings.add(&text.path, 1, what);
        }
        if text.text.contains("\\nSKIPPED ") {
            findings.add(&text.path, 1, "the line is written by `skip::test`");
        }
    }
}

#[cfg(test)]
mod tests;
