//! The sources of this machine, recorded through a service in this process.

mod contents;
mod decoded;
mod hostile;
mod kernels;
mod on_demand;
mod pages;
mod priority;
mod restores;
mod sessions;
mod uprobes;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use client::consumer::{Consumer, Waited};
use client::producer::Producer;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use protos::{
    DataSourceConfig, ProcessStatsConfig, SysStatsConfig, SystemInfoConfig, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource, TracePacket, TracePacketData,
};
use protozero::Message;

const FOREVER: Duration = Duration::MAX;

/// One test at a time: threads of this process are counted.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn config() -> TraceConfig {
    let period = Some(100);
    let sources = [
        DataSourceConfig {
            name: Some("linux.process_stats".into()),
            process_stats_config: Some(ProcessStatsConfig {
                scan_all_processes_on_start: Some(true),
                record_thread_names: Some(true),
                record_process_age: Some(true),
                record_process_runtime: Some(true),
                resolve_process_fds: Some(true),
                scan_smaps_rollup: Some(true),
                proc_stats_poll_ms: period,
                ..Default::default()
            }),
            ..Default::default()
        },
        DataSourceConfig {
            name: Some("linux.sys_stats".into()),
            sys_stats_config: Some(SysStatsConfig {
                meminfo_period_ms: period,
                vmstat_period_ms: period,
                stat_period_ms: period,
                buddyinfo_period_ms: period,
                diskstat_period_ms: period,
                psi_period_ms: period,
                cpuidle_period_ms: period,
                ..Default::default()
            }),
            ..Default::default()
        },
        DataSourceConfig {
            name: Some("linux.system_info".into()),
            system_info_config: Some(SystemInfoConfig {
                irq_names: Some(true),
                ..Default::default()
            }),
            ..Default::default()
        },
    ];
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(16 * 1024), ..Default::default() }],
        data_sources: sources
            .map(|config| TraceConfigDataSource { config: Some(config), ..Default::default() })
            .to_vec(),
        ..Default::default()
    }
}

/// What the packets have of this process and this machine.
#[derive(Debug, Default)]
struct Recorded {
    described: usize,
    measured: usize,
    ticks: usize,
    cpus: usize,
}

impl Recorded {
    fn add(&mut self, packet: &TracePacket) {
        let own_pid = i32::try_from(std::process::id()).expect("a process id");
        match &packet.data {
            Some(TracePacketData::ProcessTree(tree)) => {
                let own = tree.processes.iter().find(|p| p.pid == Some(own_pid));
                self.described +=
                    usize::from(own.is_some_and(|p| p.process_start_from_boot > Some(0)));
            }
            Some(TracePacketData::ProcessStats(stats)) => {
                let own = stats.processes.iter().find(|p| p.pid == Some(own_pid));
                self.measured += usize::from(own.is_some_and(|p| p.vm_size_kb > Some(0)));
            }
            Some(TracePacketData::SysStats(stats)) => {
                self.ticks += 1;
                assert!(stats.meminfo.len() > 10, "{stats:?}");
                assert!(!stats.vmstat.is_empty() && !stats.cpu_stat.is_empty(), "{stats:?}");
                assert!(stats.collection_end_timestamp >= packet.timestamp);
            }
            Some(TracePacketData::CpuInfo(info)) => self.cpus = info.cpus.len(),
            Some(TracePacketData::TraceStats(stats)) => {
                let buffer = &stats.buffer_stats[0];
                assert_eq!(buffer.trace_writer_packet_loss, Some(0));
                assert_eq!((buffer.chunks_overwritten, buffer.abi_violations), (Some(0), Some(0)));
            }
            _ => {}
        }
    }

    fn has_all(&self) -> bool {
        self.described >= 1 && self.measured >= 1 && self.ticks >= 1 && self.cpus >= 1
    }
}

#[test]
fn this_machine_is_recorded() {
    let _alone = alone();
    let service = service_config("test").expect("this machine is known");
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).expect("a service");
    let producer = Producer::attach(service.producer(), tracing_probes::options());
    let producer = producer.expect("a producer");
    tracing_probes::register_all(&producer, tracing_probes::FtraceOptions::default())
        .expect("names are free");
    assert!(producer.sync(FOREVER), "the service takes the registrations");

    let mut consumer = service.consumer();
    consumer.enable_tracing(&config(), None).expect("the service is there");
    let mut recorded = Recorded::default();
    let read = |consumer: &mut Consumer, recorded: &mut Recorded| {
        let read = consumer.read_buffers(FOREVER, |packet| {
            recorded.add(&TracePacket::decode(packet.bytes()).expect("a packet"));
            Ok(())
        });
        read.expect("it reads");
    };
    // A busy machine may need long for the first packets.
    while !recorded.has_all() {
        consumer.flush(FOREVER).expect("the sources flush");
        read(&mut consumer, &mut recorded);
    }
    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
    read(&mut consumer, &mut recorded);
    assert_eq!(recorded.described, 1, "once, by the scan: {recorded:?}");
}
