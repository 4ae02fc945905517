use super::Functions;
use super::functions::matches;
use crate::ftrace::symbols::{Parser, Symbols};

#[test]
fn patterns_of_functions() {
    for (pattern, name, is_match) in [
        ("kfree", "kfree", true),
        ("kfree", "kfree_rcu", false),
        ("kfree", "__kfree", false),
        ("kfree*", "kfree_rcu", true),
        ("*free", "kfree", true),
        ("*fre", "kfree", false),
        ("*_sys_*", "do_sys_open", true),
        ("*_sys_*", "do_sys", false),
        ("a*b*c", "aXbXbc", true),
        ("a*b*c", "aXcXb", false),
        ("a**c", "ac", true),
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("vfs_?ead", "vfs_read", true),
        ("vfs_?ead", "vfs_ead", false),
        ("vfs_[a-r]ead", "vfs_read", true),
        ("vfs_[a-q]ead", "vfs_read", false),
        ("x[]a]", "x]", true),
        ("x[ab-]", "x-", true),
        ("x[ab", "x[ab", true),
        ("x[ab", "xa", false),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
        ("a\\", "a\\", true),
        ("[", "[", true),
        ("[]", "[]", true),
    ] {
        assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), is_match, "{pattern} {name}");
    }
}

fn symbols() -> Symbols {
    let mut parser = Parser::default();
    parser.push(b"1000 T a_one\n1010 T b_two\n1010 T a_alias\n2000 T a_three\n");
    parser.finish()
}

#[test]
fn functions_by_name() {
    let names = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let functions = Functions::named(&names, &symbols());
        let has = |address: &u64| functions.has(*address);
        let all =
            [0, 0xfff, 0x1000, 0x100f, 0x1010, 0x1fff, 0x2000, 0x10_2000, 0x10_2001, u64::MAX];
        all.iter().copied().filter(has).collect::<Vec<_>>()
    };
    assert_eq!(names(&["a_one"]), [0x1000, 0x100f]);
    // The kernel matches the first name of an address alone.
    assert_eq!(names(&["b_*", "a_alias"]), [0x1010, 0x1fff]);
    // The last one ends somewhere.
    assert_eq!(names(&["a_*"]), [0x1000, 0x100f, 0x2000, 0x10_2000]);
    assert_eq!(names(&["c"]), [0; 0]);
}
