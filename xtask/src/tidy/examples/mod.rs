//! Every public item of `tracing-sdk` has an example or is in one: a block of code in its documentation or in a guide,
//! which tests compile, or a program in `tracing-sdk/examples`.
//!
//! | item | is in an example with |
//! |---|---|
//! | type, trait, function, constant | its name |
//! | macro | its name and `!` |
//! | method | `.name`, `::name` or `fn name`, and the type, or a variable that is called like it |
//!
//! Variants and fields are shown with their type. Names are compared, not types. So the check finds what nobody shows, and not what is shown badly.

mod api;
mod code;
#[cfg(test)]
mod tests;

use self::api::{Item, Kind};
use self::code::Example;
use super::text::{Findings, Text};

const SOURCES: &str = "tracing-sdk/src/";
const PROGRAMS: &str = "tracing-sdk/examples/";
const GUIDES: [&str; 3] = ["docs/sdk.md", "docs/sdk-migration.md", "docs/sdk-tracing.md"];

/// Items that no example can show, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

pub fn check(texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    check_but(texts, EXCEPTIONS, findings)
}

fn check_but(
    texts: &[Text],
    exceptions: &[(&str, &str)],
    findings: &mut Findings,
) -> Result<(), String> {
    let is_source = |text: &&Text| text.path.starts_with(SOURCES) && text.is_rust();
    let sources: Vec<&Text> =
        texts.iter().filter(is_source).filter(|text| !text.is_test()).collect();
    let items = api::items(&sources)?;
    let examples = examples(texts, &sources);
    for item in &items {
        let is_excepted = exceptions.iter().any(|(name, _)| *name == item.name());
        match (is_shown(item, &examples), is_excepted) {
            (false, false) => findings.add(
                item.path,
                1,
                format!("no example has `{}`: show it in one", item.name()),
            ),
            (true, true) => findings.add(
                item.path,
                1,
                format!("an example has `{}`: it needs no exception", item.name()),
            ),
            _ => {}
        }
    }
    for (name, _) in exceptions.iter().filter(|(name, _)| !items.iter().any(|i| i.name() == *name))
    {
        findings.add("xtask/src/tidy/examples/mod.rs", 1, format!("there is no item `{name}`"));
    }
    Ok(())
}

/// All examples of users.
fn examples(texts: &[Text], sources: &[&Text]) -> Vec<Example> {
    let documented = sources.iter().map(|text| code::documentation(&text.text));
    let guides = texts.iter().filter(|text| GUIDES.contains(&text.path.as_str()));
    let blocks = documented.chain(guides.map(|text| text.text.clone()));
    let blocks = blocks.flat_map(|text| code::blocks(&text)).collect::<Vec<_>>();
    let programs = texts.iter().filter(|text| text.path.starts_with(PROGRAMS) && text.is_rust());
    let programs = programs.map(|text| text.text.clone());
    blocks.into_iter().chain(programs).map(|text| Example::new(&text)).collect()
}

fn is_shown(item: &Item<'_>, examples: &[Example]) -> bool {
    let name = item.ident.as_str();
    let has_owner = |example: &Example| {
        let Some(owner) = &item.owner else { return true };
        example.has_word(owner) || example.has_word(&snake_case(owner))
    };
    let has = |example: &Example| match item.kind {
        Kind::Named => example.has_word(name),
        Kind::Macro => example.has_macro(name),
        Kind::Method => example.has_method(name),
    };
    let in_its_own = code::blocks(&item.documentation);
    in_its_own.iter().any(|text| has(&Example::new(text)))
        || examples.iter().any(|example| has(example) && has_owner(example))
}

/// The name of a variable that has the type `name`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
