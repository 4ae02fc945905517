//! Any bytes as a message, entered as deep as they go, and as packed runs: no panic, no endless loop.
#![no_main]
use protozero::decode::{Fields, PackedVarint, Reader};
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some(field)) = Reader::new(rest).next_field() {
        rest = field.value.bytes().unwrap_or(&rest[field.raw.len()..]);
    }
    let mut fields = Fields::new(bytes);
    while let Ok(Some(tag)) = fields.next_tag() {
        let read = if tag == 10 { fields.begin_run(8) } else { fields.unknown(tag).map(drop) };
        let _ = read.map_err(|_| fields.fail());
    }
    assert!(PackedVarint::new(bytes).count() <= bytes.len());
});
