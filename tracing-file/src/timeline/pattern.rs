//! A pattern for names.

/// A part of a name, or a glob of all of it if it has `*` (any text) or `?` (any character).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    is_glob: bool,
}

impl Pattern {
    /// The pattern in `text`. Upper and lower case differ.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { is_glob: text.contains(['*', '?']), text }
    }

    /// Whether `name` fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        if self.is_glob { glob(&self.text, name) } else { name.contains(&self.text) }
    }

    /// Whether this is the number `id`.
    pub(super) fn is_number(&self, id: impl ToString) -> bool {
        !self.is_glob && self.text == id.to_string()
    }
}

/// Whether `name` fits a pattern with `*` and `?`. It goes back to the last `*` only, so that it takes at most as many
/// steps as the characters of `pattern` times those of `name`.
fn glob(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    let mut star = None;
    loop {
        let rest = name.clone();
        match (pattern.next(), name.next()) {
            (Some('*'), _) => {
                name = rest.clone();
                star = Some((pattern.clone(), rest));
            }
            (None, None) => return true,
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => {
                let Some((after, mut from)) = star.take() else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), from.clone());
                star = Some((after, from));
            }
        }
    }
}
