use super::*;

#[test]
fn numbers_with_two_meanings() {
    let text = "buffers {\n  size_kb: 010240 } # 010\nname: 'a \\' 010' a_010: [0, 07, 012]";
    assert_eq!(
        warnings("c", text.as_bytes()),
        [
            "c:2:12 warning: 010240 is octal and means 4256; perfetto in C++ reads it as 10240",
            "c:3:33 warning: 012 is octal and means 10; perfetto in C++ reads it as 12",
        ]
    );
}

#[test]
fn numbers_with_one_meaning() {
    for text in ["a: 0 b: 7 c: 0x10", "a: 0.5", "a: 08", "a: 1010", "'unfinished 010", "a\\"] {
        assert_eq!(warnings("c", text.as_bytes()), [""; 0], "{text}");
    }
}
