//! Values: all libraries read the same value, whichever of them wrote it.

use differential::entropy::Taste;
use differential::peers::{Peer, Prost, Reflect, RustProtobuf};
use differential::ways::{Dynamic, Ours, Text, Way};
use differential::{cases, hex, ours, theirs};
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
fn all<M, C, P>(name: &str, ours: &Ours<M, C>)
where
    M: Message,
    C: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    all_of::<M, C, P>(name, ours, &Dynamic::new(name), &Text::new(name), Taste::TAME);
}

/// The same for edition 2023; the other libraries use another file.
fn all_of_edition<M, C, P>(name: &str, ours: &Ours<M, C>, taste: Taste)
where
    M: Message,
    C: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    all_of::<M, C, P>(name, ours, &Dynamic::of_edition(name), &Text::of_edition(name), taste);
}

fn all_of<M, C, P>(name: &str, ours: &Ours<M, C>, dynamic: &Dynamic, text: &Text, tame: Taste)
where
    M: Message,
    C: Message,
    P: prost::Message + Default + PartialEq + Debug,
{
    let Ours { owned, compact, view, copy } = ours;
    let ways: [&dyn Way; 6] = [owned, compact, view, copy, dynamic, text];
    let without_text = &ways[..5];
    let (prost, reflect, rust) =
        (Prost::<P>::default(), Reflect::new(name), RustProtobuf::new(name));
    agree(name, tame, &ways, &[&prost, &reflect, &rust]);
    // rust-protobuf replaces a message that occurs again.
    let merged = Taste { merged: true, ..tame };
    agree(name, Taste { groups: true, ..merged }, &ways, &[&prost, &reflect]);
    // prost drops unknown fields, and rust-protobuf loses their order.
    let unknown = Taste { unknown: true, ..tame };
    agree(name, unknown, without_text, &[&prost, &reflect, &rust]);
    let more = Taste { groups: true, unknown: true, ..merged };
    agree(name, Taste { extensions: true, ..more }, without_text, &[&reflect]);
    // Where the libraries disagree, our APIs must still agree with each other. A number that a closed enum lacks makes
    // the whole map entry unknown; a copy of the entry is then another unknown field.
    let wild = Taste { foreign: true, wide: true, zeros: true, ..more };
    agree_among_us(name, Taste { nameless: true, ..wild }, &[owned, compact, view, dynamic]);
    agree_among_us(name, wild, without_text);
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
    let ours = ours!(sink3, Sink, SinkBorrowed, SinkReader, SinkWriter, copy_Sink);
    all::<_, _, theirs::sink::three::Sink>("sink.three.Sink", &ours);
}

#[test]
fn proto2() {
    let ours = ours!(sink2, Sink, SinkBorrowed, SinkReader, SinkWriter, copy_Sink);
    all::<_, _, theirs::sink::two::Sink>("sink.two.Sink", &ours);
}

#[test]
fn required() {
    let ours = ours!(sink2, Must, MustBorrowed, MustReader, MustWriter, copy_Must);
    all::<_, _, theirs::sink::two::Must>("sink.two.Must", &ours);
}

#[test]
fn edition_as_proto3() {
    let ours = ours!(edition3, Sink, SinkBorrowed, SinkReader, SinkWriter, copy_Sink);
    all_of_edition::<_, _, theirs::sink::three::Sink>("sink.three.Sink", &ours, Taste::TAME);
}

#[test]
fn edition_as_proto2() {
    let ours = ours!(edition2, Sink, SinkBorrowed, SinkReader, SinkWriter, copy_Sink);
    all_of_edition::<_, _, theirs::sink::two::Sink>("sink.two.Sink", &ours, Taste::TAME);
}

#[test]
fn edition_required() {
    let ours = ours!(edition2, Must, MustBorrowed, MustReader, MustWriter, copy_Must);
    all_of_edition::<_, _, theirs::sink::two::Must>("sink.two.Must", &ours, Taste::TAME);
}

#[test]
fn edition_alone() {
    let ours = ours!(mixed, Sink, SinkBorrowed, SinkReader, SinkWriter, copy_Sink);
    // For the other libraries every field has presence here, so zeros cannot be compared.
    let taste = Taste { zeros: false, ..Taste::TAME };
    all_of_edition::<_, _, theirs::sink::mixed::Sink>("sink.mixed.Sink", &ours, taste);
}
