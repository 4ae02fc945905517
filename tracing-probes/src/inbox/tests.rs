use std::time::Duration;

use abi::ids::InstanceId;
use abi::sync::{Arc, AtomicUsize, Ordering};
use client::data_source::{Ack, Instance};
use os::poll::Wake;
use protos::DataSourceConfig;

use super::{Inbox, Order, Refused, Taken};
use crate::facts::{Facts, Listener, Reader, Wanted};
use crate::limits::{INSTANCES_MAX, INSTANCES_PER_SESSION_MAX};

/// Counts acknowledgements.
#[derive(Default)]
struct Acks(Arc<AtomicUsize>);

impl Acks {
    fn one(&self) -> Ack {
        let count = Arc::clone(&self.0);
        Ack::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        })
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn instance() -> Instance {
    Instance::detached(InstanceId::new(1), DataSourceConfig::default())
}

fn orders(inbox: &Inbox<()>) -> Vec<Order<()>> {
    match inbox.take(Some(Duration::ZERO)) {
        Taken::Orders(orders) => orders.into_values().collect(),
        Taken::Finished => panic!("finished"),
    }
}

#[test]
fn flushes_that_wait_are_one() {
    let (inbox, acks) = (Inbox::default(), Acks::default());
    let key = inbox.admit(1).unwrap();
    inbox.start(key, instance(), ());
    let first = Acks::default();
    inbox.flush(key, first.one());
    (1..900).for_each(|_| inbox.flush(key, acks.one()));
    // The oldest holds the answers to all back.
    assert_eq!((inbox.waiting(), acks.count(), first.count()), (1, 899, 0));
    let order = orders(&inbox).remove(0);
    assert!(order.start.is_some() && order.stop.is_none());
    // One that was begun does not cover what comes now.
    inbox.flush(key, acks.one());
    assert_eq!((inbox.waiting(), acks.count()), (1, 899));
    drop(order);
    assert_eq!((acks.count(), first.count()), (899, 1));
    assert!(orders(&inbox).remove(0).flush.is_some());
    assert_eq!(acks.count(), 900);
}

#[test]
fn a_session_cannot_use_up_the_instances_of_others() {
    let inbox = Inbox::<()>::default();
    let sessions_max = 15;
    assert!(INSTANCES_PER_SESSION_MAX * sessions_max <= INSTANCES_MAX);
    for session in 0..sessions_max as u64 {
        for _ in 0..INSTANCES_PER_SESSION_MAX {
            inbox.admit(session).unwrap();
        }
        assert_eq!(inbox.admit(session), Err(Refused::Session));
    }
    for _ in INSTANCES_PER_SESSION_MAX * sessions_max..INSTANCES_MAX {
        inbox.admit(100).unwrap();
    }
    assert_eq!(inbox.admit(200), Err(Refused::All));
}

#[test]
fn an_instance_counts_until_its_stop_is_carried_out() {
    let (inbox, acks) = (Inbox::<()>::default(), Acks::default());
    let keys: Vec<_> = (0..INSTANCES_PER_SESSION_MAX).map(|_| inbox.admit(7).unwrap()).collect();
    inbox.stop(keys[0], acks.one());
    assert_eq!((inbox.admit(7), acks.count()), (Err(Refused::Session), 0));
    drop(orders(&inbox));
    assert_eq!((inbox.admit(7), acks.count()), (Err(Refused::Session), 1));
    inbox.release(keys[0]);
    assert!(inbox.admit(7).is_ok_and(|key| !keys.contains(&key)));
    // Requests for one that is gone are acknowledged.
    inbox.stop(keys[0], acks.one());
    inbox.clear(keys[0]);
    assert_eq!((acks.count(), inbox.waiting()), (2, 0));
}

#[test]
fn nobody_waits_for_a_thread_that_is_gone() {
    let (inbox, acks) = (Inbox::<()>::default(), Acks::default());
    let key = inbox.admit(1).unwrap();
    inbox.start(key, instance(), ());
    inbox.flush(key, acks.one());
    inbox.stop(key, acks.one());
    inbox.abandon();
    assert_eq!(acks.count(), 2);
    inbox.flush(key, acks.one());
    assert_eq!((acks.count(), inbox.admit(1)), (3, Err(Refused::Gone)));
}

#[test]
fn the_last_orders_are_taken() {
    let inbox = Inbox::<()>::default();
    let key = inbox.admit(1).unwrap();
    inbox.clear(key);
    inbox.finish();
    assert!(orders(&inbox).remove(0).clear);
    assert!(matches!(inbox.take(None), Taken::Finished));
}

#[test]
fn facts_go_to_those_of_the_session_that_want_them() {
    let inbox = Inbox::<()>::default();
    let [one, two, other, deaf] = [1, 1, 2, 1].map(|session| inbox.admit(session).unwrap());
    let threads = Wanted { threads: true, ..Wanted::default() };
    inbox.listen(one, threads);
    inbox.listen(two, Wanted { fds: true, ..Wanted::default() });
    inbox.listen(other, threads);
    let seen = |pids: &[i32]| {
        let pids = pids.to_vec();
        move |wanted: Wanted| match wanted.threads {
            true => Facts { pids: pids.clone(), ..Facts::default() },
            false => Facts::default(),
        }
    };
    inbox.tell(1, &seen(&[3]));
    inbox.tell(1, &seen(&[1, 3]));
    // Without facts there is no order.
    let Taken::Orders(orders) = inbox.take(None) else { panic!("finished") };
    let told: Vec<_> = orders.iter().map(|(key, order)| (*key, order.facts.pids.clone())).collect();
    assert_eq!(told, [(one, vec![1, 3])]);
    assert!(inbox.has(2) && !inbox.has(3));
    [one, two, other, deaf].into_iter().for_each(|key| inbox.release(key));
    inbox.tell(2, &seen(&[3]));
    assert_eq!((inbox.waiting(), inbox.has(2)), (0, false));
    assert!(inbox.lock().listeners.is_empty());
}

#[test]
fn a_thread_is_woken_without_an_order() {
    let inbox = Inbox::<()>::default();
    inbox.wake();
    let Taken::Orders(orders) = inbox.take(None) else { panic!("finished") };
    assert!(orders.is_empty());
    // Once.
    inbox.finish();
    inbox.wake();
    assert!(matches!(inbox.take(None), Taken::Finished));
}

#[test]
fn another_wait_of_the_thread_ends() {
    let inbox = Inbox::<()>::default();
    let wake = Wake::new().unwrap();
    inbox.wake_by(wake.clone());
    let key = inbox.admit(1).unwrap();
    assert!(!wake.clear());
    inbox.clear(key);
    assert!(wake.clear());
    inbox.wake();
    assert!(wake.clear());
    inbox.finish();
    assert!(wake.clear());
}
