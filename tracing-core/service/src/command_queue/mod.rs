//! The commands of one producer, on their way to it.
//!
//! Commands come in bursts that a producer does not cause: a config may start thousands of its data sources, and a
//! consumer may ask for flushes as fast as it likes. So only a window of them is given to the transport. The others
//! wait here, in the form that takes the least, and go when the transport has sent the window. What waits is bounded by
//! the live sessions, whatever their consumers do, and no producer is disconnected for what a consumer does:
//!
//! - Only one flush waits, and one clear. An older flush joins the newer one, whatever their sessions: the producer
//!   acknowledges the newer one, and with it all older ones.
//! - What waits for a session that is gone is removed, but for the stops of instances that the producer knows.
//! - So is what waits for an instance that its session has lost, because its data source is not registered any more.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::commands;
use crate::effect_queue::EffectQueue;
use abi::flush_flags::FlushFlags;
use abi::ids::{CallId, ClientId, FlushId, InstanceId, SessionId};
use abi::map::{BlockSet, SortedMap};
use abi::shm::Region;

/// What a producer is told to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// To use shared memory: the bytes of a page, and the memory. Without memory the producer uses its own, with the
    /// pages that it chose if there are zero bytes.
    SetUpTracing(usize, Option<Region>),
    /// About a data source in a session.
    Instance(SessionId, InstanceId, Change),
    /// To commit what these have written.
    Flush(FlushId, InstancesBySession, FlushFlags),
    /// To forget the incremental state of these.
    Clear(InstancesBySession),
}

/// Instances, by their sessions.
pub(crate) type InstancesBySession = SortedMap<SessionId, Vec<InstanceId>>;

/// What happens to an instance.
#[derive(Debug)]
pub(crate) enum Change {
    /// The instance is set up, with this `DataSourceConfig`.
    SetUp(Bytes),
    /// The instance starts, with the same config.
    Start(Bytes),
    /// The instance stops.
    Stop,
    /// The instance stops, and no session waits for that.
    Remove,
}

/// What waits for removed instances is looked for when these are a quarter of what waits, and of this.
const REMOVED_MAX: usize = 2048;

/// Instances in one flush or clear: a command of them fits into a frame. It has at most 11 bytes for each.
const ASKED_MAX: usize = 8 * 1024;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct CommandQueue {
    /// The call by which the producer asked for commands, once it did.
    stream: Option<CallId>,
    waiting: VecDeque<Command>,
    window_bytes: usize,
    /// Given to the transport since it was last empty.
    in_flight_bytes: usize,
    /// Bytes that the transport held when it was given the last command.
    before_last_bytes: usize,
    /// How many instances were removed since it was last looked for them.
    removed: usize,
}

impl CommandQueue {
    /// A queue whose transport gets `window_bytes` at a time.
    pub(crate) fn new(window_bytes: usize) -> Self {
        Self {
            stream: None,
            waiting: VecDeque::new(),
            window_bytes,
            in_flight_bytes: 0,
            before_last_bytes: 0,
            removed: 0,
        }
    }

    /// Sends a command, now or later.
    pub(crate) fn push(&mut self, command: Command, out: &mut EffectQueue, client: ClientId) {
        if let Command::Instance(_, _, Change::Remove) = command {
            self.removed = self.removed.saturating_add(1);
            // Seldom enough that it costs little for each.
            if self.removed > self.waiting.len().max(REMOVED_MAX) / 4 {
                self.forget_removed();
            }
        }
        let command = self.join(command);
        self.waiting.push_back(command);
        self.send(out, client);
    }

    /// The place of the command that waits and that this one covers.
    fn find_covered(&self, command: &Command) -> Option<usize> {
        if !matches!(command, Command::Flush(..) | Command::Clear(_)) {
            // Thousands of others may wait.
            return None;
        }
        let is_alike = |older: &Command| {
            #[cfg(test)]
            tests::COMPARED.set(tests::COMPARED.get() + 1);
            matches!(
                (older, command),
                (Command::Flush(..), Command::Flush(..)) | (Command::Clear(_), Command::Clear(_))
            )
        };
        self.waiting.iter().rposition(is_alike)
    }

    /// Whether this command would wait until the producer asks for commands, beside those that do.
    pub(crate) fn adds_unasked(&self, command: &Command) -> bool {
        !self.is_asked() && self.find_covered(command).is_none()
    }

    /// Joins a command with the one that waits and that it covers.
    fn join(&mut self, command: Command) -> Command {
        let older = self.find_covered(&command).and_then(|at| self.waiting.remove(at));
        match (older, command) {
            (Some(Command::Flush(_, older, was)), Command::Flush(id, newer, flags)) => {
                // What is flushed for several reasons has none.
                let flags = if was == flags { flags } else { FlushFlags::default() };
                Command::Flush(id, union(older, newer), flags)
            }
            (Some(Command::Clear(older)), Command::Clear(newer)) => {
                Command::Clear(union(older, newer))
            }
            (_, command) => command,
        }
    }

    /// Starts the stream of commands. Returns the older one.
    pub(crate) fn open(
        &mut self,
        call: CallId,
        out: &mut EffectQueue,
        client: ClientId,
    ) -> Option<CallId> {
        let older = self.stream.replace(call);
        self.send(out, client);
        older
    }

    /// The transport has sent everything.
    pub(crate) fn handle_drained(&mut self, out: &mut EffectQueue, client: ClientId) {
        self.in_flight_bytes = 0;
        self.send(out, client);
    }

    /// Sends what the window takes.
    fn send(&mut self, out: &mut EffectQueue, client: ClientId) {
        let Some(stream) = self.stream else { return };
        while self.in_flight_bytes < self.window_bytes
            && let Some(command) = self.waiting.pop_front()
        {
            let mut sent = 0_usize;
            let mut send = |bytes: Vec<u8>, region: Option<Region>| {
                sent = sent.saturating_add(bytes.len());
                out.command(client, stream, bytes.into(), region);
            };
            match command {
                Command::SetUpTracing(page_bytes, region) => {
                    send(commands::setup_tracing(page_bytes), region);
                }
                Command::Instance(_, id, change) => {
                    let bytes = match change {
                        Change::SetUp(config) => commands::setup_data_source(id, &config),
                        Change::Start(config) => commands::start_data_source(id, &config),
                        Change::Stop | Change::Remove => commands::stop_data_source(id),
                    };
                    send(bytes, None);
                }
                Command::Flush(id, asked, flags) => {
                    // The number stands in the last one: its acknowledgement is that of all.
                    in_parts(asked, |part, is_last| {
                        let id = if is_last { id } else { FlushId::new(0) };
                        send(commands::flush(id, part, flags), None);
                    });
                }
                Command::Clear(asked) => in_parts(asked, |part, _| {
                    send(commands::clear_incremental_state(part), None);
                }),
            }
            self.before_last_bytes = self.in_flight_bytes;
            self.in_flight_bytes = self.in_flight_bytes.saturating_add(sent);
        }
    }

    /// A session is gone: what waits for it is removed, except the stops of instances that were set up.
    pub(crate) fn forget_session(&mut self, gone: SessionId) {
        self.forget_instances(|session, _| session == gone);
    }

    /// Removes what waits for instances that were removed.
    fn forget_removed(&mut self) {
        self.removed = 0;
        let removed: BlockSet<InstanceId> = self
            .waiting
            .iter()
            .filter_map(|command| match command {
                Command::Instance(_, id, Change::Remove) => Some(*id),
                _ => None,
            })
            .collect();
        self.forget_instances(|_, id| removed.contains(&id));
    }

    /// Removes what waits for these instances, except the stops of those that the producer knows.
    fn forget_instances(&mut self, is_gone: impl Fn(SessionId, InstanceId) -> bool) {
        let mut unknown = BlockSet::new();
        self.waiting.retain_mut(|command| match command {
            Command::Flush(_, asked, _) | Command::Clear(asked) => {
                for (session, instances) in asked.iter_mut() {
                    instances.retain(|id| !is_gone(*session, *id));
                }
                asked.retain(|_, instances| !instances.is_empty());
                true
            }
            Command::Instance(session, id, change) if is_gone(*session, *id) => match change {
                Change::SetUp(_) => {
                    unknown.insert(*id);
                    false
                }
                Change::Start(_) => false,
                Change::Stop | Change::Remove => !unknown.contains(id),
            },
            _ => true,
        });
    }

    /// Whether the producer has asked for commands.
    pub(crate) fn is_asked(&self) -> bool {
        self.stream.is_some()
    }

    /// How many wait until the producer asks for commands.
    pub(crate) fn len_unasked(&self) -> usize {
        if self.is_asked() { 0 } else { self.len() }
    }

    /// Bytes that the transport held when it was given the last command.
    pub(crate) fn in_flight_before_last(&self) -> usize {
        self.before_last_bytes
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// The instances of both, once each.
fn union(mut one: InstancesBySession, other: InstancesBySession) -> InstancesBySession {
    for (session, newer) in other {
        let instances = one.get_or_insert_with(session, Vec::new);
        if *instances != newer {
            instances.extend(newer);
            instances.sort_unstable();
            instances.dedup();
        }
    }
    one
}

/// Passes all instances on, in as few parts as possible; one at least.
fn in_parts(asked: InstancesBySession, mut take: impl FnMut(&[InstanceId], bool)) {
    let all: Vec<InstanceId> = asked.into_values().flatten().collect();
    let mut rest = &all[..];
    while let Some((part, behind)) = rest.split_at_checked(ASKED_MAX)
        && !behind.is_empty()
    {
        take(part, false);
        rest = behind;
    }
    take(rest, true);
}

#[cfg(test)]
mod tests;
