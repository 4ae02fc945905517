//! Sessions of consumers, over sockets and without.

use std::io::{Read, Seek};

use super::*;

#[test]
fn a_config_that_fits_into_no_request_is_an_error() {
    let daemon = RunningDaemon::start("long");
    for mut consumer in daemon.consumers() {
        let config = TraceConfig {
            unique_session_name: Some("x".repeat(abi::limits::IPC_ARGS_BYTES_MAX)),
            ..one_buffer()
        };
        let refused = consumer.enable_tracing(&config, None);
        assert!(matches!(refused, Err(ConsumerError::TooLong { .. })), "{refused:?}");
        consumer.enable_tracing(&one_buffer(), None).unwrap();
    }
}

/// A transport of the program may carry connections of other users, for whom this process cannot act.
#[test]
fn a_consumer_of_another_user_has_no_file_created() {
    let mut engine = engine();
    let own = os::process::effective_uid();
    for (uid, is_created) in [(own + 1, false), (own, true)] {
        let path = std::env::temp_dir().join(format!("serve-{}-{uid}", std::process::id()));
        let client = engine.next_client();
        let link = Link::Custom(Box::new(HostLink::new(PortKind::Consumer)));
        let peer = Some(service::Peer { uid, ..service::Peer::default() });
        engine.add_connection(client, PortKind::Consumer, link, PeerUser::Local(uid), peer);
        let config = TraceConfig {
            write_into_file: Some(true),
            output_path: Some(path.to_str().unwrap().into()),
            ..one_buffer()
        };
        enable(&mut engine, client, config, None);
        assert_eq!(path.exists(), is_created, "{uid}");
        let _ = std::fs::remove_file(&path);
    }
}

#[test]
fn a_service_that_is_idle_ends_at_once() {
    engine().finish(|| panic!("there is nothing to wait for"));
}

/// A pipe that nobody reads: the end is not delayed for longer than the program likes.
#[test]
fn a_service_ends_with_a_file_that_takes_nothing() {
    let wake = os::poll::Wake::new().unwrap();
    let mut engine =
        Engine::new(service_config("test").unwrap(), Box::new(|_, _| {}), wake.clone(), true);
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let client = engine.next_client();
    let link = Link::Custom(Box::new(HostLink::new(PortKind::Consumer)));
    engine.add_connection(
        client,
        PortKind::Consumer,
        link,
        PeerUser::Local(0),
        Some(service::Peer::default()),
    );
    // The packet with the config is more than a pipe takes.
    let source =
        DataSourceConfig { legacy_config: Some("x".repeat(100_000)), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    let config =
        TraceConfig { write_into_file: Some(true), data_sources: vec![source], ..one_buffer() };
    let file = engine.files.adopt(writer);
    enable(&mut engine, client, config, Some(file));
    let mut waits = 0;
    engine.finish(|| {
        waits += 1;
        assert!(waits <= 1, "it waits although it was told not to");
        false
    });
    assert_eq!(waits, 1);
    drop(reader);
}

#[test]
fn a_session_from_start_to_end() {
    let daemon = RunningDaemon::start("session");
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&one_buffer(), None).unwrap();
        assert_eq!(consumer.wait(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
        consumer.flush(FOREVER).unwrap();
        consumer.get_trace_stats().unwrap();
        consumer.disable_tracing().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
        let mut trace = Vec::new();
        let summary = consumer.read_into(&mut trace, FOREVER).unwrap();
        // The service's own packets at least: clocks, config, uuid, stats.
        assert!(summary.packets > 2, "{summary:?}");
        let packets = protos::TraceReader::new(&trace).iter().filter(Result::is_ok).count();
        assert_eq!(packets as u64, summary.packets);
        consumer.free_buffers().unwrap();
    }
}

#[test]
fn a_config_the_service_refuses() {
    let daemon = RunningDaemon::start("refused");
    let config = TraceConfig { duration_ms: Some(u32::MAX), ..one_buffer() };
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&config, None).unwrap();
        match consumer.wait(Some(FOREVER)) {
            Err(ConsumerError::Service(text)) => assert!(!text.is_empty()),
            other => panic!("{other:?}"),
        }
        assert!(matches!(consumer.get_trace_stats(), Err(ConsumerError::Rejected(_))));
    }
}

#[test]
fn a_trace_goes_into_the_file_that_came_along() {
    let daemon = RunningDaemon::start("file");
    for (index, mut consumer) in daemon.consumers().into_iter().enumerate() {
        let path = daemon.directory.join(format!("trace-{index}"));
        let mut file =
            std::fs::File::options().create_new(true).read(true).write(true).open(path).unwrap();
        let config = TraceConfig { write_into_file: Some(true), ..one_buffer() };
        let fd = file.try_clone().unwrap().into();
        consumer.enable_tracing(&config, Some(fd)).unwrap();
        consumer.disable_tracing().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
        file.rewind().unwrap();
        let mut trace = Vec::new();
        file.read_to_end(&mut trace).unwrap();
        assert!(protos::TraceReader::new(&trace).iter().all(|packet| packet.is_ok()));
        assert!(!trace.is_empty());
    }
}

/// A file on a disk that is full after so many bytes, a multiple of 4096: memory that may not grow.
fn on_a_small_disk(bytes: u64) -> std::fs::File {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let fd = memfd_create("small disk", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, bytes).unwrap();
    fcntl_add_seals(&fd, SealFlags::GROW).unwrap();
    fd.into()
}

#[test]
fn a_full_disk_ends_the_session_and_leaves_whole_packets() {
    let daemon = RunningDaemon::start("full");
    for mut consumer in daemon.consumers() {
        let mut disk = on_a_small_disk(4096);
        // The packet that quotes the config finds no room; those before it do.
        let source =
            DataSourceConfig { legacy_config: Some("x".repeat(9000)), ..Default::default() };
        let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
        let config =
            TraceConfig { write_into_file: Some(true), data_sources: vec![source], ..one_buffer() };
        let fd = disk.try_clone().unwrap().into();
        consumer.enable_tracing(&config, Some(fd)).unwrap();
        consumer.disable_tracing().unwrap();
        let ended = consumer.wait(Some(FOREVER));
        assert!(matches!(ended, Err(ConsumerError::Service(text)) if text.contains("failed")));
        let mut trace = Vec::new();
        disk.rewind().unwrap();
        disk.read_to_end(&mut trace).unwrap();
        assert!(!trace.is_empty() && trace.len() < 4096, "{}", trace.len());
        assert!(protos::TraceReader::new(&trace).iter().all(|packet| packet.is_ok()));
    }
}

#[test]
fn waking_interrupts_the_wait_once() {
    let daemon = RunningDaemon::start("wake");
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&one_buffer(), None).unwrap();
        let waker = consumer.waker();
        let thread = std::thread::spawn(move || waker.wake());
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Interrupted);
        thread.join().unwrap();
        consumer.waker().wake();
        consumer.waker().wake();
        // Also when the wake-up comes while something else is waited for.
        consumer.query_capabilities().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Interrupted);
        assert_eq!(consumer.wait(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    }
}
