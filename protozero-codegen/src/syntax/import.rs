//! The rule for import paths.

/// The rule for import paths, as `protoc` has it (`importer.cc`): they must not leave the include folder on any system.
pub(crate) const PLAIN: &str =
    "no backslash, no consecutive slashes, no \".\" or \"..\", not absolute";

/// Whether `path` follows the rule [`PLAIN`].
pub(crate) fn plain(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    // On Windows, `c:x` is on another drive.
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    path.split('/').all(part) && !drive
}

/// The error for an import that is not plain.
pub(crate) fn not_plain(import: &str) -> String {
    format!("{import:?} is not a plain path: {PLAIN}")
}
