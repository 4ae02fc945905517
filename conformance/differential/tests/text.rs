//! Text: what one prints another parses.

use differential::entropy::Taste;
use differential::peers::{Reflect, RustProtobuf, Speaks};
use differential::ways::{Text, Way as _};
use differential::{cases, hex};

fn agree(name: &str, taste: Taste, peers: &[&dyn Speaks]) {
    let ours = Text::new(name);
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
    let (reflect, rust) = (Reflect::new(name), RustProtobuf::new(name));
    agree(name, Taste::TAME, &[&reflect, &rust]);
    agree(name, Taste { groups: true, extensions: true, ..Taste::TAME }, &[&reflect]);
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
