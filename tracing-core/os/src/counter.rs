//! The processor's counter of a fixed rate: the time stamp counter of x86-64 (TSC), the generic timer of AArch64.
#![allow(unsafe_code)]

/// The counter; none on other processors, and under Miri, which cannot read it.
///
/// The processor may read it a little before the instructions in front of it are done.
#[inline(always)]
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
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: Linux lets every process read this register, and it touches no memory and no flags.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        Some(ticks)
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    None
}

/// The time stamp counter of x86-64. A trace has it as a clock (`BUILTIN_CLOCK_TSC`), so that a reader can convert the
/// time stamps of processors and hypervisors.
#[must_use]
pub(super) fn tsc() -> Option<u64> {
    read().filter(|_| cfg!(target_arch = "x86_64"))
}
