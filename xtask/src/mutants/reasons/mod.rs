//! `xtask/mutants.txt`: mutants that no test finds, each with the reason why that is right.
//!
//! ```text
//! # A comment.
//! limit READ_PASS_BYTES is 1000 times larger
//!     Only how often ...
//! ```

use std::collections::BTreeMap;

/// Reasons by the name of the mutant.
pub struct Reasons(BTreeMap<String, String>);

impl Reasons {
    /// # Errors
    /// A mutant has no reason, or is there twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reasons: BTreeMap<String, String> = BTreeMap::new();
        let mut last = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix("    "), &last) {
                (Some(reason), Some(name)) => {
                    let text = reasons.entry(String::clone(name)).or_default();
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(reason.trim());
                }
                (Some(_), None) => return Err(format!("a reason without a mutant: {line}")),
                (None, _) => {
                    let name = line.trim_end().to_owned();
                    if reasons.insert(name.clone(), String::new()).is_some() {
                        return Err(format!("twice: {name}"));
                    }
                    last = Some(name);
                }
            }
        }
        match reasons.iter().find(|(_, reason)| reason.is_empty()) {
            Some((name, _)) => Err(format!("no reason: {name}")),
            None => Ok(Self(reasons)),
        }
    }

    pub fn of(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names that are no mutant's.
    pub fn unknown<'r>(
        &'r self,
        is_known: impl Fn(&str) -> bool + 'r,
    ) -> impl Iterator<Item = &'r str> {
        self.0.keys().map(String::as_str).filter(move |name| !is_known(name))
    }
}

#[cfg(test)]
mod tests;
