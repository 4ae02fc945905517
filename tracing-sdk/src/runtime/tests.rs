use super::hooks::lock_at_exit;
use super::state::lock;

/// A thread that has the lock may wait for the one that ends the process.
#[test]
fn the_end_of_a_process_does_not_wait_for_ever() {
    let held = lock();
    let other = std::thread::spawn(|| lock_at_exit().is_some());
    assert!(!other.join().expect("no panic"));
    drop(held);
}
