//! Which mutant this process runs with: in the copy of the sources this is `abi::mutated`.
//!
//! The variable [`MUTANT`] holds its number. The file that [`REACHED`] names gets the number of each place that was
//! reached, with the name of the thread, which is the name of the test.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The number of the mutant.
pub const MUTANT: &str = "TRACING_MUTANT";
/// Where to write what was reached.
pub const REACHED: &str = "TRACING_MUTANTS_REACHED";

/// Whether the mutant `number` is the chosen one.
fn is_chosen(number: usize) -> bool {
    static CHOSEN: OnceLock<Option<usize>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var(MUTANT).ok()?.parse().ok());
    if chosen.is_none() {
        reached(number);
    }
    *chosen == Some(number)
}

fn reached(number: usize) {
    thread_local!(static KNOWN: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) });
    static LIST: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(list) = LIST.get_or_init(|| std::env::var_os(REACHED).map(PathBuf::from)) else {
        return;
    };
    // What runs when a thread ends is reached without a name.
    let is_known = KNOWN.try_with(|known| known.borrow().contains(&number));
    if is_known != Ok(true) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        // Opened anew each time: some threads have descriptors of their own, and close those that they do not need.
        let file = std::fs::File::options().append(true).create(true).open(list);
        let written = file.and_then(|mut f| f.write_all(format!("{number} {name}\n").as_bytes()));
        // There may be no descriptor now, and one later.
        if written.is_ok() {
            let _ = KNOWN.try_with(|known| known.borrow_mut().insert(number));
        }
    }
}

/// The condition, or `answer` with the mutant `number`.
pub fn check(number: usize, answer: bool, condition: bool) -> bool {
    if is_chosen(number) { answer } else { condition }
}

/// The limit; a thousand times that with the mutant `number`, and zero with the next one.
pub fn limit<T: Limit>(number: usize, limit: T) -> T {
    if is_chosen(number) {
        limit.larger()
    } else if is_chosen(number + 1) {
        limit.zero()
    } else {
        limit
    }
}

/// An integer.
pub trait Limit: Copy {
    /// A thousand times the value, or the largest value.
    fn larger(self) -> Self;
    /// Zero.
    fn zero(self) -> Self;
}

macro_rules! limits {
    ($($integer:ty)*) => {
        $(impl Limit for $integer {
            fn larger(self) -> Self {
                let thousand = <$integer>::try_from(1000).unwrap_or(<$integer>::MAX);
                self.saturating_mul(thousand)
            }

            fn zero(self) -> Self {
                0
            }
        })*
    };
}

limits!(u8 u16 u32 u64 usize i32 i64);
