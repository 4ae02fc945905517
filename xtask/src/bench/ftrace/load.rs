//! What the kernel records while the daemons are measured.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::time::{Duration, Instant};

/// A load, of threads of this process.
#[derive(Clone, Copy)]
pub enum Load {
    /// Two pairs of threads wake each other through pipes: each hop is a waking and one or two switches.
    PingPong { hops: u32 },
    /// Two threads make system calls, as fast as they can.
    Calls { count: u32 },
    /// Two threads make so many calls in each millisecond: with 250, a million events a second.
    Paced { milliseconds: u32, calls_per_ms: u32 },
}

impl Load {
    /// Runs it to its end.
    pub fn run(self) {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                match self {
                    Self::PingPong { hops } => {
                        let (Ok((back, answer)), Ok((take, ask))) = (pipe(), pipe()) else {
                            return;
                        };
                        scope.spawn(move || hop(take, answer, hops / 4));
                        scope.spawn(move || {
                            let mut ask = ask;
                            if ask.write_all(b"x").is_ok() {
                                hop(back, ask, hops / 4);
                            }
                        });
                    }
                    Self::Calls { count } => _ = scope.spawn(move || calls(count / 2)),
                    Self::Paced { milliseconds, calls_per_ms } => {
                        scope.spawn(move || paced(milliseconds, calls_per_ms));
                    }
                }
            }
        });
    }
}

/// Passes a byte on, so many times.
fn hop(mut from: PipeReader, mut to: PipeWriter, hops: u32) {
    let mut byte = [0];
    for _ in 0..hops {
        // The other side has had enough.
        if from.read_exact(&mut byte).is_err() || to.write_all(&byte).is_err() {
            return;
        }
    }
}

fn calls(count: u32) {
    for _ in 0..count {
        std::hint::black_box(std::os::unix::process::parent_id());
    }
}

fn paced(milliseconds: u32, calls_per_ms: u32) {
    let begin = Instant::now();
    for ms in 1..=milliseconds {
        calls(calls_per_ms);
        let due = Duration::from_millis(ms.into());
        // A pace, not a wait for something.
        while let Some(left) = due.checked_sub(begin.elapsed()) {
            std::thread::park_timeout(left);
        }
    }
}
