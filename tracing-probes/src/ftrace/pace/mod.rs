//! When the next pass is due.

#[cfg(test)]
mod tests;

/// Milliseconds between passes if no session says otherwise.
const PERIOD_MS: u32 = 100;
/// The same, if each instance of tracefs wakes the reader when its rings fill.
const POLLED_PERIOD_MS: u32 = 1000;
/// Nanoseconds between two passes of which the second is due because a ring fills: else a small ring would cost a pass
/// for each of its events. It is the shortest period that a session may ask for.
const POLLS_NS: u64 = 1_000_000;
/// Milliseconds that a session may ask for.
const PERIODS_MS: std::ops::RangeInclusive<u32> = 1..=60_000;

/// Milliseconds between passes: the shortest that started sessions ask for. One that is no period counts as none, and
/// does not change those of others.
pub(crate) fn period_ms(wishes: impl Iterator<Item = Option<u32>>, all_polled: bool) -> u32 {
    let shortest = wishes.flatten().filter(|period| PERIODS_MS.contains(period)).min();
    shortest.unwrap_or(if all_polled { POLLED_PERIOD_MS } else { PERIOD_MS })
}

/// The next multiple of the period behind `now_ns`, by the monotonic clock: what ticks together wakes a CPU once.
pub(crate) fn next_pass_ns(now_ns: u64, period_ms: u32) -> u64 {
    let period_ns = u64::from(period_ms.max(1)) * 1_000_000;
    now_ns.saturating_add(period_ns - now_ns % period_ns)
}

/// When rings may be waited for again after a pass at `now_ns`.
pub(crate) fn next_poll_ns(now_ns: u64) -> u64 {
    now_ns.saturating_add(POLLS_NS)
}
