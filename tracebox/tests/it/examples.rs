//! Every config in our sources is equal after it was printed and read again.

use protos::TraceConfig;
use protozero::Message as _;
use protozero::dynamic::DynamicMessage;
use protozero::text;
use std::path::{Path, PathBuf};
use tracebox::schema;

/// All files with this extension below `folder`, without built and downloaded ones.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            if name != "target" && name != "gen" && !name.starts_with('.') {
                files(&path, extension, found);
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

fn sources(folder: &str, extension: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    files(&root.join(folder), extension, &mut found);
    found.sort();
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Prints `text` and reads it again, with dynamic and with generated messages.
fn check(text: &str, place: &Path) -> bool {
    let of = schema::message("TraceConfig");
    let Ok(read) = text::parse_message(&of, text.as_bytes(), &Default::default()) else {
        return false;
    };
    let bytes = read.encode();
    let message = DynamicMessage::decode(of.clone(), &bytes).unwrap();
    for single_line in [false, true] {
        let options = text::PrintOptions { single_line, ..Default::default() };
        let printed = message.to_text_with(&options);
        let again = DynamicMessage::from_text(of.clone(), &printed)
            .unwrap_or_else(|e| panic!("{}: {text}\n{printed}\n{e}", place.display()));
        assert_eq!(again, message, "{}: {text}\nprinted as\n{printed}", place.display());
        assert_eq!(again.encode(), bytes, "{}: {text}", place.display());
    }
    let owned = TraceConfig::decode(&bytes).unwrap();
    assert_eq!(TraceConfig::decode(&owned.encode_to_vec()).unwrap(), owned);
    true
}

#[test]
fn configs_in_our_sources_come_back() {
    let mut count = 0;
    for folder in ["tracebox", "tracing-core", "xtask"] {
        for (path, text) in sources(folder, "rs") {
            for literal in literals(&text) {
                if literal.contains("buffers") || literal.contains("data_sources") {
                    count += usize::from(check(&literal, &path));
                }
            }
        }
    }
    assert!(count >= 10, "only {count} configs found: has their form changed?");
}

/// The string literals of a source file, if they have no escapes but `\n` and `\"`.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find('"') {
        let hashes = rest[..at].len() - rest[..at].trim_end_matches('#').len();
        let is_raw = rest[..at - hashes].ends_with('r');
        let body = &rest[at + 1..];
        let end = if is_raw {
            body.find(&format!("\"{}", "#".repeat(hashes)))
        } else {
            let mut escaped = false;
            body.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
        };
        let Some(end) = end else { break };
        let text = &body[..end];
        // A backslash at the end of a line skips the spaces before the next word.
        let text = if is_raw { text.to_owned() } else { unescaped(text) };
        found.push(text);
        rest = &body[end + 1..];
    }
    found
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split('\\');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match part.chars().next() {
            Some('n') => out.extend(["\n", &part[1..]]),
            Some('"') => out.push_str(part),
            Some('\n') => out.push_str(part.trim_start()),
            _ => out.extend(["\\", part]),
        }
    }
    out
}
