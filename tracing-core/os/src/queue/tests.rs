//! What the threads of a producer rely on.

use super::*;

#[test]
fn items_arrive_in_order_also_from_other_threads() {
    let (sender, receiver) = queue();
    let count = if cfg!(miri) { 20 } else { 1000 };
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let sender = sender.clone();
            std::thread::spawn(move || (0..count).all(|item| sender.send((thread, item))))
        })
        .collect();
    drop(sender);
    let received: Vec<_> = std::iter::from_fn(|| receiver.recv()).collect();
    for thread in 0..2 {
        let of_thread = received.iter().filter(|item| item.0 == thread).map(|item| item.1);
        assert!(of_thread.eq(0..count));
    }
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[test]
fn the_last_sender_that_goes_ends_the_wait() {
    let (sender, receiver) = queue::<u8>();
    let other = sender.clone();
    let waiting =
        std::thread::spawn(move || (receiver.recv(), receiver.recv_timeout(Duration::MAX)));
    drop(sender);
    other.send(7);
    drop(other);
    assert_eq!(waiting.join().unwrap(), (Some(7), None));
}

#[test]
fn without_an_item_nothing_is_received() {
    let (sender, receiver) = queue();
    assert_eq!(receiver.try_recv(), None);
    assert_eq!(receiver.recv_timeout(Duration::ZERO), None);
    sender.send(1);
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Some(1));
}

#[test]
fn items_without_a_receiver_are_dropped() {
    let (sender, receiver) = queue();
    let (before, after) = (Arc::new(()), Arc::new(()));
    assert!(sender.send(Arc::clone(&before)));
    drop(receiver);
    assert!(!sender.send(Arc::clone(&after)));
    assert_eq!((Arc::strong_count(&before), Arc::strong_count(&after)), (1, 1));
}
