//! Turns tokens into text: checks the syntax, formats, adds the header and joins short lines.
//!
//! A formatter writes a short setter in five lines. Generated code is a table with syntax around it, and is easier to
//! read with one line per row, so short bodies are joined.

use proc_macro2::TokenStream;

use crate::error::Error;

/// Columns a folded line may take.
const WIDTH: usize = 120;

/// `header` is the first line, without its `//`.
///
/// # Errors
/// When the tokens are not a Rust file. That is a bug of an emitter; the error names the `.proto` file.
pub(crate) fn format(
    header: &str,
    source: &str,
    tokens: TokenStream,
    texts: &[String],
) -> Result<String, Error> {
    let file: syn::File = syn::parse2(tokens).map_err(|e| Error {
        file: source.to_owned(),
        line: 0,
        column: 0,
        message: format!("generated code does not parse: {e}"),
    })?;
    Ok(format!("// {header}\n\n{}", fold(&prettyplease::unparse(&file), texts)))
}

/// Joins attributes with their items, and small bodies with their heads; replaces each `verbatim!` by its entry of
/// `texts`.
fn fold(text: &str, texts: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        lines.push(line.to_owned());
        if let [.., head, number, _] = lines.as_slice()
            && head == "verbatim! {"
            && let Some(text) = number
                .trim()
                .trim_end_matches("usize")
                .parse()
                .ok()
                .and_then(|at: usize| texts.get(at))
        {
            lines.truncate(lines.len() - 3);
            if !lines.last().is_none_or(|last| last.is_empty()) {
                lines.push(String::new());
            }
            lines.extend(text.lines().map(str::to_owned));
            continue;
        }
        if !fold_body(&mut lines) && !fold_table(&mut lines) {
            fold_attribute(&mut lines);
        }
        // An empty line before each item of the outermost level.
        let at = lines.len() - 1;
        if at > 0 && starts_item(&lines[at]) && lines[at - 1].starts_with(['}', ']']) {
            lines.insert(at, String::new());
        }
    }
    lines.join("\n") + "\n"
}

fn starts_item(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#' || c == '/')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn plain(line: &str) -> bool {
    !line.contains("//") && !line.trim_end().ends_with('{')
}

/// Joins `head {`, one or two simple lines, and `}`, which is the last of `lines`.
fn fold_body(lines: &mut Vec<String>) -> bool {
    let Some(last) = lines.last() else { return false };
    let end = last.trim_start();
    if !matches!(end, "}" | "}," | "})" | "};") {
        return false;
    }
    let depth = indent(last);
    let Some(head) = (lines.len().saturating_sub(4)..lines.len() - 1)
        .rev()
        .find(|at| indent(&lines[*at]) == depth && lines[*at].trim_end().ends_with('{'))
    else {
        return false;
    };
    let start = lines[head].trim_start();
    let foldable = start.starts_with("fn ")
        || start.contains("pub fn ")
        || start.contains("pub const fn ")
        || start.starts_with("#[inline] fn ")
        || start.starts_with("pub struct ")
        || start.starts_with("Self {");
    let body = &lines[head + 1..lines.len() - 1];
    if !foldable || body.is_empty() || !body.iter().all(|l| plain(l)) {
        return false;
    }
    let mut inner = body.iter().map(|l| l.trim()).collect::<Vec<_>>().join(" ");
    if start.starts_with("pub struct ") || start.starts_with("Self {") {
        inner.truncate(inner.trim_end_matches(',').len());
    }
    let joined = format!("{} {inner} {end}", lines[head]);
    if joined.len() > WIDTH {
        return false;
    }
    lines.truncate(head);
    lines.push(joined);
    fold_attribute(lines);
    true
}

/// Joins `head(`, `"name",` and `&[` into one line, and `],` and `);` into another; the rows between keep their lines.
/// An attribute over many lines becomes one line.
fn fold_table(lines: &mut Vec<String>) -> bool {
    let Some(last) = lines.last() else { return false };
    let (depth, end) = (indent(last), last.trim_start());
    // Only a closing line is examined, and the search for its opening line stops at lesser indentation.
    if !matches!(end, ");" | ")]") {
        return false;
    }
    let head = lines[..lines.len() - 1].iter().rposition(|l| indent(l) <= depth);
    let Some(open) = head.filter(|at| indent(&lines[*at]) == depth && lines[*at].ends_with('('))
    else {
        return false;
    };
    if end == ")]" && lines[open].starts_with("#![") {
        let inner: Vec<&str> = lines[open + 1..lines.len() - 1].iter().map(|l| l.trim()).collect();
        let joined = format!("{}{})]", lines[open], inner.join(" "));
        lines.truncate(open);
        lines.push(joined);
        return true;
    }
    let [head, name, list, rows @ .., close, _] = &lines[open..] else { return false };
    if list.trim() != "&[" || close.trim() != "]," || !name.trim_start().starts_with('"') {
        return false;
    }
    let mut folded = vec![format!("{head}{} &[", name.trim_start())];
    folded.extend(rows.iter().map(|row| row.strip_prefix("    ").unwrap_or(row).to_owned()));
    folded.push(format!("{}]);", " ".repeat(depth)));
    lines.truncate(open);
    lines.append(&mut folded);
    true
}

/// Joins an `#[attribute]` line with the line of its item.
fn fold_attribute(lines: &mut Vec<String>) {
    let [.., attribute, line] = lines.as_slice() else { return };
    let text = attribute.trim_start();
    let joins = ["#[inline]", "#[inline(always)]", "#[must_use]", "#[pb("].iter();
    let whole = text.ends_with(']') && joins.clone().any(|a| text.starts_with(*a));
    let joined = format!("{attribute} {}", line.trim_start());
    if whole && !line.trim_start().starts_with('#') && joined.len() <= WIDTH {
        lines.truncate(lines.len() - 2);
        lines.push(joined);
    }
}

#[cfg(test)]
mod tests;
