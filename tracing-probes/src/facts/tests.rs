use abi::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, lock};

use super::{Exchange, Facts, Listener, Reader, ReaderThread, Wanted};
use crate::limits::FACTS_MAX;

#[derive(Default)]
struct Told(Mutex<Vec<u64>>);

impl Listener for Told {
    fn tell(&self, session: u64, facts: &dyn Fn(Wanted) -> Facts) {
        assert_eq!(facts(Wanted::default()), Facts::default());
        lock(&self.0).push(session);
    }
}

/// A thread of ftrace that records in session 1.
#[derive(Default)]
struct Ftrace {
    is_gone: AtomicBool,
    woken: AtomicUsize,
}

impl Reader for Ftrace {
    fn has(&self, session: u64) -> bool {
        session == 1 && !self.is_gone.load(Ordering::Relaxed)
    }
    fn wake(&self) {
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn one(&self) -> Box<dyn FnOnce() + Send> {
        let count = Arc::clone(&self.0);
        Box::new(move || _ = count.fetch_add(1, Ordering::Relaxed))
    }
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn facts_are_sets_with_a_limit() {
    let mut facts = Facts { pids: vec![2, 5], fds: vec![(1, 1)], ..Facts::default() };
    facts.join(Facts { pids: vec![1, 2, 9], renamed: vec![2], ..Facts::default() });
    assert_eq!((&facts.pids[..], &facts.renamed[..]), (&[1, 2, 5, 9][..], &[2][..]));
    assert_eq!(facts.fds, [(1, 1)]);
    for first in [0, FACTS_MAX as u64] {
        let inodes = (first..first + FACTS_MAX as u64).map(|inode| (1, inode)).collect();
        facts.join(Facts { inodes, ..Facts::default() });
    }
    assert_eq!(facts.inodes.len(), FACTS_MAX);
    let of_each = [
        Facts { pids: vec![1], ..Facts::default() },
        Facts { renamed: vec![1], ..Facts::default() },
        Facts { fds: vec![(1, 1)], ..Facts::default() },
        Facts { inodes: vec![(1, 1)], ..Facts::default() },
    ];
    assert!(Facts::default().is_empty() && !of_each.iter().any(Facts::is_empty));
}

#[test]
fn kinds_that_are_gone_hear_nothing() {
    let exchange = Exchange::default();
    let (one, two) = (Arc::new(Told::default()), Arc::new(Told::default()));
    for told in [&one, &two] {
        let listener: Arc<dyn Listener> = Arc::<Told>::clone(told);
        exchange.add(Arc::downgrade(&listener));
    }
    exchange.tell(7, &|_| Facts::default());
    drop(two);
    exchange.tell(8, &|_| Facts::default());
    assert_eq!(*lock(&one.0), [7, 8]);
}

#[test]
fn a_flush_waits_for_the_facts_of_its_session() {
    let exchange = Exchange::default();
    let (key, other) = (1, 2);
    let (begun, dropped) = (Count::default(), Count::default());
    // Nobody reads.
    exchange.after_pass(1, ("a", key), begun.one());
    assert_eq!(begun.get(), 1);
    let ftrace = Arc::new(Ftrace::default());
    let reader: Arc<dyn Reader> = Arc::<Ftrace>::clone(&ftrace);
    exchange.set_reader(Arc::downgrade(&reader));
    // Another session has no ftrace.
    exchange.after_pass(2, ("a", key), begun.one());
    assert_eq!((begun.get(), ftrace.woken.load(Ordering::Relaxed)), (2, 0));
    // Each instance has one that waits, and that covers later ones.
    exchange.after_pass(1, ("a", key), begun.one());
    for _ in 0..900 {
        let later = dropped.clone();
        let on_drop = client::data_source::Ack::new(later.one());
        exchange.after_pass(1, ("a", key), Box::new(move || drop(on_drop)));
    }
    exchange.after_pass(1, ("a", other), begun.one());
    exchange.after_pass(1, ("b", key), begun.one());
    assert_eq!((begun.get(), dropped.get()), (2, 900));
    assert!(ftrace.woken.load(Ordering::Relaxed) >= 3);
    let waiting = exchange.take_waiting();
    assert_eq!(waiting.iter().map(|waiting| waiting.session).collect::<Vec<_>>(), [1, 1, 1]);
    waiting.into_iter().for_each(|waiting| (waiting.flush)());
    assert_eq!(begun.get(), 5);
}

#[test]
fn no_flush_waits_for_a_thread_that_is_gone() {
    let exchange = Exchange::default();
    let key = 1;
    let begun = Count::default();
    let ftrace = Arc::new(Ftrace::default());
    let reader: Arc<dyn Reader> = Arc::<Ftrace>::clone(&ftrace);
    exchange.set_reader(Arc::downgrade(&reader));
    let thread = ReaderThread(&exchange);
    exchange.after_pass(1, ("a", key), begun.one());
    ftrace.is_gone.store(true, Ordering::Relaxed);
    assert_eq!(begun.get(), 0);
    drop(thread);
    assert_eq!(begun.get(), 1);
    exchange.after_pass(1, ("a", key), begun.one());
    drop((reader, ftrace));
    exchange.after_pass(1, ("a", key), begun.one());
    assert_eq!(begun.get(), 3);
}
