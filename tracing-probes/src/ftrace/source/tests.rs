use std::sync::mpsc::channel;

use abi::ids::InstanceId;
use abi::sync::Arc;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::write::BufferExhaustedPolicy;
use protos::{DataSourceConfig, DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy};

use super::FtraceSource;
use crate::instances::policy;
use crate::tests::World;

fn instance(id: u64, policy: Option<ConfiguredPolicy>) -> Instance {
    let config = DataSourceConfig { buffer_exhausted_policy: policy, ..Default::default() };
    Instance::detached(InstanceId::new(id), config)
}

/// A machine without tracefs: every instance is refused and answered, and the end waits for nothing.
#[test]
fn without_tracefs_all_is_answered() {
    let world = World::new();
    let mut source = FtraceSource::new(&world.root, &Arc::default());
    let (done, all_done) = channel::<()>();
    let ack = || {
        let done = done.clone();
        Ack::new(move || drop(done))
    };
    let instances: Vec<_> = (0..20).map(|id| instance(id, None)).collect();
    for instance in &instances {
        source.start(instance);
        source.flush(instance, &FlushRequest::default(), ack());
        source.stop(instance, ack());
    }
    drop(source);
    drop(done);
    assert!(all_done.recv().is_err(), "all acknowledgements are gone");
    let log = world.log();
    assert!(log.iter().any(|line| line.contains("linux.ftrace cannot read tracefs")), "{log:?}");
}

#[test]
fn no_config_ends_the_program() {
    let abort = instance(1, Some(ConfiguredPolicy::BUFFER_EXHAUSTED_STALL_THEN_ABORT));
    assert_eq!(policy(&abort), BufferExhaustedPolicy::StallThenDrop);
    let drop = instance(1, Some(ConfiguredPolicy::BUFFER_EXHAUSTED_DROP));
    assert_eq!(policy(&drop), BufferExhaustedPolicy::Drop);
}
