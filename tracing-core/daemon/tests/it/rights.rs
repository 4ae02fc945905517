//! What the service does for a consumer of another user: no more than that user may do.
//!
//! Only root can be another user. Without it, the tests check the rights of the daemon's own user.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use protos::{
    DataSourceConfig, PriorityBoostConfig, PriorityBoostConfigBoostPolicy, TraceConfig,
    TraceConfigDataSource,
};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::FOREVER;
use client::consumer::{Consumer, ConsumerError};
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;

/// A user without rights, and a group.
const NOBODY: u32 = 65534;
const GROUP: u32 = 4242;

struct World {
    _service: InProcessService,
    address: Address,
    root: PathBuf,
}

impl World {
    fn new(name: &str) -> Self {
        Self::with_memory(name, 0)
    }

    /// With a service that may use so much memory, bytes.
    fn with_memory(name: &str, memory_bytes: u64) -> Self {
        let pid = std::process::id();
        let address = Address::Abstract(format!("rights-test-{pid}-{name}").into());
        let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
        options.consumer_sockets = vec![address.clone()];
        options.service.memory_bytes = memory_bytes;
        let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
        let root = std::env::temp_dir().join(format!("rights-{pid}-{name}"));
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
        Self { _service: service, address, root }
    }

    /// A folder of `owner` and `group`, for each of whom `mode` has digits.
    fn folder(&self, name: &str, mode: u32, owner: Option<u32>, group: Option<u32>) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, owner, group).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    }

    /// Records for a moment, as a consumer of [`NOBODY`] if this is root. Returns the error of the session.
    fn record(&self, config: &TraceConfig) -> Result<(), String> {
        std::thread::scope(|scope| scope.spawn(|| self.record_here(config)).join().unwrap())
    }

    fn record_here(&self, config: &TraceConfig) -> Result<(), String> {
        record(&mut self.connect(), config)
    }

    /// A consumer of [`NOBODY`], whose rights the calling thread has from now on, if this is root.
    fn connect(&self) -> Consumer {
        if geteuid().is_root() {
            // Of this thread alone. The kernel tells the daemon what they are when it connects.
            set_thread_groups(&[Gid::from_raw(GROUP)]).unwrap();
            let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_res_gid(None, gid, None).unwrap();
            set_thread_res_uid(None, uid, None).unwrap();
        }
        Consumer::connect(&self.address).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).unwrap();
    }
}

fn record(consumer: &mut Consumer, config: &TraceConfig) -> Result<(), String> {
    consumer.enable_tracing(config, None).map_err(|error| error.to_string())?;
    match consumer.wait(Some(FOREVER)) {
        Ok(_) => Ok(()),
        Err(ConsumerError::Service(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn config() -> TraceConfig {
    let buffer = protos::TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() };
    TraceConfig { buffers: vec![buffer], duration_ms: Some(1), ..TraceConfig::default() }
}

fn into(path: &Path) -> TraceConfig {
    TraceConfig {
        write_into_file: Some(true),
        output_path: Some(path.to_str().unwrap().into()),
        ..config()
    }
}

#[test]
fn a_file_is_created_with_the_rights_of_its_consumer() {
    let world = World::new("files");
    let is_root =
        !skip::without_root("a_file_is_created_with_the_rights_of_its_consumer, of another user");
    let owner = is_root.then_some(NOBODY);
    let open = world.folder("open", 0o700, owner, None).join("trace");
    assert_eq!(world.record(&into(&open)), Ok(()));
    let file = std::fs::metadata(&open).unwrap();
    assert!(file.len() > 100, "a trace");
    assert_eq!(file.uid(), owner.unwrap_or(geteuid().as_raw()));
    if is_root {
        let shared = world.folder("shared", 0o770, None, Some(GROUP)).join("trace");
        assert_eq!(world.record(&into(&shared)), Ok(()), "by one of its groups");
    }
    // Root may write there, and it is root's.
    let mode = if is_root { 0o755 } else { 0o555 };
    let closed = world.folder("closed", mode, None, None).join("authorized_keys");
    let error = world.record(&into(&closed)).unwrap_err();
    assert!(error.contains("failed to create") && error.contains("Permission denied"), "{error}");
    assert!(!closed.exists());
    if is_root {
        let mut own = Consumer::connect(&world.address).unwrap();
        assert_eq!(record(&mut own, &into(&closed)), Ok(()), "the daemon's own user");
    }
}

/// The effective users of the threads that write files.
fn users_of_files() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = |task: std::io::Result<std::fs::DirEntry>| {
        // A thread may end meanwhile.
        std::fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default()
    };
    let of_files = tasks.map(status).filter(|status| status.contains("Name:\ttrace-file\n"));
    let effective = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    of_files.map(effective).collect()
}

/// A daemon of root has quotas and reserves that its consumer has not.
#[test]
fn a_file_that_is_passed_is_written_with_the_rights_of_its_consumer() {
    let world = World::new("passed");
    let test = "a_file_that_is_passed_is_written_with_the_rights_of_its_consumer, of another user";
    let wanted = if skip::without_root(test) { geteuid().as_raw() } else { NOBODY };
    let record = || {
        let mut consumer = world.connect();
        let (reader, pipe) = rustix::pipe::pipe().unwrap();
        let config = TraceConfig {
            write_into_file: Some(true),
            file_write_period_ms: Some(100),
            duration_ms: None,
            ..config()
        };
        consumer.enable_tracing(&config, Some(pipe)).unwrap();
        consumer.query_service_state(false).unwrap();
        // The thread of the file has its rights when the first bytes are there.
        assert!(rustix::io::read(&reader, &mut [0; 8]).unwrap() > 0);
        let users = users_of_files();
        assert!(users.contains(&wanted), "{users:?}");
        drop(reader);
    };
    std::thread::scope(|scope| scope.spawn(record).join().unwrap());
}

/// What the service writes into memory is its own memory, and its consumer can keep that.
#[test]
fn a_file_in_memory_is_on_the_account_of_its_consumer() {
    use rustix::fs::{MemfdFlags, memfd_create};
    // A user may have 80 KiB of it, and the trace begins with the config.
    let world = World::with_memory("in-memory", 2560 << 10);
    let long =
        DataSourceConfig { legacy_config: Some("x".repeat(100 << 10)), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(long), ..Default::default() };
    let is_root = !skip::without_root("a_file_in_memory_is_on_the_account_of_its_consumer");
    let record = || {
        let memfd = memfd_create("trace", MemfdFlags::CLOEXEC).unwrap();
        let data_sources = vec![source.clone()];
        let config = TraceConfig { write_into_file: Some(true), data_sources, ..config() };
        let mut consumer = world.connect();
        consumer.enable_tracing(&config, Some(memfd)).unwrap();
        match consumer.wait(Some(FOREVER)) {
            Err(ConsumerError::Service(error)) if is_root => {
                assert!(
                    error.contains("files in memory") && error.contains("on a disk"),
                    "{error}"
                );
            }
            ended => assert!(ended.is_ok() && !is_root, "{ended:?}"),
        }
    };
    std::thread::scope(|scope| scope.spawn(record).join().unwrap());
}

/// A message to the program that started the daemon would come from the daemon.
#[test]
fn a_socket_that_tells_who_sends_is_no_file() {
    let world = World::new("socket");
    let is_root = !skip::without_root("a_socket_that_tells_who_sends_is_no_file");
    let record = || {
        let (socket, _end) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let config = TraceConfig { write_into_file: Some(true), ..config() };
        let mut consumer = world.connect();
        consumer.enable_tracing(&config, Some(socket.into())).unwrap();
        let ended = consumer.wait(Some(FOREVER));
        // What the daemon's own user passes is its own matter.
        assert_eq!(ended.is_err(), is_root, "{ended:?}");
    };
    std::thread::scope(|scope| scope.spawn(record).join().unwrap());
}

/// What the daemon's own user asks for is done with the rights of the daemon, whatever group its consumer is in.
#[test]
fn a_file_of_the_own_user_is_that_of_the_daemon() {
    let world = World::new("own");
    let path = world.folder("own", 0o755, None, None).join("trace");
    let is_root =
        !skip::without_root("a_file_of_the_own_user_is_that_of_the_daemon, with another group");
    let record_here = || {
        if is_root {
            // Of this thread alone.
            set_thread_res_gid(None, Gid::from_raw(GROUP), None).unwrap();
        }
        record(&mut Consumer::connect(&world.address).unwrap(), &into(&path))
    };
    let recorded = std::thread::scope(|scope| scope.spawn(record_here).join().unwrap());
    assert_eq!(recorded, Ok(()));
    let file = std::fs::metadata(&path).unwrap();
    let daemon = (geteuid().as_raw(), rustix::process::getegid().as_raw());
    assert_eq!((file.uid(), file.gid()), daemon);
}

/// A consumer that connects over the network may be anybody.
#[test]
fn a_consumer_of_another_machine_has_no_file_created() {
    let address = super::own_tcp_address(20_002);
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.consumer_sockets = vec![address.clone()];
    let _service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
    let path = std::env::temp_dir().join(format!("rights-{}-far", std::process::id()));
    let error = record(&mut Consumer::connect(&address).unwrap(), &into(&path)).unwrap_err();
    assert!(error.contains("not a process of this machine"), "{error}");
    assert!(!path.exists());
}

#[test]
fn the_priority_of_the_service_is_not_for_other_users() {
    let world = World::new("priority");
    let boost = PriorityBoostConfig {
        policy: Some(PriorityBoostConfigBoostPolicy::POLICY_SCHED_OTHER),
        priority: Some(1),
        ..Default::default()
    };
    let config = TraceConfig { priority_boost: Some(boost), ..config() };
    let is_root = !skip::without_root("the_priority_of_the_service_is_not_for_other_users");
    match world.record(&config) {
        Err(error) if is_root => {
            assert!(error.contains("may not change the priority of the service"), "{error}");
        }
        // The system decides about the daemon's own user.
        Err(error) => assert!(error.contains("priority_boost failed"), "{error}"),
        Ok(()) => assert!(!is_root),
    }
}
