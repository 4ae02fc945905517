//! Rules for strings: tests named as in `string_filter_unittest.cc`.

use super::*;
use crate::limits;

use super::super::Policy::{
    AtraceMatchBreak, AtraceMatchRedactGroups, AtraceRepeatedSearchRedactGroups as Search,
    MatchBreak, MatchRedactGroups,
};

/// A chain of (policy, expression, prefix of the payload).
fn filter(rules: &[(Policy, &str, &str)]) -> StringFilter {
    let mut filter = StringFilter::default();
    for &(policy, regex, atrace_prefix) in rules {
        filter.add(StringRule { policy, regex, atrace_prefix, name: "", types: vec![] }).unwrap();
    }
    filter
}

#[track_caller]
fn check(filter: &StringFilter, text: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) {
    check_typed(filter, 0, text, expected);
}

#[track_caller]
fn check_typed(
    filter: &StringFilter,
    kind: u32,
    text: impl AsRef<[u8]>,
    expected: impl AsRef<[u8]>,
) {
    let mut bytes = text.as_ref().to_vec();
    let redacted = filter.apply(kind, &mut bytes, &mut FilterBudget::default()).unwrap();
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(show(&bytes), show(expected.as_ref()));
    assert_eq!(redacted, text.as_ref() != expected.as_ref());
}

#[test]
fn regex_redaction() {
    let filter = filter(&[(MatchRedactGroups, "foo (.*)", "")]);
    check(&filter, "foo 123456789012", "foo P60REDACTED-");
    check(&filter, "foo 12345678901", "foo P60REDACTED");
}

#[test]
fn regex_redaction_short() {
    let filter = filter(&[(MatchRedactGroups, r"(\d+)|foo (.*)", "")]);
    check(&filter, "12", "P6");
    check(&filter, "foo 1", "foo P");
    let mut nothing = *b"foo ";
    assert!(
        filter.apply(0, &mut nothing, &mut FilterBudget::default()).unwrap(),
        "it matched, there is just nothing in the group"
    );
    assert_eq!(nothing, *b"foo ");
}

#[test]
fn regex_redaction_mismatch() {
    let filter = filter(&[(MatchRedactGroups, "foo (.*)", "")]);
    check(&filter, "bar foo 123", "bar foo 123");
    check(&filter, "fo", "fo");
    check(&filter, "", "");
    // The whole string must match: the first, shorter alternative is not enough.
    check(&super::strings::filter(&[(MatchRedactGroups, "(a)|(ab)", "")]), "ab", "P6");
}

#[test]
fn regex_redaction_non_utf() {
    let filter = filter(&[(MatchRedactGroups, r"B\|\d+\|foo (.*)", "")]);
    check(&filter, [0xff], [0xff]);
    check(&filter, [&b"B|1|foo "[..], &[0xff, 0xfe, 0x80]].concat(), b"B|1|foo P60");
}

#[test]
fn atrace_regex_redaction() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo")]);
    check(&filter, "B|1234|foo 1234", "B|1234|foo P60R");
    let tight = super::strings::filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo(\d*)", "foo")]);
    check(&tight, "B|1|foo17", "B|1|fooP6");
}

#[test]
fn atrace_regex_redaction_zero() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"C\|\d+\|(.*)\|(\d*)", "")]);
    check(&filter, "C|0|a|0", "C|0|P|P");
}

#[test]
fn atrace_regex_redaction_exact() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo")]);
    check(&filter, "B|1234|foo 12345678901", "B|1234|foo P60REDACTED");
}

#[test]
fn atrace_regex_redaction_empty() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo")]);
    for text in ["", "B", "B|", "B|1", "B|1|", "|||"] {
        check(&filter, text, text);
    }
}

#[test]
fn atrace_regex_redaction_too_long() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo")]);
    check(&filter, "B|1234|foo 12345678901234", "B|1234|foo P60REDACTED---");
}

#[test]
fn atrace_regex_redaction_mismatch() {
    // The payload has another prefix, so that the expression does not matter.
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "fooo")]);
    check(&filter, "B|1234|foo 1234", "B|1234|foo 1234");
}

#[test]
fn atrace_regex_redaction_end() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"E\|(\d+)\|?(.*)", "")]);
    check(&filter, "E|1024", "E|1024");
    check(&filter, "E|1024|foo", "E|1024|foo");
}

#[test]
fn atrace_regex_redaction_not_atrace() {
    let filter = filter(&[(AtraceMatchRedactGroups, "(.*)", "")]);
    check(&filter, "invalid", "invalid");
    // The bar after the first byte is not the one before the payload.
    check(&filter, "a|b", "a|b");
    check(&filter, "ab|", "P60");
}

#[test]
fn atrace_regex_redaction_multiple() {
    let rule = |text| (AtraceMatchRedactGroups, text, "foo");
    let filter = filter(&[rule(r"B\|\d+\|foo (\d+)"), rule(r"B\|\d+\|foo ([a-z]+)")]);
    check(&filter, "B|1|foo 12", "B|1|foo P6");
    check(&filter, "B|1|foo ab", "B|1|foo P6");
    check(&filter, "B|1|foo a1", "B|1|foo a1");
}

#[test]
fn atrace_redaction_non_utf() {
    let filter = filter(&[(AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo")]);
    check(&filter, [&b"B|1|foo "[..], &[0x80, 0xff]].concat(), b"B|1|foo P6");
    check(&filter, [0xff, 0xff, b'|', 0xff], [0xff, 0xff, b'|', 0xff]);
}

#[test]
fn mixed() {
    let rules = [
        (MatchRedactGroups, "foo (.*)", ""),
        (AtraceMatchRedactGroups, r"B\|\d+\|bar (.*)", "bar"),
    ];
    check(&filter(&rules), "foo 1", "foo P");
    check(&filter(&rules), "B|1|bar 1", "B|1|bar P");
}

#[test]
fn r#break() {
    let filter = filter(&[(MatchBreak, "foo 12.*", ""), (MatchRedactGroups, "foo (.*)", "")]);
    check(&filter, "foo 1234", "foo 1234");
    check(&filter, "foo 3412", "foo P60R");
}

#[test]
fn atrace_break() {
    let rules = [
        (AtraceMatchBreak, r"B\|\d+\|foo 12.*", "foo"),
        (AtraceMatchRedactGroups, r"B\|\d+\|foo (.*)", "foo"),
    ];
    check(&filter(&rules), "B|1|foo 1234", "B|1|foo 1234");
    check(&filter(&rules), "B|1|foo 3412", "B|1|foo P60R");
}

const FIVE: &str = "B|1|foo x:12 x:345 y:6789 x:ab x:10987";

#[test]
fn atrace_search() {
    let filter = filter(&[(Search, r"x:(\d+)", "foo")]);
    check(&filter, FIVE, "B|1|foo x:P6 x:P60 y:6789 x:ab x:P60RE");
    check(&filter, "B|1|bar x:12", "B|1|bar x:12");
}

#[test]
fn atrace_search_breaks() {
    let filter = filter(&[(Search, r"x:(\d+)", "foo"), (Search, r"y:(\d+)", "foo")]);
    check(&filter, FIVE, "B|1|foo x:P6 x:P60 y:6789 x:ab x:P60RE");
    check(&filter, "B|1|foo y:12", "B|1|foo y:P6");
}

#[test]
fn atrace_search_returns_false_on_no_match() {
    check(&filter(&[(Search, r"x:(\d+)", "foo")]), "B|1|foo x:ab", "B|1|foo x:ab");
}

#[test]
fn atrace_search_multiple_groups() {
    let filter = filter(&[(Search, r"x:(\d+)|y:(\d+)", "foo")]);
    check(&filter, FIVE, "B|1|foo x:P6 x:P60 y:P60R x:ab x:P60RE");
}

#[test]
fn atrace_search_recursive() {
    let filter = filter(&[(Search, r"x:([^\s-]*)", "foo")]);
    check(&filter, FIVE, "B|1|foo x:P6 x:P60 y:6789 x:P6 x:P60RE");
}

/// Expressions with an empty match everywhere, or that look at the whole rest for each match.
#[test]
fn searching_ends_in_linear_time() {
    let mut empty = b"B|1|abc".to_vec();
    assert!(
        filter(&[(Search, "x*", "")]).apply(0, &mut empty, &mut FilterBudget::default()).unwrap()
    );
    assert_eq!(empty, b"B|1|abc");
    let count = limits::STRING_MATCHES_MAX;
    let text = [&b"B|1|"[..], &b"A".repeat(count + 20)].concat();
    let mut redacted = text.clone();
    assert!(
        filter(&[(Search, ".*[^A-Z]$|([A-Z])", "")])
            .apply(0, &mut redacted, &mut FilterBudget::default())
            .unwrap()
    );
    let after = text.len() - count;
    assert!(redacted[4..4 + count - 1].iter().all(|byte| *byte == b'P'));
    assert!(redacted[after..].starts_with(b"PP") || redacted[after..].ends_with(b"-"));
    assert!(!redacted[4..].contains(&b'A') || redacted[4..].windows(2).all(|w| w != b"AA"));
    assert_eq!(redacted.len(), text.len());
}

/// The rest behind too many matches may have text that is to be hidden.
#[test]
fn behind_too_many_matches_nothing_stays() {
    for (matches, stays) in
        [(limits::STRING_MATCHES_MAX - 1, true), (limits::STRING_MATCHES_MAX, false)]
    {
        let mut text = [&b"B|1|"[..], &b"A".repeat(matches), b"bcd"].concat();
        filter(&[(Search, "(A)", "")]).apply(0, &mut text, &mut FilterBudget::default()).unwrap();
        assert_eq!(text.ends_with(b"bcd"), stays, "{matches} matches");
    }
}

fn typed(rules: &[(&str, &[i32])]) -> StringFilter {
    let mut filter = StringFilter::default();
    for (regex, types) in rules {
        let (policy, types) = (MatchRedactGroups, types.to_vec());
        filter.add(StringRule { policy, regex, atrace_prefix: "", name: "", types }).unwrap();
    }
    filter
}

#[test]
fn semantic_type_basic_matching() {
    let filter = typed(&[("foo(.*)", &[1])]);
    check_typed(&filter, 1, "foo1", "fooP");
    check_typed(&filter, 0, "foo1", "foo1");
    check_typed(&filter, 2, "foo1", "foo1");
}

#[test]
fn semantic_type_default_mask() {
    let filter = typed(&[("foo(.*)", &[])]);
    check_typed(&filter, 0, "foo1", "fooP");
    check_typed(&filter, 1, "foo1", "foo1");
}

#[test]
fn semantic_type_explicit_multiple_types() {
    let filter = typed(&[("foo(.*)", &[1, 3])]);
    for (kind, expected) in [(0, "foo1"), (1, "fooP"), (2, "foo1"), (3, "fooP")] {
        check_typed(&filter, kind, "foo1", expected);
    }
}

#[test]
fn semantic_type_multiple_rules() {
    let filter = typed(&[("a(.*)", &[1]), ("a(.)(.*)", &[2])]);
    check_typed(&filter, 1, "a12", "aP6");
    check_typed(&filter, 2, "a12", "aPP");
    check_typed(&filter, 3, "a12", "a12");
}

#[test]
fn semantic_type_zero() {
    let filter = typed(&[("foo(.*)", &[0])]);
    check_typed(&filter, 0, "foo1", "fooP");
    check_typed(&filter, 1, "foo1", "foo1");
}

#[test]
fn semantic_type_edge_cases() {
    let filter = typed(&[("foo(.*)", &[63, 64, 127])]);
    for (kind, expected) in [(62, "foo1"), (63, "fooP"), (64, "fooP"), (65, "foo1"), (127, "fooP")]
    {
        check_typed(&filter, kind, "foo1", expected);
    }
    // No rule can name these types, so all rules match them.
    for kind in [128, 0xfffe, 0xffff, u32::MAX] {
        check_typed(&filter, kind, "foo1", "fooP");
    }
}

#[test]
fn semantic_type_with_policies() {
    let mut filter = StringFilter::default();
    for (policy, types) in [(AtraceMatchBreak, vec![2]), (Search, vec![1, 2])] {
        let (regex, atrace_prefix) = (r".*(\d)", "");
        filter.add(StringRule { policy, regex, atrace_prefix, name: "", types }).unwrap();
    }
    check_typed(&filter, 1, "B|1|foo1", "B|1|fooP");
    check_typed(&filter, 2, "B|1|foo1", "B|1|foo1");
}

#[test]
fn semantic_type_mask_construction() {
    for kind in 0..128 {
        let filter = typed(&[("(.)", &[kind])]);
        for other in 0..128 {
            check_typed(&filter, other, "1", if other == kind as u32 { "P" } else { "1" });
        }
    }
}

#[test]
fn rule_replacement_by_name() {
    let mut filter = StringFilter::default();
    let rule = |regex, name| StringRule {
        policy: MatchRedactGroups,
        regex,
        atrace_prefix: "",
        name,
        types: vec![],
    };
    filter.add(rule("a(.*)", "one")).unwrap();
    filter.add(rule("b(.*)", "two")).unwrap();
    filter.replace_or_add(rule("c(.*)", "one")).unwrap();
    filter.replace_or_add(rule("d(.*)", "three")).unwrap();
    for (text, expected) in [("a1", "a1"), ("b1", "bP"), ("c1", "cP"), ("d1", "dP")] {
        check(&filter, text, expected);
    }
}

#[test]
fn unspecified_is_its_own_category() {
    let filter = typed(&[("a(.*)", &[]), ("b(.*)", &[0]), ("c(.*)", &[0, 1])]);
    for (kind, expected) in [(0, ["aP", "bP", "cP"]), (1, ["a1", "b1", "cP"])] {
        for (text, expected) in ["a1", "b1", "c1"].into_iter().zip(expected) {
            check_typed(&filter, kind, text, expected);
        }
    }
}

#[test]
fn rules_are_bounded() {
    let rule =
        || StringRule { policy: MatchBreak, regex: "", atrace_prefix: "", name: "", types: vec![] };
    let mut filter = StringFilter::default();
    for _ in 0..limits::STRING_RULES_MAX {
        filter.add(rule()).unwrap();
    }
    assert!(matches!(filter.add(rule()), Err(RuleError::TooMany)));
}

/// An automaton that finds this would be too large. The one that finds the groups of a match, which it needs to be told
/// where that begins, is not.
#[test]
fn groups_of_a_match_that_no_automaton_found() {
    let filter = filter(&[(Search, r"a[ab]{16}(\d+)", "")]);
    check(&filter, "B|1|xaab12345", "B|1|xaab12345");
    check(&filter, "B|1|xxaabababababababaab12345", "B|1|xxaabababababababaabP60RE");
}
