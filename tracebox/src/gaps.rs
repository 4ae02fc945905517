//! What a trace itself says about what it lacks.

use std::collections::BTreeSet;

use protozero::{Reader, Value};

/// Finds packets that follow a gap in their sequence, by `TracePacket.previous_packet_dropped`. The
/// service sets it for what it lost, and a producer for what it could not write at all, which no
/// counter knows of.
#[derive(Default, Debug)]
pub struct Gaps {
    /// How many.
    pub found: u64,
    sequences: BTreeSet<u64>,
    scratch: Vec<u8>,
}

impl Gaps {
    const SEQUENCE_ID: u32 = 10;
    const PREVIOUS_PACKET_DROPPED: u32 = 42;
    /// Lost, for a reason that is not told. A service of today says so of every first packet of a
    /// sequence, where nothing need be missing.
    const PRESENT: u64 = 1;

    /// Looks at one packet.
    pub fn look<S: AsRef<[u8]>>(&mut self, packet: &[S]) {
        let bytes = match packet {
            [one] => one.as_ref(),
            several => {
                self.scratch.clear();
                several.iter().for_each(|slice| self.scratch.extend_from_slice(slice.as_ref()));
                &self.scratch
            }
        };
        let (mut sequence, mut dropped) = (0, 0);
        let mut reader = Reader::new(bytes);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (Self::SEQUENCE_ID, Value::Varint(id)) => sequence = id,
                // The producer's word and the service's may both be there.
                (Self::PREVIOUS_PACKET_DROPPED, Value::Varint(reasons)) => dropped |= reasons,
                _ => {}
            }
        }
        let first = self.sequences.insert(sequence);
        self.found += u64::from(dropped > Self::PRESENT || (dropped == Self::PRESENT && !first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps() {
        let mut gaps = Gaps::default();
        let mut check = |packet: &[&[u8]]| {
            let before = gaps.found;
            gaps.look(packet);
            gaps.found != before
        };
        assert!(!check(&[]));
        assert!(!check(&[b"\x50\x01"]));
        assert!(!check(&[b"\x50\x01\xd0\x02\x00"]));
        assert!(check(&[b"\x50\x01\xd0\x02\x01"]));
        assert!(!check(&[b"\x50\x02\xd0\x02\x01"]), "the first of its sequence");
        assert!(check(&[b"\x50\x02\xd0\x02\x01"]));
        // As a producer writes it, cut anywhere, followed by what the service adds.
        assert!(check(&[b"\xd0", b"\x02\x81", b"\x02\x08\x01", b"\x50\x03\xd0\x02\x01"]));
        assert!(!check(&[b"\x50\x03\x0a\x03\xd0\x02\x01"]), "inside of another field");
    }
}
