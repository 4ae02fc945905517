//! How a stream is cut into frames, and what each message looks like.

use super::*;

#[test]
fn frames_come_out_whole_however_the_stream_is_cut() {
    let stream = hex("03 00 00 00 | 10 01 00 | 00 00 00 00 | 01 00 00 00 | 61 | 02 00 00 00 62 63");
    for cut in 1..=stream.len() {
        let mut deframer = Deframer::default();
        let mut frames = Vec::new();
        for piece in stream.chunks(cut) {
            deframer.push(piece).unwrap();
            while let Some(frame) = deframer.pop() {
                frames.push(frame.to_vec());
            }
        }
        assert_eq!(frames, [&hex("10 01 00")[..], b"a", b"bc"], "pieces of {cut}");
        assert_eq!(deframer.partial_len(), 0);
    }
}

#[test]
fn the_largest_frame_passes_and_one_byte_more_does_not() {
    let mut deframer = Deframer::default();
    for _ in 0..3 {
        deframer.push(&131_068_u32.to_le_bytes()).unwrap();
        deframer.push(&vec![7; 131_067]).unwrap();
        assert_eq!(deframer.pop(), None);
        deframer.push(&[7]).unwrap();
        assert_eq!(deframer.pop().unwrap().len(), 131_068);
    }
    // Refused before the body comes.
    assert_eq!(deframer.push(&131_069_u32.to_le_bytes()), Err(FrameError { len: 131_069 }));
    assert_eq!(deframer.push(&[0xff; 4]), Err(FrameError { len: 0xffff_ffff }));
}

#[test]
fn a_refused_frame_takes_the_burst_along() {
    let mut host = Host::<Echo, u32>::default();
    let burst = [bind_frame(1), hex("fd ff 01 00")].concat();
    assert!(host.receive(&burst, None).is_err());
    assert!(host.outbox().is_empty(), "no bind reply");
    assert!(host.poll_event().is_none());
}

#[test]
fn every_message_survives_a_round_trip() {
    let bodies = [
        None,
        Some(Body::Bind(Bind { service_name: "ProducerPort".into() })),
        Some(Body::BindReply(BindReply::default())),
        Some(Body::Invoke(Invoke {
            service_id: 3,
            method_id: 300,
            args: b"args",
            drop_reply: true,
        })),
        Some(Body::InvokeReply(InvokeReply::Succeeded { has_more: true, reply: b"x" })),
        Some(Body::InvokeReply(InvokeReply::Unroutable)),
        Some(Body::InvokeReply(InvokeReply::Rejected)),
        Some(Body::RequestError("no".into())),
        Some(Body::PeerIdentity(PeerIdentity {
            pid: Some(-1),
            uid: Some(i32::MAX),
            machine_id_hint: "m".into(),
            machine_name: String::new(),
        })),
    ];
    for body in bodies {
        for request_id in [0, 1, u64::MAX] {
            let frame = Frame { request_id, body: body.clone() };
            assert_eq!(decode_all(&encode(&frame)), [frame]);
        }
    }
}

#[test]
fn a_frame_too_long_is_not_encoded() {
    let zeros = vec![0; IPC_FRAME_BYTES_MAX];
    let reply = |len| Frame {
        request_id: 1,
        body: Some(Body::InvokeReply(InvokeReply::Succeeded {
            has_more: false,
            reply: &zeros[..len],
        })),
    };
    let overhead = 2 + 4 + 4 + 4; // id, three-byte lengths of reply and message, flags
    assert!(reply(IPC_FRAME_BYTES_MAX - overhead).encode().is_ok());
    assert!(reply(IPC_FRAME_BYTES_MAX - overhead + 1).encode().is_err());
    let mut host = Host::<Echo, u32>::default();
    host.reply(CallId::new(9), Ok(vec![0; IPC_FRAME_BYTES_MAX]), true, None).unwrap_err();
    assert_eq!(drain(host.outbox()).0, hex("06 00 00 00 10 09 32 02 10 00"));
}
