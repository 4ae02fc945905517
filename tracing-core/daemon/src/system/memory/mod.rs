//! Memory of this process: how the system provides its pages.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

/// Makes the system provide all pages within `memory` in one call, and not one by one at their first write. Their
/// contents do not change. A system without that call provides them later.
pub fn fault_in(memory: &mut [MaybeUninit<u8>]) {
    let page = os::shm::page_bytes();
    let to_page = memory.as_ptr().addr().wrapping_neg() % page;
    let Some(pages) = memory.get_mut(to_page..) else { return };
    let len = pages.len() - pages.len() % page;
    let start = pages.as_mut_ptr().cast::<libc::c_void>();
    // SAFETY:
    // - the `len` bytes are whole pages within `memory`, which is borrowed for writing: alive, and ours alone;
    // - the advice changes no byte, and takes nothing away.
    let _ = unsafe { libc::madvise(start, len, libc::MADV_POPULATE_WRITE) };
}

#[cfg(test)]
mod tests;
