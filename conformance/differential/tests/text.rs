//! Text: what one library prints, the others parse.

use differential::entropy::Taste;
use differential::peers::{Reflect, RustProtobuf, Speaks};
use differential::ways::{Text, Way as _};
use differential::{cases, hex};

fn agree(ours: &Text, name: &str, taste: Taste, peers: &[&dyn Speaks]) {
    cases(&Reflect::new(name).0, taste, |bytes| {
        let text = ours.print(bytes)?;
        for peer in peers {
            let read = peer.parse(&text).map_err(|e| format!("{}: {e}\n{text}", peer.name()))?;
            peer.same(bytes, &read).map_err(|e| format!("{}: {e}\n{text}", peer.name()))?;
            let text = peer.print(bytes)?;
            let read = ours.parse(&text).map_err(|e| format!("ours: {e}\n{text}"))?;
            let again = peer.again(bytes)?;
            ours.same(&again, &read)
                .map_err(|e| format!("ours: {e}\n{text}became {}", hex(&read)))?;
        }
        Ok(())
    });
}

fn all(name: &str) {
    all_of(&Text::new(name), name, Taste::TAME);
}

fn all_of(ours: &Text, name: &str, tame: Taste) {
    let (reflect, rust) = (Reflect::new(name), RustProtobuf::new(name));
    agree(ours, name, tame, &[&reflect, &rust]);
    agree(ours, name, Taste { groups: true, extensions: true, ..tame }, &[&reflect]);
}

#[test]
fn editions() {
    for name in ["sink.two.Sink", "sink.two.Must", "sink.three.Sink"] {
        all_of(&Text::of_edition(name), name, Taste::TAME);
    }
    let name = "sink.mixed.Sink";
    let (reflect, rust) = (Reflect::new(name), RustProtobuf::new(name));
    // In text, proto2's groups have the name of their type; delimited fields of editions do not.
    let taste = Taste { extensions: true, zeros: false, ..Taste::TAME };
    agree(&Text::of_edition(name), name, taste, &[&reflect]);
    let taste = Taste { extensions: false, ..taste };
    agree(&Text::of_edition(name), name, taste, &[&reflect, &rust]);
}

#[test]
fn proto2() {
    all("sink.two.Sink");
}

#[test]
fn proto3() {
    all("sink.three.Sink");
}

#[test]
fn required() {
    all("sink.two.Must");
}
