use super::*;

#[test]
fn comments_and_strings_are_blanked_and_lines_kept() {
    let text = "a /* x /* y */ z */ b // c\n\"d\\\"e\" 'f' '\\'' 'g: &'h str r#\"i\"j\"# br\"k\" l";
    let code = code_only(text);
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words, ["a", "b", "'g:", "&'h", "str", "l"]);
    assert_eq!(code.matches('\n').count(), 1);
    assert_eq!(code.len(), text.len());
}

#[test]
fn words_that_only_start_like_a_raw_string_stay() {
    let text = "for r in bar { crate::b(c) } r#type '\u{e4}'";
    assert_eq!(code_only(text).trim_end(), "for r in bar { crate::b(c) } r#type");
}

#[test]
fn functions_are_measured_and_declarations_are_not() {
    let text = "trait T { fn a(&self, b: [u8; 4]) -> u8; }\nfn c<'a>(d: &'a str)\nwhere X: Y\n{\n  { e }\n}\n";
    let found = functions(text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].line, found[0].lines), ("c", 2, 5));
}
