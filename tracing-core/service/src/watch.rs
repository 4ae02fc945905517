//! What simulations see of a service beside what it puts out: who is set up for what, and which session is whose.
//!
//! Compiled for tests and with the feature `testing`.

use super::core::Service;
use abi::ids::{BufferId, ClientId, FileId, SessionId};
use abi::time::BootTime;

/// A session from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// The user it belongs to.
    pub uid: u32,
    /// (least, most significant half). Clones share the first with their source.
    pub uuid: (i64, i64),
    /// As `TracingServiceState` spells it.
    pub state: &'static str,
    /// It waits for its file or a priority, and is not set up.
    pub is_being_made: bool,
    /// Nobody sees it any more; its file is not closed yet.
    pub freed: bool,
    /// Its buffers, in the order of the config.
    pub buffers: Vec<BufferId>,
}

impl Service {
    /// The number of the session that was made last.
    #[must_use]
    pub fn last_session(&self) -> SessionId {
        SessionId(self.last_session_id)
    }

    /// A session as it is now.
    #[must_use]
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        let session = self.sessions.get(&id)?;
        Some(SessionView {
            uid: session.uid,
            uuid: session.uuid,
            state: session.state.name(),
            is_being_made: self.is_being_made(id),
            freed: session.freed,
            buffers: session.buffers.clone(),
        })
    }

    /// The session that writes into a file.
    #[must_use]
    pub fn session_of_file(&self, file: FileId) -> Option<SessionId> {
        let of_file = |s: &&super::session::state::Session| {
            s.file.as_ref().is_some_and(|of_session| of_session.id == file)
        };
        self.sessions.values().find(of_file).map(|session| session.id)
    }

    /// The session that waits for a file to be created.
    #[must_use]
    pub fn session_waiting(&self, token: u64) -> Option<SessionId> {
        self.files_wanted.get(&token).copied()
    }

    /// The user of a connection that is an accepted producer.
    #[must_use]
    pub fn uid_of_producer(&self, client: ClientId) -> Option<u32> {
        let producer = self.producers.values().find(|producer| producer.client == client)?;
        Some(producer.peer.uid)
    }

    /// For each data source instance there is: the user of its producer, and the buffer it is to write to.
    pub fn set_up(&self) -> impl Iterator<Item = (u32, BufferId)> + '_ {
        self.sessions.values().flat_map(move |session| {
            session.instances.values().filter_map(move |instance| {
                let producer = self.producers.get(&instance.producer)?;
                Some((producer.peer.uid, *session.buffers.get(instance.buffer_index)?))
            })
        })
    }

    /// Copies so many bytes for clones in one turn from now on.
    pub fn set_clone_piece(&mut self, bytes: usize) {
        self.clone_piece_bytes = bytes;
    }

    /// When the next timer is due: [`poll_timeout`](Self::poll_timeout), but for clones that are copied.
    #[must_use]
    pub fn poll_timers(&self) -> Option<BootTime> {
        self.timers.next(&self.now)
    }

    /// Whether a clone is being copied.
    #[must_use]
    pub fn copies_clones(&self) -> bool {
        self.is_copying()
    }
}
