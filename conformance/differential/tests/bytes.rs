//! Compares bytes: prost, rust-protobuf and our code write fields by number for this schema.
//!
//! prost leaves out zeros in map entries, while the official implementations, rust-protobuf and our code always write
//! keys and values. The maps of rust-protobuf are not sorted, so with maps the bytes are compared without their order.

use differential::entropy::Taste;
use differential::peers::{Peer as _, Prost, Reflect, RustProtobuf};
use differential::{cases, hex, ours, theirs};
use protozero::Message;
use std::fmt::Debug;

fn equal<M, P>(name: &str, tame: Taste)
where
    M: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    let taste = Taste { merged: true, groups: true, maps: false, ..tame };
    cases(&Reflect::new(name).0, taste, |bytes| {
        let ours = M::decode(bytes).map_err(|e| e.to_string())?.encode_to_vec();
        let theirs = Prost::<P>::default().again(bytes)?;
        if ours == theirs {
            return Ok(());
        }
        Err(format!("ours {}\nprost {}", hex(&ours), hex(&theirs)))
    });
}

#[test]
fn proto3() {
    equal::<ours::sink3::Sink, theirs::sink::three::Sink>("sink.three.Sink", Taste::TAME);
}

#[test]
fn proto2() {
    equal::<ours::sink2::Sink, theirs::sink::two::Sink>("sink.two.Sink", Taste::TAME);
}

#[test]
fn required() {
    equal::<ours::sink2::Must, theirs::sink::two::Must>("sink.two.Must", Taste::TAME);
}

#[test]
fn editions() {
    equal::<ours::edition3::Sink, theirs::sink::three::Sink>("sink.three.Sink", Taste::TAME);
    equal::<ours::edition2::Sink, theirs::sink::two::Sink>("sink.two.Sink", Taste::TAME);
    equal::<ours::edition2::Must, theirs::sink::two::Must>("sink.two.Must", Taste::TAME);
    let taste = Taste { zeros: false, ..Taste::TAME };
    equal::<ours::mixed::Sink, theirs::sink::mixed::Sink>("sink.mixed.Sink", taste);
}

#[test]
fn maps() {
    shaken::<ours::sink2::Sink>("sink.two.Sink", Taste::TAME);
    shaken::<ours::edition2::Sink>("sink.two.Sink", Taste::TAME);
    shaken::<ours::mixed::Sink>("sink.mixed.Sink", Taste { zeros: false, ..Taste::TAME });
}

fn shaken<M: Message>(name: &str, taste: Taste) {
    let rust = RustProtobuf::new(name);
    cases(&Reflect::new(name).0, taste, |bytes| {
        let message = M::decode(bytes).map_err(|e| e.to_string())?;
        let (ours, theirs) = (message.encode_to_vec(), rust.again(bytes)?);
        let shaken = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.sort_unstable();
            bytes
        };
        if shaken(&ours) == shaken(&theirs) {
            return Ok(());
        }
        Err(format!("ours {}\nrust-protobuf {}", hex(&ours), hex(&theirs)))
    });
}
