//! The instances of a data source, as the thread of the producer sees them: it admits them, and hands their orders to
//! the thread that serves them all.

use std::io;

use abi::ids::InstanceId;
use abi::map::SortedMap;
use abi::sync::Arc;
use client::data_source::{Ack, Instance};
use client::write::BufferExhaustedPolicy;
use protos::DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy;

use crate::boost::{Boosts, Raised};
use crate::inbox::{Inbox, Key, Refused};

/// See the [module](self). Its end tells the thread to finish.
#[derive(Debug)]
pub(crate) struct Instances<W> {
    /// That of the thread, once there is one.
    inbox: Option<Arc<Inbox<W>>>,
    boosts: Arc<Boosts>,
    admitted: SortedMap<InstanceId, Admitted>,
}

#[derive(Debug)]
struct Admitted {
    key: Key,
    /// If it asks for a priority, and the system grants it.
    raised: Option<Raised>,
}

impl<W> Instances<W> {
    pub(crate) fn new(boosts: Arc<Boosts>) -> Self {
        Self { inbox: None, boosts, admitted: SortedMap::new() }
    }

    /// Takes an instance in. `spawn` starts the thread if there is none.
    ///
    /// # Errors
    /// Why the instance records nothing.
    pub(crate) fn admit(
        &mut self,
        instance: &Instance,
        spawn: impl FnOnce(Arc<Inbox<W>>) -> io::Result<()>,
    ) -> Result<(&Inbox<W>, Key), String> {
        let session = session(instance);
        let of_thread = self.inbox.as_ref().map(|inbox| inbox.admit(session));
        let key = match of_thread {
            Some(Ok(key)) => key,
            Some(Err(refused @ (Refused::Session | Refused::All))) => {
                return Err(refused.to_string());
            }
            Some(Err(Refused::Gone)) | None => {
                let inbox: Arc<Inbox<W>> = Arc::default();
                let key = inbox.admit(session).map_err(|refused| refused.to_string())?;
                spawn(Arc::clone(&inbox)).map_err(|error| format!("no thread: {error}"))?;
                self.inbox = Some(inbox);
                key
            }
        };
        let raised = self.boosts.raise(instance.config());
        self.admitted.insert(instance.id(), Admitted { key, raised });
        let inbox = self.inbox.as_deref().ok_or("no thread")?;
        Ok((inbox, key))
    }

    // An acknowledgement of an instance that was refused is dropped, which acknowledges.

    pub(crate) fn flush(&self, instance: &Instance, done: Ack) {
        if let Some((inbox, key)) = self.find(instance) {
            inbox.flush(key, done);
        }
    }

    pub(crate) fn clear(&self, instance: &Instance) {
        if let Some((inbox, key)) = self.find(instance) {
            inbox.clear(key);
        }
    }

    pub(crate) fn stop(&mut self, instance: &Instance, done: Ack) {
        let Some(Admitted { key, raised }) = self.admitted.remove(&instance.id()) else { return };
        if let Some(inbox) = &self.inbox {
            // What it has recorded last is handed over with its priority.
            inbox.stop(key, Ack::new(move || drop((raised, done))));
        }
    }

    /// The inbox that an instance is in, with its key there.
    pub(crate) fn find(&self, instance: &Instance) -> Option<(&Arc<Inbox<W>>, Key)> {
        Some((self.inbox.as_ref()?, self.admitted.get(&instance.id())?.key))
    }

    #[cfg(test)]
    pub(crate) fn inbox(&self) -> Option<Arc<Inbox<W>>> {
        self.inbox.clone()
    }
}

impl<W> Drop for Instances<W> {
    fn drop(&mut self) {
        if let Some(inbox) = &self.inbox {
            inbox.finish();
        }
    }
}

/// The session of an instance.
pub(crate) fn session(instance: &Instance) -> u64 {
    instance.config().tracing_session_id.unwrap_or(0)
}

/// What the writer of an instance does when shared memory is full. Stalling loses nothing while the service keeps up;
/// dropping frees the thread if it hangs. A config may choose to drop at once. It may not choose to end the program,
/// which has other sessions.
pub(crate) fn policy(instance: &Instance) -> BufferExhaustedPolicy {
    match instance.config().buffer_exhausted_policy {
        Some(ConfiguredPolicy::BUFFER_EXHAUSTED_DROP) => BufferExhaustedPolicy::Drop,
        _ => BufferExhaustedPolicy::StallThenDrop,
    }
}

/// Abandons an inbox when its thread ends, also by a panic: nobody then waits for an acknowledgement.
pub(crate) struct Served<'a, W>(pub(crate) &'a Inbox<W>);

impl<W> Drop for Served<'_, W> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
