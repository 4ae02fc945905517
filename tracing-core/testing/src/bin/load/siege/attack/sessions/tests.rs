use protos::{Trace, TracePacket, TracePacketOptionalTrustedUid};
use protozero::Message as _;

use super::*;

#[test]
fn an_attack_that_does_not_reach_something_is_none() {
    let mut seen = Seen { counts: [1; KINDS.len()] };
    assert_eq!(seen.check(), Ok(()));
    for (index, kind) in KINDS.iter().enumerate() {
        seen.counts[index] = 0;
        assert!(seen.check().unwrap_err().contains(&format!("no {kind};")));
        seen.counts[index] = 1;
    }
}

/// A session has packets of the service, whatever the producers do.
#[test]
fn packets_of_the_service_are_no_attack() {
    let of = |uid: u32| TracePacket {
        optional_trusted_uid: Some(TracePacketOptionalTrustedUid::TrustedUid(uid.cast_signed())),
        ..TracePacket::default()
    };
    let mut seen = Seen::default();
    for uid in [0, HOSTILE[0]] {
        let trace = Trace { packet: vec![of(uid)], ..Trace::default() };
        seen.trace(&trace.encode_to_vec(), FILTERED);
        assert_eq!(seen.counts[FILTERED], u64::from(uid != 0));
    }
}

#[test]
fn counts_survive_a_pipe() {
    let mut seen = Seen { counts: std::array::from_fn(|index| index as u64) };
    assert_eq!(Seen::parse(&seen.line()), Some(seen));
    assert_eq!(Seen::parse("1 2"), None);
    seen.add(&seen.clone());
    assert_eq!(seen.counts[3], 6);
}
