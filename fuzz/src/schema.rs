//! Schemas: as text, and as descriptors of any origin.

use protozero::dynamic::{DynamicMessage, Pool, PoolErrorKind};
use protozero_codegen::{ApiKinds, Config, Source};

/// The longest text that code is generated for, as that takes longer than reading it.
const GENERATE_BYTES_MAX: usize = 2048;

/// Any text as a `.proto`: it is refused with a position, or can be used.
pub fn schema_text(input: &[u8]) {
    let Ok(text) = core::str::from_utf8(input) else { return };
    let sources = [Source { path: "fuzz.proto".to_owned(), text: text.to_owned() }];
    match protozero_codegen::descriptor_set(&sources) {
        Ok(set) => {
            // Except for the limit on a pool's memory.
            match Pool::decode(&set) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind, PoolErrorKind::Names, "{error}"),
            }
            if text.len() <= GENERATE_BYTES_MAX {
                let config = Config {
                    sources: sources.to_vec(),
                    api_kinds: ApiKinds::ALL,
                    ..Config::default()
                };
                let files = protozero_codegen::generate(&config);
                assert!(files.is_ok(), "{:?}", files.err());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any bytes as a descriptor set: refused, or its messages can be read and printed; code generation does not panic.
pub fn descriptor_set(input: &[u8]) {
    if let Ok(pool) = Pool::decode(input) {
        for message in pool.messages().take(8) {
            if let Ok(read) = DynamicMessage::decode(message.clone(), input) {
                let text = read.to_text();
                let again = DynamicMessage::from_text(message, &text);
                assert_eq!(again.map(|m| m.to_text()), Ok(text));
            }
        }
    }
    if input.len() <= GENERATE_BYTES_MAX {
        let config = Config { api_kinds: ApiKinds::ALL, ..Config::default() };
        if let Err(error) = protozero_codegen::generate_set(&config, input) {
            assert!(!error.to_string().is_empty());
        }
        let _ = protozero_codegen::plugin(input);
    }
}
