//! What this process may use, and users have shares of.

use os::process;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Resources {
    /// Descriptors that can still be opened.
    pub(super) descriptors: u64,
    /// Bytes of memory; 0 if that is not known.
    pub(super) memory_bytes: u64,
}

impl Resources {
    /// Those of this process, which may use so much memory.
    pub(super) fn of_process(memory_bytes: u64) -> Self {
        // If the kernel does not tell, about what the limit allows.
        let descriptors = process::descriptors_left().unwrap_or_else(process::descriptor_limit);
        Self { descriptors, memory_bytes }
    }

    /// So many descriptors, where nobody knows the memory.
    #[cfg(test)]
    pub(super) fn of_descriptors(descriptors: u64) -> Self {
        Self { descriptors, memory_bytes: 0 }
    }
}
