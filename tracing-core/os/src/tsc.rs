//! The time stamp counter of x86-64: cycles of a fixed rate. A trace has it as a clock (`BUILTIN_CLOCK_TSC`), so that
//! a reader can convert the time stamps of processors and hypervisors.
#![allow(unsafe_code)]

/// The counter; none on other processors, and under Miri, which cannot read it.
#[must_use]
pub(super) fn read() -> Option<u64> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY:
        // - RDTSC belongs to the basic instructions of x86-64, so every processor has it;
        // - it reads a register of the processor and touches no memory. A process can forbid it for itself
        //   (PR_SET_TSC); then the instruction ends the process by a signal.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    None
}
