//! Frames of real peers, annotated in the order they were seen.

use super::*;

#[test]
fn capture_producer_binds() {
    let dump = "12 00 00 00 | 10 01 1a 0e 0a 0c 50 72 6f 64 75 63 65 72 50 6f 72 74";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    assert_eq!(frame.body, Some(Body::Bind(Bind { service_name: "ProducerPort".into() })));
    assert_eq!(encode(&frame), bytes);
}

#[test]
fn capture_producer_bind_reply_with_a_padded_length() {
    let dump = "20 01 00 00 | 10 01 22 99 82 80 00 08 01 10 01 1a 18 08 01 12 14 49 6e 69 74 69 61 \
        6c 69 7a 65 43 6f 6e 6e 65 63 74 69 6f 6e 1a 16 08 02 12 12 52 65 67 69 73 74 65 72 44 61 \
        74 61 53 6f 75 72 63 65 1a 18 08 03 12 14 55 6e 72 65 67 69 73 74 65 72 44 61 74 61 53 6f \
        75 72 63 65 1a 0e 08 04 12 0a 43 6f 6d 6d 69 74 44 61 74 61 1a 13 08 05 12 0f 47 65 74 41 \
        73 79 6e 63 43 6f 6d 6d 61 6e 64 1a 17 08 06 12 13 52 65 67 69 73 74 65 72 54 72 61 63 65 \
        57 72 69 74 65 72 1a 19 08 07 12 15 55 6e 72 65 67 69 73 74 65 72 54 72 61 63 65 57 72 69 \
        74 65 72 1a 1b 08 08 12 17 4e 6f 74 69 66 79 44 61 74 61 53 6f 75 72 63 65 53 74 61 72 74 \
        65 64 1a 1b 08 09 12 17 4e 6f 74 69 66 79 44 61 74 61 53 6f 75 72 63 65 53 74 6f 70 70 65 \
        64 1a 14 08 0a 12 10 41 63 74 69 76 61 74 65 54 72 69 67 67 65 72 73 1a 08 08 0b 12 04 53 \
        79 6e 63 1a 14 08 0c 12 10 55 70 64 61 74 65 44 61 74 61 53 6f 75 72 63 65";
    let Some(Body::BindReply(reply)) = decode_one(&hex(dump)).body else {
        panic!("not a bind reply")
    };
    assert!(reply.success);
    assert_eq!(reply.service_id, 1);
    let names: Vec<_> = reply.methods.iter().map(|m| (m.id, m.name.as_str())).collect();
    assert_eq!(names[0], (1, "InitializeConnection"));
    assert_eq!(names[11], (12, "UpdateDataSource"));
    assert_eq!(names.len(), 12);
}

#[test]
fn capture_invocations_of_a_producer() {
    // GetAsyncCommand, NotifyDataSourceStarted, RegisterTraceWriter, CommitData, a commit as fence,
    // a flush acknowledged, NotifyDataSourceStopped.
    let dumps = [
        ("0c 00 00 00 | 10 03 2a 08 08 01 10 05 1a 00 20 00", 3, 5, "", false),
        ("0e 00 00 00 | 10 05 2a 0a 08 01 10 08 1a 02 08 01 20 01", 5, 8, "08 01", true),
        (
            "10 00 00 00 | 10 06 2a 0c 08 01 10 06 1a 04 08 01 10 01 20 01",
            6,
            6,
            "08 01 10 01",
            true,
        ),
        (
            "14 00 00 00 | 10 07 2a 10 08 01 10 04 1a 08 0a 06 08 00 10 00 18 01 20 01",
            7,
            4,
            "0a 06 08 00 10 00 18 01",
            true,
        ),
        ("0c 00 00 00 | 10 08 2a 08 08 01 10 04 1a 00 20 00", 8, 4, "", false),
        ("0e 00 00 00 | 10 0c 2a 0a 08 01 10 04 1a 02 18 01 20 01", 12, 4, "18 01", true),
        ("0e 00 00 00 | 10 0d 2a 0a 08 01 10 09 1a 02 08 01 20 01", 13, 9, "08 01", true),
    ];
    for (dump, id, method_id, args, drop_reply) in dumps {
        let bytes = hex(dump);
        let frame = decode_one(&bytes);
        let invoke = Invoke { service_id: 1, method_id, args: &hex(args), drop_reply };
        assert_eq!(frame, Frame { request_id: id, body: Some(Body::Invoke(invoke)) });
        assert_eq!(encode(&frame), bytes);
    }
}

#[test]
fn capture_replies_of_a_service() {
    let dumps = [
        // InitializeConnection: no shared memory of the producer's, direct patching, no emulation.
        (
            "10 00 00 00 | 10 02 32 0c 08 01 10 00 1a 06 08 00 10 01 18 00",
            2,
            false,
            "08 00 10 01 18 00",
        ),
        ("0a 00 00 00 | 10 04 32 06 08 01 10 00 1a 00", 4, false, ""),
        // SetupTracing, Flush, StopDataSource on the command stream.
        ("0e 00 00 00 | 10 03 32 0a 08 01 10 01 1a 04 1a 02 08 04", 3, true, "1a 02 08 04"),
        (
            "12 00 00 00 | 10 03 32 0e 08 01 10 01 1a 08 2a 06 08 01 10 01 18 12",
            3,
            true,
            "2a 06 08 01 10 01 18 12",
        ),
        ("0e 00 00 00 | 10 03 32 0a 08 01 10 01 1a 04 12 02 08 01", 3, true, "12 02 08 01"),
        // A consumer: all data sources started; tracing ended.
        ("0e 00 00 00 | 10 02 32 0a 08 01 10 01 1a 04 0a 02 10 01", 2, true, "0a 02 10 01"),
        ("0c 00 00 00 | 10 03 32 08 08 01 10 00 1a 02 08 01", 3, false, "08 01"),
    ];
    for (dump, request_id, has_more, reply) in dumps {
        let bytes = hex(dump);
        let frame = decode_one(&bytes);
        let reply = InvokeReply::Succeeded { has_more, reply: &hex(reply) };
        assert_eq!(frame, Frame { request_id, body: Some(Body::InvokeReply(reply)) });
        assert_eq!(encode(&frame), bytes);
    }
}

#[test]
fn capture_set_peer_identity() {
    let dump = "1f 00 00 00 10 00 42 1b 08 92 21 10 e9 07 1a 0b 62 6f 6f 74 2d 69 64 2d 78 79 7a \
        22 06 67 75 65 73 74 31";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    let identity = PeerIdentity {
        pid: Some(4242),
        uid: Some(1001),
        machine_id_hint: "boot-id-xyz".into(),
        machine_name: "guest1".into(),
    };
    assert_eq!(identity.machine_id(), 3_533_847_299, "as a real service computes it");
    assert_eq!(frame, Frame { request_id: 0, body: Some(Body::PeerIdentity(identity)) });
    assert_eq!(encode(&frame), bytes);
}

#[test]
fn capture_relay_port_bound() {
    let dump = "26 00 00 00 10 01 22 22 08 01 10 02 1a 0d 08 01 12 09 49 6e 69 74 52 65 6c 61 79 \
        1a 0d 08 02 12 09 53 79 6e 63 43 6c 6f 63 6b";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    let method = |id, name: &str| Method { id, name: name.into() };
    let reply = BindReply {
        success: true,
        service_id: 2,
        methods: vec![method(1, "InitRelay"), method(2, "SyncClock")],
    };
    assert_eq!(frame.body, Some(Body::BindReply(reply)));
    assert_eq!(encode(&frame), bytes);
}
