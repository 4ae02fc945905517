//! Where an error of the parser is meant: it speaks in texts, and past the syntax it names no place.

use crate::{Error, Source, comments};

/// Recovers file, line and column from the texts of the parser's error chain: `error in `FILE`: at
/// LINE:COLUMN: MESSAGE`. Errors found after parsing name no place; then it is the file as a whole.
pub(super) fn located(sources: &[Source], folder: &str, error: &anyhow::Error) -> Error {
    let text = error.chain().map(ToString::to_string).last().unwrap_or_default();
    let mut found = Error { file: String::new(), line: 0, column: 0, message: text };
    for link in error.chain() {
        let link = link.to_string();
        if let Some((file, rest)) = link.strip_prefix("error in `").and_then(|r| r.split_once('`'))
        {
            found.file =
                file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/').to_owned();
            if let Some(message) = rest.strip_prefix(": ") {
                found.message = message.to_owned();
            }
        }
    }
    let place = found.message.strip_prefix("at ").and_then(|rest| {
        let (line, rest) = rest.split_once(':')?;
        let (column, message) = rest.split_once(": ")?;
        Some((line.parse().ok()?, column.parse().ok()?, message.to_owned()))
    });
    if let Some((line, column, message)) = place {
        (found.line, found.column, found.message) = (line, column, message);
    }
    if found.file.is_empty() && sources.len() == 1 {
        found.file.clone_from(&sources[0].path);
    }
    if found.line == 0
        && let Some(source) = sources.iter().find(|s| s.path == found.file)
    {
        (found.line, found.column) = guess(&source.text, &found.message);
    }
    found
}

/// Where a message without a place means: its first quoted name, as it stands in the text after the
/// declaration of the scope that is quoted second, if there is one.
fn guess(text: &str, message: &str) -> (u32, u32) {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(name), scope) = (quoted.next(), quoted.next()) else { return (0, 0) };
    let name = name.trim_start_matches('.');
    let scope = scope.and_then(|s| s.rsplit('.').next()).unwrap_or_default();
    let start = comments::scan(text)
        .iter()
        .find(|(path, _)| path.rsplit('.').next() == Some(scope))
        .map_or(0, |(_, note)| note.line);
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut found = (0, 0);
    for (line, content) in (1..).zip(text.lines()).filter(|(line, _)| *line >= start) {
        for (at, _) in content.match_indices(name) {
            let whole =
                !content[..at].ends_with(word) && !content[at + name.len()..].starts_with(word);
            // Of a duplicate the second is meant, of an unknown name the first.
            if whole && (found == (0, 0) || message.starts_with("Non-unique")) {
                let column = u32::try_from(content[..at].chars().count()).unwrap_or(0) + 1;
                found = (line, column);
            }
        }
    }
    found
}
