use super::by_key;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `jobs` (a key, and whether it succeeds); returns which have run, and whether two of a key ever met.
fn check(jobs: &[(&'static str, bool)]) -> (Vec<usize>, bool) {
    let order = Mutex::new(Vec::new());
    let running: [AtomicUsize; 2] = Default::default();
    let met = AtomicUsize::new(0);
    let numbered: Vec<_> = jobs.iter().enumerate().collect();
    by_key(
        &numbered,
        |(_, job)| job.0,
        |(number, (key, succeeds))| {
            let counter = &running[usize::from(*key == "b")];
            met.fetch_add(counter.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            order.lock().unwrap().push(*number);
            std::thread::yield_now();
            counter.fetch_sub(1, Ordering::SeqCst);
            *succeeds
        },
    );
    (order.into_inner().unwrap(), met.into_inner() != 0)
}

#[test]
fn jobs_of_one_key_run_in_order_and_never_together() {
    let jobs: Vec<_> = (0..200).map(|n| (if n % 3 == 0 { "b" } else { "a" }, true)).collect();
    let (order, met) = check(&jobs);
    assert!(!met);
    for key in ["a", "b"] {
        let of_key: Vec<_> = order.iter().filter(|n| jobs[**n].0 == key).collect();
        assert!(of_key.is_sorted());
    }
    let mut all = order;
    all.sort_unstable();
    assert!(all.into_iter().eq(0..200));
}

#[test]
fn nothing_begins_after_a_failure() {
    let (order, _) = check(&[("a", true), ("a", false), ("a", true), ("a", true)]);
    assert_eq!(order, [0, 1]);
}
