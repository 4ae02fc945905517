use super::program::time_of;

#[test]
fn times_are_found_by_whole_names() {
    let text = "encode simple 19.5 ns\nwrite-1000  478.0 ns   (best 470.1)\nwrite-1   308.2 ns\n";
    assert_eq!(time_of(text, "encode simple"), Some("19.5"));
    assert_eq!(time_of(text, "write-1"), Some("308.2"));
    assert_eq!(time_of(text, "read"), None);
}
