//! A hostile user: producers and consumers that do everything that the sockets let them do, until they are killed.
//!
//! | module | what |
//! |---|---|
//! | `producers` | requests of random content; shared memory that changes while it is read |
//! | `consumers` | sessions of random configs, clones, reads whose data nobody takes |
//! | `connections` | bytes that are no frames, connections that are held or closed at once, descriptors of every kind |
//! | `mappings` | memory that is mapped very often and changes meanwhile |

mod connections;
mod consumers;
mod mappings;
mod producers;

use std::convert::Infallible;

use os::socket::Address;
use service::limits::{CLONES_PER_UID_MAX, SESSIONS_PER_UID_MAX};

use crate::Outcome;
use crate::hostile::Random;

/// Buffers and shared memory of one hostile user: of all sessions and clones that it may have, and of the producers
/// that its threads have at a time.
pub const BUFFER_BYTES: u64 = (SESSIONS_PER_UID_MAX + CLONES_PER_UID_MAX) as u64
    * consumers::BUFFER_BYTES
    + THREADS * producers::MEMORY_BYTES as u64
    + mappings::MEMORY_BYTES;

/// Threads that do the same.
const THREADS: u64 = 4;

/// The sockets of the daemon.
#[derive(Clone)]
struct Target {
    producers: Address,
    consumers: Address,
}

/// `--attack PRODUCERS CONSUMERS SEED`: prints a line when it begins, and does not end.
pub fn process(producers: &str, consumers: &str, seed: &str) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let target = &Target { producers: parse(producers)?, consumers: parse(consumers)? };
    let seed: u64 = seed.parse().map_err(|_| "SEED")?;
    // What is measured is the daemon, not how the processors are shared between attackers and honest users.
    let _ = rustix::process::nice(19);
    println!("attack");
    let attacks: [fn(&Target, &mut Random); 3] =
        [producers::attack, consumers::attack, connections::attack];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            for (index, attack) in attacks.into_iter().enumerate() {
                let random = Random::new(seed << 32 | thread << 8 | index as u64);
                scope.spawn(move || repeat(target, random, attack));
            }
        }
        // One: it keeps a processor busy, and the others would have none.
        scope.spawn(move || mappings::attack(target));
    });
    Ok(())
}

/// The daemon refuses what it likes; the attack goes on.
fn repeat(target: &Target, mut random: Random, attack: fn(&Target, &mut Random)) -> Infallible {
    loop {
        attack(target, &mut random);
    }
}
