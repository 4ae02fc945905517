//! Categories of atrace, and the events of each that a mainline kernel can have. Facts from `atrace.cpp` of Android,
//! which defines the categories; `*` stands for the events of the schema in a group.

use crate::ftrace::schema;

/// A category of events of the kernel: a word of light mode, and of `atrace_categories`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtraceCategory {
    /// Its name, such as `sched`.
    pub name: &'static str,
    /// Group and name of each event that it asks for. No kernel has all of them.
    pub events: Vec<(&'static str, &'static str)>,
}

/// All categories, in the order of their names.
#[must_use]
pub fn ftrace_categories() -> Vec<FtraceCategory> {
    let of_group = |group: &'static str, names: &'static [&'static str]| {
        let of_schema = schema::EVENTS.iter().filter(move |event| event.group() == group);
        let of_schema = of_schema.map(schema::Event::name).filter(move |_| *names == *ALL);
        let named = names.iter().copied().filter(move |_| *names != *ALL);
        named.chain(of_schema).map(move |name| (group, name))
    };
    let events = |groups: &'static [Group]| {
        groups.iter().flat_map(|(group, names)| of_group(group, names)).collect()
    };
    let category = |(name, groups): &Category| FtraceCategory { name, events: events(groups) };
    CATEGORIES.iter().map(category).collect()
}

/// The events of a category: groups, with the names in each. Empty for a category that is not known.
pub(super) fn events(category: &str) -> &'static [Group] {
    CATEGORIES.iter().find(|(name, _)| *name == category).map_or(&[], |(_, events)| events)
}

const ALL: &[&str] = &["*"];

/// Group, names.
type Group = (&'static str, &'static [&'static str]);
/// Name, events.
type Category = (&'static str, &'static [Group]);

const CATEGORIES: &[Category] = &[
    (
        "binder_driver",
        &[(
            "binder",
            &[
                "binder_transaction",
                "binder_transaction_received",
                "binder_transaction_alloc_buf",
                "binder_set_priority",
            ],
        )],
    ),
    ("binder_lock", &[("binder", &["binder_lock", "binder_locked", "binder_unlock"])]),
    ("camera", &[("lwis", ALL)]),
    (
        "disk",
        &[
            ("block", &["block_bio_queue", "block_bio_complete"]),
            (
                "ext4",
                &[
                    "ext4_da_write_begin",
                    "ext4_da_write_end",
                    "ext4_sync_file_enter",
                    "ext4_sync_file_exit",
                ],
            ),
            (
                "f2fs",
                &[
                    "f2fs_sync_file_enter",
                    "f2fs_sync_file_exit",
                    "f2fs_write_begin",
                    "f2fs_write_end",
                    "f2fs_iostat",
                    "f2fs_iostat_latency",
                ],
            ),
            ("ufs", &["ufshcd_command"]),
        ],
    ),
    (
        "freq",
        &[
            (
                "power",
                &[
                    "cpu_frequency",
                    "gpu_frequency",
                    "clock_set_rate",
                    "clock_enable",
                    "clock_disable",
                    "cpu_frequency_limits",
                    "suspend_resume",
                ],
            ),
            ("clk", &["clk_set_rate", "clk_enable", "clk_disable"]),
            ("cpuhp", &["cpuhp_enter", "cpuhp_exit", "cpuhp_pause"]),
            ("msm_bus", ALL),
        ],
    ),
    (
        "gfx",
        &[("mdss", ALL), ("sde", ALL), ("dpu", ALL), ("mali", ALL), ("g2d", ALL), ("panel", ALL)],
    ),
    ("i2c", &[("i2c", ALL)]),
    ("idle", &[("power", &["cpu_idle"])]),
    ("ion", &[("kmem", &["ion_alloc_buffer_start"])]),
    ("irq", &[("irq", ALL), ("ipi", ALL)]),
    ("irqoff", &[("preemptirq", &["irq_enable", "irq_disable"])]),
    ("load", &[("cpufreq_interactive", ALL)]),
    ("membus", &[("memory_bus", ALL)]),
    (
        "memory",
        &[
            ("kmem", &["rss_stat", "ion_heap_grow", "ion_heap_shrink"]),
            ("ion", &["ion_stat"]),
            ("mm_event", &["mm_event_record"]),
            ("dmabuf_heap", &["dma_heap_stat"]),
            ("gpu_mem", &["gpu_mem_total"]),
        ],
    ),
    (
        "memreclaim",
        &[
            (
                "vmscan",
                &[
                    "mm_vmscan_direct_reclaim_begin",
                    "mm_vmscan_direct_reclaim_end",
                    "mm_vmscan_memcg_reclaim_begin",
                    "mm_vmscan_memcg_reclaim_end",
                    "mm_vmscan_kswapd_wake",
                    "mm_vmscan_kswapd_sleep",
                ],
            ),
            ("lowmemorykiller", ALL),
        ],
    ),
    ("mmc", &[("mmc", ALL)]),
    ("pagecache", &[("filemap", ALL)]),
    ("preemptoff", &[("preemptirq", &["preempt_enable", "preempt_disable"])]),
    ("regulators", &[("regulator", ALL)]),
    (
        "sched",
        &[
            (
                "sched",
                &[
                    "sched_switch",
                    "sched_waking",
                    "sched_blocked_reason",
                    "sched_cpu_hotplug",
                    "sched_pi_setprio",
                    "sched_process_exit",
                ],
            ),
            ("cgroup", ALL),
            ("oom", &["oom_score_adj_update"]),
            ("task", &["task_rename", "task_newtask"]),
            ("systrace", ALL),
            ("scm", ALL),
        ],
    ),
    ("sync", &[("dma_fence", ALL), ("fence", ALL), ("sync", ALL)]),
    ("thermal", &[("thermal", &["thermal_temperature", "cdev_update"])]),
    ("workq", &[("workqueue", ALL)]),
];
