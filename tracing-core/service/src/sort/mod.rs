//! A sort for what is nearly sorted: the service notes events as they happen, and only a few are noted late.
//!
//! The code of the standard library's sorts is a hundred times as much, once for each type.

/// Sorts `items` by time; those of one time keep their order. Takes as many steps as pairs are in the wrong order.
pub(crate) fn sort_by_time<T>(items: &mut [T], at_ns: impl Fn(&T) -> u64) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && at_ns(&items[at - 1]) > at_ns(&items[at]) {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
