//! What the operator of a machine decides, and no config of a session changes.

/// Settings of `linux.ftrace`. The default is that of upstream's program, except that addresses stay hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FtraceOptions {
    /// Addresses of the kernel are recorded as numbers, as upstream does for all but some. Without it they become
    /// indices into the kernel symbols of the session, so that a trace does not tell where the kernel is.
    pub shows_pointers: bool,
    /// `kernel.kptr_restrict` is never lowered. Without it, it is lowered for the moment in which a session that
    /// wants kernel symbols reads `/proc/kallsyms`, if that shows no addresses; all users see them meanwhile.
    pub keeps_kptr_restrict: bool,
}
