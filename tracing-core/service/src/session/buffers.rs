//! The trace buffers of a session: their numbers and their memory.

use protos::{
    TraceConfigBufferConfig, TraceConfigBufferConfigExperimentalMode as Mode,
    TraceConfigBufferConfigFillPolicy as FillPolicy,
};

use crate::buffer::{Policy, TraceBuffer, Version};
use crate::core::Service;
use abi::ids::{BufferId, SessionId};

/// Sizes are rounded up to 4 KiB, and offsets have 32 bits.
const V2_KB_MAX: u64 = u32::MAX as u64 / 4096 * 4;

/// A buffer as a config asks for it.
///
/// # Errors
/// One line for the user: its size is none, or there is no memory for it.
fn make_buffer(config: &TraceConfigBufferConfig) -> Result<TraceBuffer, String> {
    let bytes = u64::from(config.size_kb.unwrap_or(0)) * 1024;
    if bytes == 0 || bytes > u64::from(u32::MAX) {
        let max = u32::MAX / 1024;
        return Err(format!("Invalid buffer sizes: {bytes} bytes, size_kb is from 1 to {max}"));
    }
    let policy = match config.fill_policy {
        Some(FillPolicy::DISCARD) => Policy::Discard,
        _ => Policy::Ring,
    };
    let version = match config.experimental_mode {
        Some(Mode::TRACE_BUFFER_V2) => Version::V2,
        _ => Version::V1,
    };
    if version == Version::V2 && bytes > V2_KB_MAX * 1024 {
        return Err(format!(
            "Invalid buffer sizes: {bytes} bytes, size_kb of TRACE_BUFFER_V2 is from 1 to {V2_KB_MAX}"
        ));
    }
    TraceBuffer::new(bytes as usize, policy, version)
        .ok_or_else(|| format!("failed to allocate a trace buffer of {bytes} bytes (OOM)"))
}

impl Service {
    /// A fresh buffer `id`, as a config asks for it.
    ///
    /// # Errors
    /// As [`make_buffer`].
    pub(crate) fn fresh_buffer(
        &self,
        id: BufferId,
        config: &TraceConfigBufferConfig,
    ) -> Result<TraceBuffer, String> {
        let regions = &self.config.regions;
        let mut buffer = make_buffer(config)?;
        if let Some(fault_in) = regions.fault_in() {
            buffer.set_fault_in(fault_in);
        }
        Ok(regions.wrap_buffer(id, buffer))
    }

    /// The next number after the last one given out that is free.
    ///
    /// # Errors
    /// When all are taken.
    pub(crate) fn next_buffer_id(&mut self) -> Result<BufferId, String> {
        let mut free = self.last_buffer_id;
        let id = (0..u16::MAX).find_map(|_| {
            free = if free == u16::MAX { 1 } else { free + 1 };
            (!self.buffers.contains_key(&BufferId(free))).then_some(BufferId(free))
        });
        let id = id.ok_or("too many trace buffers in the service")?;
        self.last_buffer_id = id.0;
        Ok(id)
    }

    /// Makes all buffers that the config of a session asks for. After an error some may be there.
    ///
    /// # Errors
    /// Check 29: one line for the user.
    pub(crate) fn allocate_buffers(&mut self, id: SessionId) -> Result<(), String> {
        let Some(session) = self.sessions.get(&id) else { return Ok(()) };
        for config in session.config.buffers.clone() {
            let buffer_id = self.next_buffer_id()?;
            let buffer = self.fresh_buffer(buffer_id, &config)?;
            self.buffers.insert(buffer_id, buffer);
            if let Some(session) = self.sessions.get_mut(&id) {
                session.buffers.push(buffer_id);
            }
        }
        Ok(())
    }
}
