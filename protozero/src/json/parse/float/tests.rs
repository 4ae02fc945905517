use super::{Float, short};
use alloc::string::String;
use core::fmt::Debug;
use proptest::prelude::*;

fn check<F: Float + PartialEq + Debug>(text: &str) {
    if let Some((value, len)) = short::<F>(text.as_bytes()) {
        let parsed = text[..len].parse::<F>().ok();
        assert_eq!(Some(value), parsed, "{text}");
    }
}

proptest! {
    #[test]
    fn short_numbers_are_what_the_standard_library_parses(text in "-?[0-9]{0,9}\\.?[0-9]{0,12}[,e.]?") {
        check::<f64>(&text);
        check::<f32>(&text);
    }
}

#[test]
fn edges() {
    let of = |text: &str| short::<f64>(text.as_bytes());
    assert_eq!(of("19.99,"), Some((19.99, 5)));
    assert_eq!(of("-0"), Some((-0.0, 2)));
    assert!(of("-0.0").is_some_and(|(value, _)| value.is_sign_negative()));
    assert_eq!(of("9007199254740992]"), Some((9_007_199_254_740_992.0, 16)));
    assert_eq!(of("123456789.12345678"), None, "more digits than a double has");
    assert_eq!(of("0.12345678901234567"), None, "more characters than are looked at");
    for none in ["", "-", ".5", "1.", "01", "-00.5", "1e3", "1.5E3", "9007199254740993"] {
        assert_eq!(of(none), None, "{none}");
    }
    let of = |text: &str| short::<f32>(text.as_bytes());
    assert_eq!(of("16777216"), Some((16_777_216.0, 8)));
    assert_eq!(of("16777217"), None);
    assert_eq!(of(&("0.".chars().chain("0".repeat(11).chars()).collect::<String>())), None);
}
