//! Random messages of every schema: what we write has the value and the bytes that prost wrote.

mod random;

use std::collections::HashMap;

use prost_reflect::{DescriptorPool, DynamicMessage, prost::Message as _};

use random::Random;

/// Messages of each type.
const ROUNDS: u64 = 8;
/// Levels of a random message at most.
const LEVELS: u32 = 4;

/// The name of a schema, the full name of a message in it, and [`again`] of its struct.
pub type Row = (&'static str, &'static str, fn(&[u8]) -> Result<Vec<u8>, String>);

/// Decodes a message, and encodes it.
///
/// # Errors
/// What the library says of the bytes or of the struct.
pub fn again<M: protozero::Message>(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let message = M::decode(bytes).map_err(|error| error.to_string())?;
    message.try_encode_to_vec().map_err(|error| error.to_string())
}

/// Sends random messages of all types through our code.
///
/// # Panics
/// If one of them changes, or if there are fewer types.
pub fn check(messages: &[Row], sets: &[(&str, &[u8])], types_min: usize) {
    assert!(messages.len() > types_min, "{} types", messages.len());
    let pools: HashMap<&str, DescriptorPool> =
        sets.iter().map(|(name, set)| (*name, DescriptorPool::decode(*set).unwrap())).collect();
    let mut random = Random { state: 1, plain_maps: false };
    let mut bytes_of_all = 0;
    for (schema, name, again) in messages {
        let of = pools[schema].get_message_by_name(name).unwrap();
        for round in 0..ROUNDS {
            random.plain_maps = round % 2 == 0;
            let sent = random.message(of.clone(), LEVELS).encode_to_vec();
            bytes_of_all += sent.len();
            let got = again(&sent).unwrap_or_else(|error| panic!("{schema}: {name}: {error}"));
            // Read again, because only then a default that was set equals an absent one.
            let read = |bytes: &[u8]| DynamicMessage::decode(of.clone(), bytes).unwrap();
            assert_eq!(read(&got), read(&sent), "{schema}: {name}");
            if random.plain_maps {
                assert_eq!(got, sent, "{schema}: {name}");
            }
        }
    }
    // The messages were not empty.
    assert!(bytes_of_all > messages.len() * ROUNDS as usize * 10, "{bytes_of_all} bytes");
}
