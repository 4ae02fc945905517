//! What waits to be sent, with its descriptors.

use super::*;

#[test]
fn a_descriptor_goes_once_and_with_its_first_byte() {
    let mut host = Host::<Echo, u32>::default();
    host.reply(CallId::new(1), Ok(b"aa".to_vec()), true, None).unwrap();
    host.reply(CallId::new(1), Ok(b"bb".to_vec()), true, Some(3)).unwrap();
    host.reply(CallId::new(1), Ok(b"cc".to_vec()), false, None).unwrap();
    let outbox = host.outbox();
    let mut parts = Vec::new();
    assert_eq!(outbox.next(&mut parts), None);
    let first: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!(first, 16, "stops before the frame with a descriptor");
    outbox.advance(first);

    let mut parts = Vec::new();
    assert_eq!(outbox.next(&mut parts), Some(&3));
    let rest: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!((rest, outbox.len()), (32, 32));
    // Nothing left: it must be offered again.
    outbox.advance(0);
    assert_eq!(outbox.next(&mut Vec::new()), Some(&3));
    // One byte left, and it took the descriptor along.
    outbox.advance(1);
    assert_eq!(outbox.next(&mut Vec::new()), None);
    assert_eq!(drain(outbox).0.len(), 31);
}

#[test]
fn the_memory_of_a_message_comes_back_with_its_last_byte() {
    let mut host = Host::<Echo, u32>::default();
    let (one, two) = (vec![b'a'; 5000], vec![b'b'; 5000]);
    host.reply(CallId::new(1), Ok(one.clone()), true, None).unwrap();
    host.reply(CallId::new(1), Err(Rejected), false, None).unwrap();
    host.reply(CallId::new(2), Ok(two.clone()), false, None).unwrap();
    let (len, first) = (host.queued_len(), 5000 + 16);
    let mut back = Vec::new();
    host.outbox().advance_with(first - 1, |message| back.push(message));
    assert_eq!((back.len(), host.queued_len()), (0, len - first + 1));
    host.outbox().advance_with(1, |message| back.push(message));
    assert_eq!(back, std::slice::from_ref(&one));
    // Two frames at once, of which one has no message.
    host.outbox().advance_with(len - first, |message| back.push(message));
    assert_eq!(back, [one, two]);
    assert!(host.outbox().is_empty());
}
