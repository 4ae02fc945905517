//! The time stamp counter: cycles of a fixed rate on x86-64, which traces carry as a clock of their own
//! (`BUILTIN_CLOCK_TSC`), so that what a processor or a hypervisor stamped with it finds its place.
#![allow(unsafe_code)]

/// The counter; none on other processors, and under Miri, which cannot read it.
#[must_use]
pub(super) fn read() -> Option<u64> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY:
        // - RDTSC belongs to the basic instructions of x86-64, so every processor has it;
        // - it reads a register of the processor and touches no memory. Where a process forbade it to itself
        //   (PR_SET_TSC) it ends that process by a signal, and nothing follows.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    None
}
