//! Names as prost has them. It finds the words of a name with the crate `heck`.

/// The last letter that has a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// None: a word begins.
    None,
    Lower,
    Upper,
}

/// The words of a name: `peerURLs` is `peer`, `UR` and `Ls`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()) {
        let (mut word, mut last) = (String::new(), Case::None);
        let mut letters = part.chars().peekable();
        while let Some(c) = letters.next() {
            let Some(&next) = letters.peek() else {
                word.push(c);
                break;
            };
            let here = match c {
                _ if c.is_lowercase() => Case::Lower,
                _ if c.is_uppercase() => Case::Upper,
                _ => last,
            };
            if here == Case::Lower && next.is_uppercase() {
                word.push(c);
                words.push(core::mem::take(&mut word));
                last = Case::None;
            } else if last == Case::Upper && c.is_uppercase() && next.is_lowercase() {
                words.push(core::mem::take(&mut word));
                word.push(c);
                last = Case::None;
            } else {
                word.push(c);
                last = here;
            }
        }
        if !word.is_empty() {
            words.push(word);
        }
    }
    words
}

/// `peerURLs` to `peer_ur_ls`: fields, oneofs, methods, modules.
pub(crate) fn snake(name: &str) -> String {
    let words: Vec<_> = words(name).iter().map(|word| word.to_lowercase()).collect();
    let name = valid(words.join("_"), name);
    // prost does not write it as `r#extern`.
    if name == "extern" { "extern_".into() } else { name }
}

/// `peerURLs` to `PeerUrLs`: types, variants, values of enums.
pub(crate) fn camel(name: &str) -> String {
    let capital = |word: &String| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.as_str().to_lowercase().chars()).collect::<String>()
    };
    valid(words(name).iter().map(capital).collect(), name)
}

/// The value `name` of the enum `of`, without the name of the enum in front.
pub(super) fn value(of: &str, name: &str) -> String {
    let (of, name) = (camel(of), camel(name));
    let rest = name.strip_prefix(&of).filter(|rest| rest.starts_with(char::is_uppercase));
    rest.map_or(name.clone(), str::to_owned)
}

/// `converted`, or what is valid in its place. A name of underscores has no words.
fn valid(converted: String, name: &str) -> String {
    match converted.chars().next() {
        None => name.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{converted}"),
        Some(_) => converted,
    }
}
