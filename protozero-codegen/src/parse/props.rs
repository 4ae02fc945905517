//! Any text or descriptor of a schema gives code or an error, never a panic.

use proptest::prelude::*;

use crate::{ApiKinds, Config, Source, descriptor_set, generate, generate_set, plugin};

const TEXTS: [&str; 3] = [
    include_str!("../../tests/outside/proto/two.proto"),
    include_str!("../../tests/outside/proto/edition.proto"),
    include_str!("../../tests/outside/proto/zoo/deep/names.proto"),
];

/// Words of `.proto` files, valid and invalid ones.
const WORDS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ";",
    "=",
    ",",
    ".",
    "-",
    "\"",
    "'",
    "/*",
    "//",
    "\0",
    "\u{e9}",
    "1",
    "0x7fffffff",
    "2147483647",
    "18446744073709551616",
    "1e400",
    "message",
    "group",
    "map",
    "oneof",
    "extend",
    "reserved",
    "extensions",
    "to",
    "max",
    "option",
    "features",
    "stream",
];

fn config(text: String) -> Config {
    let three = include_str!("../../tests/outside/proto/three.proto");
    let source = |path: &str, text: String| Source { path: path.into(), text };
    Config {
        sources: vec![source("a.proto", text), source("three.proto", three.into())],
        api_kinds: ApiKinds::ALL,
        ..Config::default()
    }
}

/// Cuts, doubles and replaces parts of the text.
fn mutate(text: &str, changes: &[(usize, usize, u8)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, len, what) in changes {
        let start = at % (chars.len() + 1);
        let end = (start + len % 24).min(chars.len());
        let part: Vec<char> = chars[start..end].to_vec();
        let new: Vec<char> = match usize::from(*what) {
            0..40 => Vec::new(),
            40..60 => [part.clone(), part].concat(),
            what => WORDS[what % WORDS.len()].chars().collect(),
        };
        chars.splice(start..end, new);
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn text_is_code_or_an_error(
        which in 0..TEXTS.len(),
        changes in prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..4),
    ) {
        let _ = generate(&config(mutate(TEXTS[which], &changes)));
    }

    #[test]
    fn a_set_is_code_or_an_error(
        which in 0..TEXTS.len(),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        let mut set = descriptor_set(&config(TEXTS[which].into()).sources).unwrap();
        for (at, byte) in changes {
            let at = at % set.len();
            set[at] = byte;
        }
        let _ = generate_set(&config(String::new()), &set);
        let _ = plugin(&set);
    }
}
