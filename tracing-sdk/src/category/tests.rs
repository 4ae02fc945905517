use protos::TrackEventConfig;

use super::rules::is_enabled;

/// `config`: `+name` enables, `-name` disables; with `t:` in front of the pattern it is a tag.
fn check(config: &str, category: &str, expected: bool) {
    let mut parsed = TrackEventConfig::default();
    for part in config.split_whitespace() {
        let (sign, pattern) = part.split_at(1);
        let (tag, pattern) = match pattern.strip_prefix("t:") {
            Some(tag) => (true, tag),
            None => (false, pattern),
        };
        match (sign, tag) {
            ("+", false) => &mut parsed.enabled_categories,
            ("-", false) => &mut parsed.disabled_categories,
            ("+", true) => &mut parsed.enabled_tags,
            _ => &mut parsed.disabled_tags,
        }
        .push(pattern.to_owned());
    }
    let mut words = category.split_whitespace();
    let name = words.next().unwrap_or_default();
    let tags: Vec<&str> = words.collect();
    assert_eq!(is_enabled(&parsed, name, &tags), expected, "{config:?} for {category:?}");
}

/// What the C++ SDK (`track_event_internal.cc`) answers for the same configs and categories.
#[test]
fn rules_are_those_of_the_cpp_sdk() {
    check("", "a", true);
    check("", "a slow", false);
    check("", "a debug", false);
    check("+a", "b", true);
    check("+t:t", "a", true);
    check("+t:t", "a slow", true);
    check("+*", "a slow", false);
    check("-* +t:t", "a t", true);
    check("-* +t:t", "a", false);
    check("-a +t:t", "a t", false);
    check("-t:t +t:t", "a t", false);
    check("-a* +*", "abc", false);
    check("-* +a*", "abc", true);
    check("-* +a", "a slow", true);
    check("-* +a*ignored", "abc", true);
    check("-*", "a", false);
    check("-t:x*", "a xyz", false);
    check("+t:* -*", "a t", false);
    check("+t:slow", "a slow debug", true);
}

/// The categories of a config, by the rules one at a time instead of pass by pass.
mod naive {
    use protos::TrackEventConfig;

    fn kind(pattern: &str) -> u8 {
        match pattern.find('*') {
            None => 0,
            Some(0) => 2,
            Some(_) => 1,
        }
    }

    fn best(patterns: &[String], texts: &[&str]) -> Option<u8> {
        let hit = |pattern: &&String, text: &str| match pattern.split_once('*') {
            None => pattern.as_str() == text,
            Some((prefix, _)) => text.starts_with(prefix),
        };
        let hits = patterns.iter().filter(|pattern| texts.iter().any(|text| hit(pattern, text)));
        hits.map(|pattern| kind(pattern)).min()
    }

    pub(super) fn is_enabled(config: &TrackEventConfig, name: &str, tags: &[&str]) -> bool {
        let none = config.enabled_tags.is_empty() && config.disabled_tags.is_empty();
        let implied = ["slow".to_owned(), "debug".to_owned()];
        let off: &[String] = if none { &implied } else { &config.disabled_tags };
        let order = [
            (best(&config.enabled_categories, &[name]), true),
            (best(&config.disabled_categories, &[name]), false),
            (best(off, tags), false),
            (best(&config.enabled_tags, tags), true),
        ];
        let first = order
            .iter()
            .enumerate()
            .filter_map(|(at, (kind, on))| Some((*kind.as_ref()?, at, *on)));
        first.min().is_none_or(|(_, _, on)| on)
    }
}

proptest::proptest! {
    #[test]
    fn passes_give_what_the_best_pattern_gives(
        lists in proptest::collection::vec(proptest::collection::vec("[ab]{0,2}\\*?[ab]?|slow|debug", 0..3), 4),
        name in "[ab]{1,3}",
        tags in proptest::collection::vec("[ab]{1,2}|slow|debug", 0..3),
    ) {
        let config = TrackEventConfig {
            enabled_categories: lists[0].clone(),
            disabled_categories: lists[1].clone(),
            enabled_tags: lists[2].clone(),
            disabled_tags: lists[3].clone(),
            ..Default::default()
        };
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        assert_eq!(is_enabled(&config, &name, &tags), naive::is_enabled(&config, &name, &tags));
    }
}
