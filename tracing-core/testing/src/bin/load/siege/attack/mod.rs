//! A hostile user: producers and consumers that do everything that the sockets let them do, until they are killed.
//!
//! | module | what |
//! |---|---|
//! | `producers` | requests of every method; chunks in buffers; shared memory that changes while it is read |
//! | `consumers` | requests of every method: sessions of random configs, clones, reads whose data nobody takes |
//! | `sessions` | sessions for hostile producers that last; counts of what they received |
//! | `connections` | bytes that are no frames, connections that are held or closed at once, descriptors of every kind |
//! | `mappings` | memory that is mapped very often and changes meanwhile |

mod connections;
mod consumers;
mod mappings;
mod producers;
mod sessions;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use os::socket::Address;
use service::limits::{CLONES_PER_UID_MAX, SESSIONS_PER_UID_MAX};

use crate::hostile::Random;
use crate::{Outcome, Plan};
pub use sessions::Seen;

/// Buffers and shared memory of one hostile user: of all sessions and clones that it may have, and of the producers
/// that its threads have at a time.
pub const BUFFER_BYTES: u64 = (SESSIONS_PER_UID_MAX + CLONES_PER_UID_MAX) as u64
    * consumers::BUFFER_BYTES
    + (THREADS - 1) * producers::MEMORY_BYTES as u64
    + producers::LARGE_MEMORY_BYTES as u64
    + mappings::MEMORY_BYTES;

/// Threads that do the same. One of them has producers with large memory.
const THREADS: u64 = 4;

/// What there is to attack.
struct Target {
    producers: Address,
    consumers: Address,
    /// See [`folders`](super::folders).
    folder: PathBuf,
    /// Data sources of honest users.
    sources: Mutex<Vec<String>>,
    /// See [`large_memory`].
    large_memory: usize,
}

/// Shared memory of the one thread of a hostile user that has more than the others, bytes. A short siege has none: a
/// daemon that is not optimised looks through it for seconds as often as a session is flushed, and the other sessions
/// of the user wait.
pub fn large_memory(plan: &Plan) -> usize {
    if plan.is_short { producers::MEMORY_BYTES } else { producers::LARGE_MEMORY_BYTES }
}

/// More data sources of others are not remembered.
const SOURCES_MAX: usize = 8;

impl Target {
    fn new(producers: Address, consumers: Address) -> Self {
        Self {
            producers,
            consumers,
            folder: PathBuf::new(),
            sources: Mutex::default(),
            large_memory: producers::LARGE_MEMORY_BYTES,
        }
    }

    /// Data sources of honest users that were there lately.
    fn sources(&self) -> Vec<String> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers those of `all` data sources that are of honest users.
    fn learn(&self, all: impl IntoIterator<Item = String>) {
        let honest = all.into_iter().filter(|name| name.starts_with(super::honest::SOURCES));
        let sources = honest.take(SOURCES_MAX).collect();
        *self.sources.lock().unwrap_or_else(PoisonError::into_inner) = sources;
    }
}

/// `--attack PRODUCERS CONSUMERS FOLDER SEED BYTES`: prints a line when it begins, and one after each session that
/// lasts. It does not end.
pub fn process(
    producers: &str,
    consumers: &str,
    folder: &str,
    seed: &str,
    large_memory: &str,
) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let mut target = Target::new(parse(producers)?, parse(consumers)?);
    target.folder = folder.into();
    target.large_memory = large_memory.parse().map_err(|_| "BYTES")?;
    let target = &target;
    let seed: u64 = seed.parse().map_err(|_| "SEED")?;
    // What is measured is the daemon, not how the processors are shared between attackers and honest users.
    let _ = rustix::process::nice(19);
    println!("{}", Seen::default().line());
    let attacks: [fn(&Target, &mut Random); 3] =
        [producers::attack, consumers::attack, connections::attack];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            for (index, mut attack) in attacks.into_iter().enumerate() {
                if (thread, index) == (0, 0) {
                    attack = producers::attack_large;
                }
                let random = Random::new(seed << 32 | thread << 8 | index as u64);
                scope.spawn(move || repeat(target, random, attack));
            }
        }
        // One: it keeps a processor busy, and the others would have none.
        scope.spawn(move || mappings::attack(target));
        scope.spawn(move || sessions::attack(target, Random::new(seed << 32 | 0xff)));
    });
    Ok(())
}

/// The daemon refuses what it likes; the attack goes on.
fn repeat(target: &Target, mut random: Random, attack: fn(&Target, &mut Random)) -> Infallible {
    loop {
        attack(target, &mut random);
    }
}
