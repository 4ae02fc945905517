//! What the compiler says to mistakes of a newcomer. Each file of `tests/mistakes` has its message beside it, as the
//! compiler of the workspace writes it; `TRYBUILD=overwrite` writes it anew.
#![cfg(not(feature = "off"))]

#[test]
fn messages_say_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
