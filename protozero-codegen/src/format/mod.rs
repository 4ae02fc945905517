//! Tokens to text: a syntax check, one formatter, one header, and short lines folded.
//!
//! A formatter spreads a one-line setter over five. In generated code, which is a table with some
//! syntax around it, that hides the table; so what fits on one line is put there.

use proc_macro2::TokenStream;

use crate::error::Error;

/// Columns a folded line may take.
const WIDTH: usize = 120;

/// `header` is the first line, without its `//`.
///
/// # Errors
/// When the tokens are no Rust file: a bug of an emitter, reported against the source it worked on.
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

/// Joins attributes with what they are on, and small bodies with their heads; puts `texts` where their
/// numbers stand.
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
        // A new item of the outermost level gets air.
        let at = lines.len() - 1;
        if at > 0 && starts_item(&lines[at]) && lines[at - 1].starts_with('}') {
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

/// `head {`, one or two plain lines, `}`: the last line is the closing one.
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

/// `head(`, `"name",`, `&[`, rows, `],`, `);`: the rows alone keep lines of their own. And an
/// attribute over many lines becomes one.
fn fold_table(lines: &mut Vec<String>) -> bool {
    let Some(last) = lines.last() else { return false };
    let (depth, end) = (indent(last), last.trim_start());
    // Only an end looks back, and no further than what it is the end of.
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

/// `#[attribute]` on its own line, then what it is on.
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
