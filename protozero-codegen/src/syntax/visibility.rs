//! Which types other files can use, in edition 2024: by `export` and `local`, and by a feature of the file.

use std::collections::BTreeSet;

/// The feature `default_symbol_visibility`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unmarked {
    Exported,
    #[default]
    TopLevelExported,
    Local,
}

/// The types of a file, and what is said about them.
#[derive(Default)]
pub(super) struct Visibility {
    unmarked: Unmarked,
    /// Path of each type, and what its declaration says: exported, local, or nothing.
    pub types: Vec<(String, Option<bool>)>,
}

impl Visibility {
    /// `value` is a value of the feature, by its number.
    pub fn set_unmarked(&mut self, value: u8) {
        self.unmarked = match value {
            1 => Unmarked::Exported,
            2 => Unmarked::TopLevelExported,
            _ => Unmarked::Local,
        };
    }

    /// Paths of the types that other files cannot use.
    pub fn local(self) -> BTreeSet<String> {
        let exported = |path: &str| match self.unmarked {
            Unmarked::Exported => true,
            Unmarked::TopLevelExported => !path.contains('.'),
            Unmarked::Local => false,
        };
        let local = self.types.into_iter().filter(|(path, said)| !said.unwrap_or(exported(path)));
        local.map(|(path, _)| path).collect()
    }
}
