use super::*;

#[test]
fn work_that_is_due_is_saved_once_the_first_one_first() {
    let now = Instant::now();
    let after = |seconds| now.checked_add(Duration::from_secs(seconds)).expect("a time");
    let save = |path: &str| Next::Save(path.into());
    let mut list = List::default();
    assert_eq!(list.next(now), Next::Sleep(None));
    list.add(after(3), "three".into());
    let two = list.add(after(2), "two".into());
    list.add(after(1), "one".into());
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(1))));
    let now = after(1);
    assert_eq!(list.next(now), save("one"));
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(1))));
    // Done in time.
    list.remove(two);
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(2))));
    let later = now.checked_add(Duration::from_secs(9)).expect("a time");
    assert_eq!(list.next(later), save("three"));
    assert_eq!(list.next(later), Next::Sleep(None));
}

/// The thread sleeps until the first work is due: no other work may wake it.
#[test]
fn only_work_that_is_due_first_wakes_the_thread() {
    let now = Instant::now();
    let mut list = List::default();
    let first = list.add(now, "first".into());
    let second = list.add(now, "second".into());
    assert!(list.is_first(first) && !list.is_first(second));
    list.remove(first);
    assert!(list.is_first(second) && !list.is_first(first));
}

#[test]
fn work_that_is_never_due_is_not_in_the_list() {
    let all = Watchdogs::new();
    drop(all.add(Duration::MAX, "never".into(), |_| {}));
    let state = all.lock();
    assert!(state.list.last_number == 0 && state.thread.is_none());
}
