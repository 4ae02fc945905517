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
    /// The fields at the end of the last packet, from the service's first one on.
    suffix: Vec<u8>,
}

impl Gaps {
    const TRUSTED_UID: u32 = 3;
    const SEQUENCE_ID: u32 = 10;
    const PREVIOUS_PACKET_DROPPED: u32 = 42;
    /// First byte of the tag of that.
    const DROPPED_TAG: u8 = 0xd0;
    /// Lost, for a reason that is not told. A service of today says so of every first packet of a
    /// sequence, where nothing need be missing.
    const PRESENT: u64 = 1;

    /// Looks at one packet.
    #[inline]
    pub fn look(&mut self, packet: &[u8]) {
        // The service says the same behind each packet of a sequence, and packets of one sequence come one
        // after the other: what ends as the last one did belongs to its sequence, and nothing was lost
        // before it unless its own fields say so.
        if !self.suffix.is_empty()
            && let Some(own) = packet.strip_suffix(&self.suffix[..])
            && !own.contains(&Self::DROPPED_TAG)
        {
            return;
        }
        self.look_closely(packet);
    }

    #[cold]
    fn look_closely(&mut self, packet: &[u8]) {
        let (mut sequence, mut dropped) = (0, 0);
        let mut reader = Reader::new(packet);
        let (mut at, mut trusted_at) = (0, None);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (Self::TRUSTED_UID, Value::Varint(_)) => trusted_at = Some(at),
                (Self::SEQUENCE_ID, Value::Varint(id)) => sequence = id,
                // The producer's word and the service's may both be there.
                (Self::PREVIOUS_PACKET_DROPPED, Value::Varint(reasons)) => dropped |= reasons,
                _ => {}
            }
            at = reader.position();
        }
        let first = self.sequences.insert(sequence);
        self.found += u64::from(dropped > Self::PRESENT || (dropped == Self::PRESENT && !first));
        self.suffix.clear();
        if dropped == 0
            && let Some(suffix) = trusted_at.and_then(|at| packet.get(at..))
        {
            self.suffix.extend_from_slice(suffix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps() {
        let mut gaps = Gaps::default();
        let mut check = |packet: &[u8]| {
            let before = gaps.found;
            gaps.look(packet);
            gaps.found != before
        };
        assert!(!check(b""));
        assert!(!check(b"\x50\x01"));
        assert!(!check(b"\x50\x01\xd0\x02\x00"));
        assert!(check(b"\x50\x01\xd0\x02\x01"));
        assert!(!check(b"\x50\x02\xd0\x02\x01"), "the first of its sequence");
        assert!(check(b"\x50\x02\xd0\x02\x01"));
        // As a producer writes it, cut anywhere, followed by what the service adds.
        assert!(check(b"\xd0\x02\x81\x02\x08\x01\x50\x03\xd0\x02\x01"));
        assert!(!check(b"\x50\x03\x0a\x03\xd0\x02\x01"), "inside of another field");
    }

    /// The short way gives what the long one gives.
    #[test]
    fn packets_that_end_alike() {
        let mut gaps = Gaps::default();
        let mut found = |packet: &[u8]| {
            gaps.look(packet);
            gaps.found
        };
        assert_eq!(found(b"\x08\x01\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 0);
        for _ in 0..3 {
            assert_eq!(found(b"\x08\x02\x18\x00\x50\x02\xf8\x04\x07"), 0);
        }
        assert_eq!(found(b"\x08\x03\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 1);
        assert_eq!(found(b"\x08\x04\x18\x00\x50\x02\xf8\x04\x07"), 1);
        // The producer's own word, and a byte that only looks like one.
        assert_eq!(found(b"\xd0\x02\x80\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
        assert_eq!(found(b"\x0a\x02\xd0\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
        assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 2);
        assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 3);
    }
}
