//! System calls, by seccomp.

/// Restricts all threads of this process, and returns how many calls are left.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn restrict() -> Result<usize, String> {
    filter::restrict().map_err(|error| error.to_string())
}

/// The numbers of the calls are known for two processors only.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn restrict() -> Result<usize, String> {
    Err("traced has no list of calls for this processor".to_owned())
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter {
    use std::collections::BTreeMap;

    use libc::c_long;
    use seccompiler::SeccompCmpArgLen::{Dword, Qword};
    use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
        SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    };

    #[cfg(target_arch = "x86_64")]
    const ARCH: TargetArch = TargetArch::x86_64;
    #[cfg(target_arch = "aarch64")]
    const ARCH: TargetArch = TargetArch::aarch64;

    /// Calls that are left whatever their arguments are. Those that a C library makes in place of another one are
    /// here, too.
    const CALLS: &[&[c_long]] = &[
        // Connections of others, and their descriptors. It makes none: what serves root could do what it asks for.
        &[libc::SYS_accept4, libc::SYS_recvmsg, libc::SYS_recvfrom, libc::SYS_sendmsg],
        &[libc::SYS_shutdown, libc::SYS_getsockopt, libc::SYS_setsockopt, libc::SYS_close],
        &[libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_dup, libc::SYS_dup3],
        &[libc::SYS_pipe2],
        // Waiting.
        &[libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_ppoll],
        &[libc::SYS_eventfd2, libc::SYS_timerfd_create, libc::SYS_timerfd_settime],
        &[libc::SYS_futex, libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_sched_yield],
        &[libc::SYS_restart_syscall],
        // Files: landlock says which.
        &[libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev],
        &[
            libc::SYS_pwritev2,
            libc::SYS_pread64,
            libc::SYS_pwrite64,
            libc::SYS_lseek,
            libc::SYS_ftruncate,
        ],
        &[libc::SYS_fallocate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range],
        &[libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_splice, libc::SYS_flock],
        &[libc::SYS_statx, libc::SYS_fstat, libc::SYS_newfstatat],
        &[libc::SYS_fstatfs, libc::SYS_readlinkat, libc::SYS_getdents64, libc::SYS_getcwd],
        &[libc::SYS_unlinkat, libc::SYS_faccessat],
        // Memory; pages with code are refused below.
        &[libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk, libc::SYS_madvise],
        &[libc::SYS_memfd_create, libc::SYS_membarrier, libc::SYS_mincore],
        // Threads, their names, priorities and users.
        &[libc::SYS_exit, libc::SYS_exit_group, libc::SYS_set_robust_list, libc::SYS_rseq],
        &[libc::SYS_gettid, libc::SYS_getpid, libc::SYS_sched_getaffinity, libc::SYS_sigaltstack],
        &[libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn],
        &[libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_sched_getscheduler],
        &[libc::SYS_sched_setscheduler, libc::SYS_sched_getparam, libc::SYS_sched_setparam],
        &[libc::SYS_sched_getattr, libc::SYS_sched_setattr, libc::SYS_set_tid_address],
        &[libc::SYS_sched_get_priority_min, libc::SYS_sched_get_priority_max],
        &[libc::SYS_setgroups, libc::SYS_setresgid, libc::SYS_setresuid, libc::SYS_capget],
        &[libc::SYS_geteuid, libc::SYS_getuid, libc::SYS_getegid, libc::SYS_getgid],
        // Clocks and facts of the machine.
        &[libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday],
        &[libc::SYS_getrandom, libc::SYS_uname, libc::SYS_sysinfo],
        &[libc::SYS_getrusage, libc::SYS_getcpu],
        // Answered with "there is no such call" before it comes here.
        &[libc::SYS_clone3],
    ];

    /// Old forms of calls above, which only this processor has.
    #[cfg(target_arch = "x86_64")]
    const OLD_CALLS: &[c_long] = &[
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_access,
        libc::SYS_readlink,
        libc::SYS_unlink,
        libc::SYS_poll,
        libc::SYS_epoll_wait,
        libc::SYS_dup2,
        libc::SYS_time,
    ];
    #[cfg(target_arch = "aarch64")]
    const OLD_CALLS: &[c_long] = &[];

    /// All flags of `clone` that make a namespace.
    const NAMESPACES: i32 = libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWUTS;

    /// `prctl(PR_SET_VMA, ...)`, by which C libraries name their memory.
    const PR_SET_VMA: i32 = 0x5356_4d41;

    /// What a descriptor is asked: whether calls on it wait, how much there is to read, what its peer has not
    /// received, whether it is a terminal. The C libraries have different types for them.
    const FIONBIO: u64 = 0x5421;
    const FIONREAD: u64 = 0x541b;
    const TCGETS: u64 = 0x5401;
    const SIOCOUTQ: u64 = 0x5411;

    /// The bits of a mode by which a program gets the rights of its owner, and their like.
    const SPECIAL_MODES: i32 = 0o7000;

    /// The type of a socket, without its flags.
    const SOCKET_TYPES: i32 = 0xf;

    /// What is done with a descriptor: copies, flags, locks of files, sizes of pipes, seals. No signals to its owner.
    const FCNTLS: &[i32] = &[
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_OFD_GETLK,
        libc::F_OFD_SETLK,
        libc::F_OFD_SETLKW,
        libc::F_GETPIPE_SZ,
        libc::F_SETPIPE_SZ,
        libc::F_ADD_SEALS,
        libc::F_GET_SEALS,
    ];

    /// A call that is left if one of its arguments has one of these values.
    struct Limited {
        call: c_long,
        /// Its position.
        argument: u8,
        /// `Dword` for a number, of which the kernel reads the lower half of the register; `Qword` for a pointer.
        len: SeccompCmpArgLen,
        comparison: SeccompCmpOp,
        values: Vec<u64>,
    }

    fn limited() -> Vec<Limited> {
        let bits = |mask: i32| MaskedEq(mask.cast_unsigned().into());
        let values = |values: &[i32]| values.iter().map(|v| v.cast_unsigned().into()).collect();
        let pid = u64::from(std::process::id());
        let number = |call, argument, comparison, values| Limited {
            call,
            argument,
            len: Dword,
            comparison,
            values,
        };
        vec![
            // No memory becomes code.
            number(libc::SYS_mmap, 2, bits(libc::PROT_EXEC), vec![0]),
            number(libc::SYS_mprotect, 2, bits(libc::PROT_EXEC), vec![0]),
            // No file becomes a program that runs as its owner.
            number(libc::SYS_fchmod, 1, bits(SPECIAL_MODES), vec![0]),
            number(libc::SYS_openat, 3, bits(SPECIAL_MODES), vec![0]),
            #[cfg(target_arch = "x86_64")]
            number(libc::SYS_open, 2, bits(SPECIAL_MODES), vec![0]),
            // Nothing is sent to an address: a datagram could reach the socket of any service of root.
            number(libc::SYS_socketpair, 1, bits(SOCKET_TYPES), values(&[libc::SOCK_STREAM])),
            Limited {
                call: libc::SYS_sendto,
                argument: 4,
                len: Qword,
                comparison: Eq,
                values: vec![0],
            },
            number(libc::SYS_fcntl, 1, Eq, values(FCNTLS)),
            number(libc::SYS_clone, 0, bits(NAMESPACES), vec![0]),
            // Threads that close sockets have descriptors of their own.
            number(libc::SYS_unshare, 0, Eq, values(&[libc::CLONE_FILES])),
            number(libc::SYS_prctl, 0, Eq, values(&[libc::PR_SET_NAME, PR_SET_VMA])),
            // Of this process alone; the second one is `abort`.
            number(libc::SYS_prlimit64, 0, Eq, vec![0, pid]),
            number(libc::SYS_tgkill, 0, Eq, vec![pid]),
            number(libc::SYS_ioctl, 1, Eq, vec![FIONBIO, FIONREAD, TCGETS, SIOCOUTQ]),
        ]
    }

    pub(super) fn restrict() -> Result<usize, Error> {
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
        let calls = CALLS.iter().copied().chain([OLD_CALLS]).flatten();
        rules.extend(calls.map(|&call| (call, Vec::new())));
        for Limited { call, argument, len, comparison, values } in limited() {
            let rule = |value| {
                let comparison = comparison.clone();
                let condition = SeccompCondition::new(argument, len.clone(), comparison, value)?;
                SeccompRule::new(vec![condition])
            };
            let one_each: Result<Vec<SeccompRule>, BackendError> =
                values.into_iter().map(rule).collect();
            rules.insert(call, one_each?);
        }
        let count = rules.len();
        // The flags of `clone3` lie in memory, which a filter cannot read. Without it, C libraries call `clone`.
        let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        apply(clone3, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()))?;
        apply(rules, SeccompAction::Errno(libc::EPERM.cast_unsigned()), SeccompAction::Allow)?;
        Ok(count)
    }

    fn apply(
        rules: BTreeMap<c_long, Vec<SeccompRule>>,
        otherwise: SeccompAction,
        matching: SeccompAction,
    ) -> Result<(), Error> {
        let filter = SeccompFilter::new(rules, otherwise, matching, ARCH)?;
        let program: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter_all_threads(&program)
    }
}
