//! The log of the service: what peers cause in it has limits, and nobody waits for its reader.
//!
//! ```text
//!   line about a peer ──> limiter: shares of peer, user, all ──> queue ──> thread ──> the program's function
//!                            └ no: counted, and told later         └ full: counted, and told later
//! ```
//!
//! A service with threads passes the lines to a thread: the function may write to a pipe that nobody reads. A service
//! without threads ([`embed`](crate::embed)) calls the function at once.

mod limiter;
mod writer;

pub(crate) use self::limiter::About;
use self::limiter::Limiter;
#[cfg(feature = "host")]
pub(crate) use self::writer::Lines;
pub use self::writer::Log;
use self::writer::Writer;
use crate::system::own_user::OwnUser;
use abi::ids::ClientId;
use service::LogLevel;

enum Target {
    Direct(Log),
    Thread(Writer),
}

impl Target {
    fn write(&mut self, level: LogLevel, text: &str) {
        match self {
            Self::Direct(log) => log(level, text),
            Self::Thread(writer) => writer.lines().write(level, text),
        }
    }
}

/// See the [module](self).
pub(crate) struct Logger {
    limiter: Limiter,
    target: Target,
}

impl Logger {
    /// Without `threads`, [`line`](Self::line) calls the function.
    pub(crate) fn new(log: Log, own: OwnUser, threads: bool) -> Self {
        let target = match threads {
            true => Target::Thread(Writer::new(log)),
            false => Target::Direct(log),
        };
        Self { limiter: Limiter::new(own), target }
    }

    /// Writes one line. `about` is who caused it.
    pub(crate) fn line(&mut self, now_ns: u64, about: About, level: LogLevel, text: &str) {
        if self.limiter.allow(now_ns, about) {
            self.target.write(level, text);
        }
    }

    /// Where other threads put lines. None without threads.
    #[cfg(feature = "host")]
    pub(crate) fn lines(&self) -> Option<&Lines> {
        match &self.target {
            Target::Direct(_) => None,
            Target::Thread(writer) => Some(writer.lines()),
        }
    }

    /// Tells how many lines were not written, when that is due.
    pub(crate) fn poll(&mut self, now_ns: u64) {
        for line in self.limiter.poll(now_ns) {
            self.target.write(LogLevel::Error, &line);
        }
    }

    /// When [`poll`](Self::poll) must be called, boot time in ns.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.limiter.due_ns()
    }

    /// A connection is over. Its user keeps what it has used up.
    pub(crate) fn forget(&mut self, client: ClientId) {
        self.limiter.forget(client);
    }

    /// Tells what was not written so far, and waits for the lines on their way, but not for long.
    pub(crate) fn finish(&mut self) {
        self.poll(u64::MAX);
        if let Target::Thread(writer) = &mut self.target {
            writer.finish();
        }
    }
}
