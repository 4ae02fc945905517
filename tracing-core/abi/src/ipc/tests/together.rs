//! The end of the client, and both ends together.

use super::*;

/// Carries bytes between both until none are left, `step` at a time.
fn exchange<P: Port, Q: Port>(client: &mut Client<P, u32>, host: &mut Host<Q, u32>, step: usize) {
    loop {
        let (bytes, fds) = drain(client.outbox());
        let (back, back_fds) = drain(host.outbox());
        if bytes.is_empty() && back.is_empty() {
            return;
        }
        let mut fds = fds.into_iter();
        for piece in bytes.chunks(step) {
            host.receive(piece, fds.next()).unwrap();
            host.decode_waiting();
        }
        let mut fds = back_fds.into_iter();
        for piece in back.chunks(step) {
            client.receive(piece, fds.next()).unwrap();
        }
    }
}

fn events<P: Port>(client: &mut Client<P, u32>) -> Vec<ClientEvent> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

fn reply(call: CallId, body: &'static [u8], has_more: bool) -> ClientEvent {
    ClientEvent::Reply { call, result: Ok(body.to_vec()), has_more }
}

fn rejected(call: CallId) -> ClientEvent {
    ClientEvent::Reply { call, result: Err(Rejected), has_more: false }
}

#[test]
fn a_call_before_the_bind_waits_for_it() {
    for step in [1, 3, 1 << 20] {
        let mut client = Client::<Echo, u32>::new();
        let mut host = Host::<Echo, u32>::default();
        let call = client.invoke(&open(b"now"), true, Some(5)).unwrap();
        assert_eq!(call, CallId::new(2), "the bind is 1");
        exchange(&mut client, &mut host, step);
        let Some(HostEvent::Call { call: Some(got), request, fd }) = host.poll_event() else {
            panic!("no call")
        };
        assert_eq!((got, request, fd), (call, open(b"now"), Some(5)));
        host.reply(got, Ok(b"done".to_vec()), false, Some(6)).unwrap();
        exchange(&mut client, &mut host, step);
        assert_eq!(events(&mut client), [ClientEvent::Bound, reply(call, b"done", false)]);
        assert_eq!(client.take_fd(), Some(6));
        assert_eq!(client.take_fd(), None);
    }
}

#[test]
fn streams_end_with_their_last_reply() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    let call = client.invoke(&observe(), true, None).unwrap();
    exchange(&mut client, &mut host, 7);
    host.reply(call, Ok(b"1".to_vec()), true, None).unwrap();
    host.reply(call, Ok(b"2".to_vec()), false, None).unwrap();
    host.reply(call, Ok(b"too late".to_vec()), false, None).unwrap();
    host.reply(CallId::new(99), Ok(b"nobody's".to_vec()), false, None).unwrap();
    exchange(&mut client, &mut host, 7);
    assert_eq!(
        events(&mut client),
        [ClientEvent::Bound, reply(call, b"1", true), reply(call, b"2", false)]
    );
}

#[test]
fn a_method_the_service_lacks_is_rejected_without_a_frame() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<OldEcho, u32>::default();
    exchange(&mut client, &mut host, 64);
    assert_eq!(client.has_method("Watch"), Some(true));
    assert_eq!(client.has_method("New"), Some(false));
    let new = Request { id: 3, args: Vec::new() };
    let call = client.invoke(&new, true, None).unwrap();
    client.invoke(&new, false, None).unwrap();
    assert!(client.outbox().is_empty());
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(call)]);
}

#[test]
fn a_call_without_reply_leaves_no_trace() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    let call = client.invoke(&open(b"bad"), false, None).unwrap();
    exchange(&mut client, &mut host, 64);
    // The host answers all the same (it cannot be routed), and the client ignores the answer.
    assert_eq!(events(&mut client), [ClientEvent::Bound]);
    host.reply(call, Ok(Vec::new()), false, None).unwrap();
    exchange(&mut client, &mut host, 64);
    assert_eq!(events(&mut client), []);
}

#[test]
fn a_request_error_is_a_rejection() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    exchange(&mut client, &mut host, 64);
    let call = client.invoke(&observe(), true, None).unwrap();
    let error = |id| {
        encode(&Frame { request_id: id, body: Some(Body::RequestError("unknown request".into())) })
    };
    client.receive(&error(call.get()), None).unwrap();
    client.receive(&error(call.get()), None).unwrap();
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(call)]);
}

#[test]
fn a_refused_bind_ends_the_client() {
    let refusals = [
        hex("04 00 00 00 10 01 22 00"),
        encode(&Frame { request_id: 1, body: Some(Body::RequestError("who?".into())) }),
    ];
    for refusal in refusals {
        let mut client = Client::<Echo, u32>::new();
        let call = client.invoke(&observe(), true, None).unwrap();
        client.receive(&refusal, None).unwrap();
        assert_eq!(events(&mut client), [rejected(call), ClientEvent::Disconnected]);
        assert_eq!(client.invoke(&observe(), true, None), Err(ClientClosed));
    }
}

#[test]
fn an_answer_to_another_bind_is_none() {
    let mut client = Client::<Echo, u32>::new();
    let call = client.invoke(&observe(), true, None).unwrap();
    for (answer, expected) in [
        ("04 00 00 00 10 02 22 00", vec![]),
        ("04 00 00 00 10 01 22 00", vec![rejected(call), ClientEvent::Disconnected]),
    ] {
        client.receive(&hex(answer), None).unwrap();
        assert_eq!(events(&mut client), expected);
    }
}

#[test]
fn closing_rejects_every_pending_call_once() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    exchange(&mut client, &mut host, 64);
    let stream = client.invoke(&observe(), true, None).unwrap();
    let one = client.invoke(&open(b""), true, None).unwrap();
    client.invoke(&open(b""), false, None).unwrap();
    client.close();
    client.close();
    assert_eq!(
        events(&mut client),
        [ClientEvent::Bound, rejected(stream), rejected(one), ClientEvent::Disconnected]
    );
    assert!(client.is_closed());
}

#[test]
fn method_numbers_are_the_hosts() {
    let mut client = Client::<Echo, u32>::new();
    let methods = [(9, "Open"), (0, "Watch"), (4, "")]
        .map(|(id, name)| Method { id, name: name.into() })
        .to_vec();
    let bound = BindReply { success: true, service_id: 70, methods };
    client
        .receive(&encode(&Frame { request_id: 1, body: Some(Body::BindReply(bound)) }), None)
        .unwrap();
    drain(client.outbox());
    let call = client.invoke(&open(b""), true, None).unwrap();
    let (sent, _) = drain(client.outbox());
    let sent = decode_all(&sent);
    let Some(Body::Invoke(invoke)) = &sent[0].body else { panic!("not an invoke") };
    assert_eq!((invoke.service_id, invoke.method_id), (70, 9));
    let missing = client.invoke(&observe(), true, None).unwrap();
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(missing)]);
    assert_ne!(call, missing);
}
