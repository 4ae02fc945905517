//! Values: all libraries read the same value, whichever of them wrote it.

use differential::entropy::Taste;
use differential::peers::{Peer, Prost, Reflect, RustProtobuf};
use differential::ways::{Copy, Dynamic, Owned, Text, Way};
use differential::{cases, copy, hex, ours, theirs};
use protozero::Message;
use std::fmt::Debug;

/// From our code to each library and back.
fn agree(name: &str, taste: Taste, ways: &[&dyn Way], peers: &[&dyn Peer]) {
    cases(&Reflect::new(name).0, taste, |bytes| {
        for way in ways {
            let again = way.again(bytes).map_err(|e| format!("{}: {e}", way.name()))?;
            for peer in peers {
                peer.same(bytes, &again).map_err(|e| {
                    format!("{} wrote {}, {} reads: {e}", way.name(), hex(&again), peer.name())
                })?;
            }
        }
        for peer in peers.iter().filter(|p| !taste.unknown || p.keeps_unknown()) {
            let again = peer.again(bytes).map_err(|e| format!("{}: {e}", peer.name()))?;
            for way in ways.iter().filter(|w| !taste.extensions || w.knows_extensions()) {
                way.same(bytes, &again).map_err(|e| {
                    format!("{} wrote {}, {} reads: {e}", peer.name(), hex(&again), way.name())
                })?;
            }
        }
        Ok(())
    });
}

/// All checks that a library supports.
fn all<M, P>(name: &str, copy: Copy<M>)
where
    M: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    all_of::<M, P>(name, copy, Dynamic::new(name), Text::new(name), Taste::TAME);
}

/// The same for edition 2023; the other libraries use another file.
fn all_of_edition<M, P>(name: &str, copy: Copy<M>, taste: Taste)
where
    M: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    all_of::<M, P>(name, copy, Dynamic::of_edition(name), Text::of_edition(name), taste);
}

fn all_of<M, P>(name: &str, copy: Copy<M>, dynamic: Dynamic, text: Text, tame: Taste)
where
    M: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    let owned = Owned::<M>::default();
    let (prost, reflect, rust) =
        (Prost::<P>::default(), Reflect::new(name), RustProtobuf::new(name));
    agree(name, tame, &[&owned, &copy, &dynamic, &text], &[&prost, &reflect, &rust]);
    // rust-protobuf replaces a message that occurs again.
    let merged = Taste { merged: true, ..tame };
    agree(
        name,
        Taste { groups: true, ..merged },
        &[&owned, &copy, &dynamic, &text],
        &[&prost, &reflect],
    );
    // prost drops unknown fields, and rust-protobuf loses their order.
    let unknown = Taste { unknown: true, ..tame };
    agree(name, unknown, &[&owned, &copy, &dynamic], &[&prost, &reflect, &rust]);
    let more = Taste { groups: true, unknown: true, ..merged };
    agree(name, Taste { extensions: true, ..more }, &[&owned, &copy, &dynamic], &[&reflect]);
    // Where the libraries disagree, our APIs must still agree with each other. A number that a closed enum lacks makes
    // the whole map entry unknown; a copy of the entry is then another unknown field.
    let wild = Taste { foreign: true, wide: true, zeros: true, ..more };
    agree_among_us(name, Taste { nameless: true, ..wild }, &[&owned, &dynamic]);
    agree_among_us(name, wild, &[&owned, &copy, &dynamic]);
}

/// From each of our APIs to each other.
fn agree_among_us(name: &str, taste: Taste, ways: &[&dyn Way]) {
    cases(&Reflect::new(name).0, taste, |bytes| {
        for way in ways {
            let again = way.again(bytes).map_err(|e| format!("{}: {e}", way.name()))?;
            for other in ways {
                other.same(bytes, &again).map_err(|e| {
                    format!("{} wrote {}, {} reads: {e}", way.name(), hex(&again), other.name())
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn proto3() {
    let copy = copy!(sink3, SinkReader, SinkWriter, copy_Sink);
    all::<ours::sink3::Sink, theirs::sink::three::Sink>("sink.three.Sink", Copy::new(copy));
}

#[test]
fn proto2() {
    let copy = copy!(sink2, SinkReader, SinkWriter, copy_Sink);
    all::<ours::sink2::Sink, theirs::sink::two::Sink>("sink.two.Sink", Copy::new(copy));
}

#[test]
fn required() {
    let copy = copy!(sink2, MustReader, MustWriter, copy_Must);
    all::<ours::sink2::Must, theirs::sink::two::Must>("sink.two.Must", Copy::new(copy));
}

#[test]
fn edition_as_proto3() {
    let copy = copy!(edition3, SinkReader, SinkWriter, copy_Sink);
    let name = "sink.three.Sink";
    all_of_edition::<ours::edition3::Sink, theirs::sink::three::Sink>(
        name,
        Copy::new(copy),
        Taste::TAME,
    );
}

#[test]
fn edition_as_proto2() {
    let copy = copy!(edition2, SinkReader, SinkWriter, copy_Sink);
    let name = "sink.two.Sink";
    all_of_edition::<ours::edition2::Sink, theirs::sink::two::Sink>(
        name,
        Copy::new(copy),
        Taste::TAME,
    );
}

#[test]
fn edition_required() {
    let copy = copy!(edition2, MustReader, MustWriter, copy_Must);
    let name = "sink.two.Must";
    all_of_edition::<ours::edition2::Must, theirs::sink::two::Must>(
        name,
        Copy::new(copy),
        Taste::TAME,
    );
}

#[test]
fn edition_alone() {
    let copy = copy!(mixed, SinkReader, SinkWriter, copy_Sink);
    // For the other libraries every field has presence here, so zeros cannot be compared.
    let taste = Taste { zeros: false, ..Taste::TAME };
    let name = "sink.mixed.Sink";
    all_of_edition::<ours::mixed::Sink, theirs::sink::mixed::Sink>(name, Copy::new(copy), taste);
}
