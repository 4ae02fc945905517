//! Bytes: prost writes fields by number and maps by key, as ours does for this schema.

use differential::entropy::Taste;
use differential::peers::{Peer as _, Prost, Reflect};
use differential::{cases, hex, ours, theirs};
use protozero::Message;
use std::fmt::Debug;

fn equal<M, P>(name: &str)
where
    M: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    let taste = Taste { merged: true, groups: true, ..Taste::TAME };
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
    equal::<ours::sink3::Sink, theirs::sink::three::Sink>("sink.three.Sink");
}

#[test]
fn proto2() {
    equal::<ours::sink2::Sink, theirs::sink::two::Sink>("sink.two.Sink");
}

#[test]
fn required() {
    equal::<ours::sink2::Must, theirs::sink::two::Must>("sink.two.Must");
}
