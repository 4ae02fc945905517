//! A sort for what is nearly sorted: the service notes events as they happen, and only a few are noted late.
//!
//! The code of the standard library's sorts is a hundred times as much, once for each type.

/// Sorts `items` by time; those of one time keep their order. Takes as many steps as pairs are in the wrong order.
pub(crate) fn sort_by_time<T>(items: &mut [T], at_ns: impl Fn(&T) -> u64) {
    for end in 1..=items.len() {
        let mut sorted = items.get_mut(..end).unwrap_or_default();
        while let [.., before, last] = &mut *sorted
            && at_ns(before) > at_ns(last)
        {
            std::mem::swap(before, last);
            let Some((_, shorter)) = std::mem::take(&mut sorted).split_last_mut() else { break };
            sorted = shorter;
        }
    }
}

#[cfg(test)]
mod tests;
