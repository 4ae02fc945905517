//! Which value a place in a text belongs to: `shop.Order.lines[3].price`, with the names as they are in the text. The
//! tokens before the place are read again, after an error only.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::lexer::Lexer;

/// What is open.
enum Open<'t> {
    /// An object, and the name of the value that is read.
    Object(Option<&'t str>),
    /// A list, and the index of the element that is read.
    List(usize),
}

/// Maximum number of characters of a name.
const NAME_MAX: usize = 40;

/// The path at the position `end`, from the message `root` on. Empty if no value is there.
pub(super) fn path(root: &str, text: &str, end: usize) -> String {
    let text = text.get(..end).unwrap_or(text);
    let bytes = text.as_bytes();
    let mut opened = Vec::new();
    let (mut at, mut name) = (0, None);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match (byte, opened.last_mut()) {
            (b'"', _) => {
                let begin = at;
                while let Some(&byte) = bytes.get(at)
                    && byte != b'"'
                {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                name = text.get(begin..at.min(bytes.len()));
                at += 1;
            }
            (b'{', _) => opened.push(Open::Object(None)),
            (b'[', _) => opened.push(Open::List(0)),
            (b'}' | b']', _) => {
                opened.pop();
            }
            (b':', Some(Open::Object(of))) => *of = name,
            (b',', Some(Open::Object(of))) => *of = None,
            (b',', Some(Open::List(index))) => *index += 1,
            _ => {}
        }
    }
    print(root, &opened)
}

/// The text that a name with escapes means.
fn unescaped(name: &str) -> Cow<'_, str> {
    if !name.contains('\\') {
        return Cow::Borrowed(name);
    }
    match Lexer::new(&format!("\"{name}\"")).string("a name") {
        Ok(text) => Cow::Owned(text.into_owned()),
        Err(_) => Cow::Borrowed(name),
    }
}

fn print(root: &str, opened: &[Open<'_>]) -> String {
    let mut path = String::from(root);
    for open in opened {
        match open {
            Open::Object(None) => {}
            Open::Object(Some(name)) => {
                let name = &*unescaped(name);
                let end = name.char_indices().nth(NAME_MAX).map(|(at, _)| at);
                let shown = end.and_then(|end| name.get(..end)).unwrap_or(name);
                let more = if end.is_some() { "..." } else { "" };
                let is_word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                let starts = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
                path.push_str(&if is_word && starts {
                    format!(".{shown}{more}")
                } else {
                    format!("[\"{}{more}\"]", shown.escape_debug())
                });
            }
            Open::List(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if path.len() == root.len() { String::new() } else { path }
}
