//! Numbers of values that stay.

use super::chunks::Chunks;

#[test]
fn each_number_has_its_value() {
    let chunks = Chunks::new();
    assert_eq!(chunks.get(0), None);
    let mut numbers = 0..0;
    for _ in 0..5 {
        let more = chunks.grow(|number| number);
        assert_eq!(more.start, numbers.end, "no number is left out");
        numbers.end = more.end;
    }
    assert!(numbers.clone().all(|number| chunks.get(number) == Some(&number)));
    assert_eq!(chunks.get(numbers.end), None);
    assert!(chunks.iter().copied().eq(numbers));
}
