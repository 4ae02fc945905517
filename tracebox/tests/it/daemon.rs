//! `traced` and its sockets.

use std::os::unix::fs::PermissionsExt;

use protos::TracePacketData;
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{Daemon, Ran, World, has};

#[test]
fn a_second_one_refuses() {
    let world = World::new();
    let _first = world.traced();
    let ran = world.run("traced").failed(1, "another service is running there");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    world.run("perfetto --query").good();
}

#[test]
fn stale_sockets_are_replaced() {
    let world = World::new();
    let first = world.traced();
    first.signal(Signal::KILL);
    first.end();
    for name in ["producer", "producer.lock"] {
        assert!(world.path(name).exists(), "kill -9 leaves the files");
    }
    let _second = world.traced();
    world.run("perfetto --query").good();
}

/// Nobody reads its stderr, and the pipe is full. It answers, and it ends.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let world = std::sync::Arc::new(World::new());
    let mut traced = world.traced();
    // The kernel makes it as small as it can: a page.
    let page = rustix::pipe::fcntl_setpipe_size(traced.stderr(), 1).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn({
        let world = world.clone();
        move || {
            for _ in 0..2 * page / 40 {
                // A frame that is too long. The answer is the end of the connection.
                let path = world.path("producer");
                let mut hostile = std::os::unix::net::UnixStream::connect(path).unwrap();
                let _ = std::io::Write::write_all(&mut hostile, &[0xff; 4]);
                let _ = std::io::Read::read(&mut hostile, &mut [0]);
            }
            world.run("perfetto --query").good();
            traced.signal(Signal::TERM);
            assert!(traced.child.wait().unwrap().success());
            let _ = tell.send(());
        }
    });
    // What the slowest machine needs.
    told.recv_timeout(std::time::Duration::from_secs(60)).expect("traced waits for its log");
}

#[test]
fn it_takes_its_sockets_along() {
    let world = World::new();
    let traced = world.traced();
    traced.signal(Signal::TERM);
    traced.end().good();
    for name in ["producer", "producer.lock", "consumer", "consumer.lock"] {
        assert!(!world.path(name).exists(), "{name}");
    }
}

#[test]
fn a_lock_that_is_none_is_told_with_the_remedy() {
    let world = World::new();
    let lock = world.path("consumer.lock");
    std::os::unix::fs::symlink("elsewhere", &lock).unwrap();
    let ran = world.run("traced").failed(1, "has to remove it");
    assert!(ran.stderr.contains(&format!("{} belongs to user", lock.display())), "{ran:?}");
    std::fs::remove_file(lock).unwrap();
    world.traced();
}

#[test]
fn files_of_others_are_left_alone() {
    let world = World::new();
    world.write("consumer", "precious");
    world.run("traced").failed(1, "the file exists and is not a socket");
    assert_eq!(std::fs::read_to_string(world.path("consumer")).unwrap(), "precious");
    assert!(!world.path("producer").exists(), "all sockets or none");
}

#[test]
fn socket_permissions() {
    let world = World::new();
    let gid = rustix::process::getgid().as_raw();
    let mut traced = world.start(&format!("traced --set-socket-permissions {gid}:0660:{gid}:0600"));
    traced.read_until("listening on");
    let mode =
        |name: &str| std::fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("producer"), mode("consumer")), (0o660, 0o600));
}

#[test]
fn in_the_background() {
    let world = World::new();
    let ran = world.run("traced --background").good();
    let pid = Pid::from_raw(ran.text().trim().parse().unwrap()).unwrap();
    // Before it leaves the terminal, it says where consumers may have files created.
    assert!(ran.stderr.contains("onfined"), "{ran:?}");
    world.run("perfetto --query").good();
    world.run("traced --background").failed(1, "another service is running there");
    kill_process(pid, Signal::TERM).unwrap();
}

#[test]
fn the_notify_descriptor() {
    let world = World::new();
    let mut command = world.command("traced");
    command.env("TRACED_NOTIFY_FD", "1");
    let mut traced = world.spawn(command);
    let mut byte = [0];
    std::io::Read::read_exact(traced.child.stdout.as_mut().unwrap(), &mut byte).unwrap();
    assert_eq!(&byte, b"1");
    world.run("perfetto --query").good();
}

#[test]
fn the_service_manager_is_told_of_the_start() {
    let world = World::new();
    let manager = std::os::unix::net::UnixDatagram::bind(world.path("notify")).unwrap();
    let mut command = world.command("traced");
    command.env("NOTIFY_SOCKET", world.path("notify"));
    let traced = world.spawn(command);
    let next_message = || {
        let mut buf = [0; 200];
        let len = manager.recv(&mut buf).unwrap();
        String::from_utf8_lossy(&buf[..len]).into_owned()
    };
    assert!(next_message().starts_with("READY=1\n"));
    world.run("perfetto --query").good();
    traced.signal(Signal::TERM);
    traced.end().good();
    // A confined service keeps no socket that could send datagrams to services of root.
    manager.set_nonblocking(true).unwrap();
    assert_eq!(manager.recv(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// `line`, as systemd starts it: the sockets are open before, as descriptors 3 and 4.
fn with_sockets_passed(world: &World, line: &str) -> std::process::Command {
    use std::os::fd::OwnedFd;
    let listen = |name: &str| {
        OwnedFd::from(std::os::unix::net::UnixListener::bind(world.path(name)).unwrap())
    };
    let traced = world.command(line);
    let mut command = std::process::Command::new("sh");
    let script = "exec 3<&0 4<&1 </dev/null >/dev/null; LISTEN_PID=$$ exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(traced.get_program()).args(traced.get_args());
    for (name, value) in traced.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    // Not in the usual order: only the names tell the kinds apart.
    command.env("LISTEN_FDS", "2").env("LISTEN_FDNAMES", "traced-consumer:traced-producer");
    command.stdin(listen("consumer")).stdout(listen("producer"));
    command.stderr(std::process::Stdio::piped());
    command
}

#[test]
fn sockets_that_were_passed() {
    let world = World::new();
    let mut traced = Daemon::new(with_sockets_passed(&world, "traced").spawn().unwrap());
    traced.read_until("SOCK_NAME have no effect: the service manager has opened the sockets");
    traced.read_until("passed");
    world.run("perfetto --query").good();
    traced.signal(Signal::TERM);
    assert!(traced.child.wait().unwrap().success());
    assert!(world.path("producer").exists(), "the service manager owns the socket files");
}

/// The service manager owns the files of the sockets, so an option about them would be ignored.
#[test]
fn permissions_of_sockets_that_were_passed() {
    let world = World::new();
    let line = "traced --set-socket-permissions 0:0666:0:0660";
    let child = with_sockets_passed(&world, line).spawn().unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.failed(1, "set SocketGroup= and SocketMode= in traced-producer.socket");
}

/// What the kernel says of a process.
fn status(traced: &Daemon, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", traced.child.id())).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.unwrap().trim().to_owned()
}

#[test]
fn it_gives_up_what_it_does_not_need() {
    let world = World::new();
    let mut traced = world.start("traced");
    let line = traced.read_until("onfined");
    assert!(line.contains("Confined: landlock for files"), "{line}");
    assert_eq!(
        (status(&traced, "NoNewPrivs"), status(&traced, "Seccomp")),
        ("1".into(), "2".into())
    );
    drop(traced);

    let ours = |field| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        value.trim_start_matches(':').trim().to_owned()
    };
    let mut traced = world.start("traced --unconfined");
    traced.read_until("Not confined");
    for field in ["NoNewPrivs", "Seccomp"] {
        assert_eq!(status(&traced, field), ours(field), "{field}");
    }
}

#[test]
fn it_creates_files_in_some_folders_only() {
    let world = World::new();
    std::fs::create_dir(world.path("traces")).unwrap();
    world.run("traced --write-to nowhere").failed(1, "--write-to nowhere: No such file");
    let mut traced = world.start("traced --write-to traces");
    let line = traced.read_until("onfined");
    let folder = world.path("traces").canonicalize().unwrap();
    assert!(line.contains(&format!("consumers' only below {}", folder.display())), "{line}");
    let record = |path: &str| {
        let path = world.path(path);
        let config = "buffers { size_kb: 64 } data_sources { config { name: 'none' } }";
        let file = format!("write_into_file: true output_path: '{}'", path.display());
        world.write("c", &format!("{config} duration_ms: 100 {file}"));
        world.run("perfetto -c c --txt")
    };
    record("traces/a").good();
    assert!(!world.packets("traces/a").is_empty());
    record("b").failed(1, "Permission denied");
    assert!(!world.path("b").exists());
    // A consumer opens what it likes.
    world.run("perfetto -c c --txt -o c.pftrace").failed(1, "output_path");
    world.write(
        "c",
        "buffers { size_kb: 64 } duration_ms: 100 data_sources { config { name: 'none' } }",
    );
    world.run("perfetto -c c --txt -o c.pftrace").good();
}

/// 100 idle producers of another user, or of this one if this is not root, and a daemon with 64 descriptors: consumers
/// have theirs, and so has root.
#[test]
fn idle_producers_lock_nobody_out() {
    use std::os::unix::net::UnixStream;
    let world = World::new();
    std::fs::set_permissions(world.path("."), PermissionsExt::from_mode(0o755)).unwrap();
    let traced = world.command("traced --set-socket-permissions 0:0666:0:0666");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(traced.get_program());
    let is_root = !skip::without_root("idle_producers_lock_nobody_out, of another user");
    // Only root may give files away.
    command.args(traced.get_args().take(if is_root { usize::MAX } else { 2 }));
    for (name, value) in traced.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let mut traced = world.spawn(command);
    traced.read_until("up to 64 descriptors");
    let connect = || {
        if is_root {
            let nobody = rustix::process::Uid::from_raw(65534);
            // Of this thread alone. The kernel tells the daemon when it connects.
            rustix::thread::set_thread_res_uid(None, nobody, None).unwrap();
        }
        let connect = |_| UnixStream::connect(world.path("producer")).unwrap();
        (0..100).map(connect).collect::<Vec<_>>()
    };
    let idle = std::thread::scope(|scope| scope.spawn(connect).join().unwrap());
    let line = traced.read_until("a producer refused");
    assert!(line.contains("ulimit -n"), "{line}");
    world.write("c", "buffers { size_kb: 64 } duration_ms: 10");
    world.write("d", "buffers { size_kb: 64 } duration_ms: 10 write_into_file: true");
    for config in ["c", "d"] {
        world.run(&format!("perfetto -c {config} --txt -o trace")).good();
        assert!(has(&world.packets("trace"), |data| matches!(
            data,
            TracePacketData::TraceConfig(_)
        )));
    }
    if is_root {
        world.run("trigger_perfetto anything").good();
    }
    drop(idle);
    traced.signal(Signal::TERM);
    let ran = traced.end().good();
    assert!(ran.stderr.contains(" refused as too many"), "{ran:?}");
}

/// 128 buffers of 4 GiB are more than any machine has: filled, they would end the daemon.
#[test]
fn buffers_of_a_user_leave_the_daemon_its_memory() {
    if skip::without_root("buffers_of_a_user_leave_the_daemon_its_memory") {
        // Its own user may have what it wants.
        return;
    }
    let world = World::new();
    let mut traced = world.spawn(world.command("traced --set-socket-permissions 0:0666:0:0666"));
    traced.read_until("listening on");
    world.write("c", &format!("{} duration_ms: 10", "buffers { size_kb: 4194300 } ".repeat(128)));
    let record = |config: &str| -> Ran {
        let line = format!("tracebox perfetto -c {config} --txt -o trace");
        world.command_of_nobody(&line).output().unwrap().into()
    };
    let expected = "bytes with indexes are asked for, and user 65534 has 0 of at most ";
    record("c").failed(1, expected);
    world.write("d", "buffers { size_kb: 4096 } duration_ms: 10");
    record("d").good();
}

/// All data that has reached the service is in the files when it stops.
#[test]
fn files_are_complete_when_it_stops() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let world = World::new();
        let traced = world.traced();
        let config = |file| {
            format!(
                "buffers {{ size_kb: 64 }} data_sources {{ config {{ name: 'none' }} }} {file}
                 write_into_file: true file_write_period_ms: 3600000"
            )
        };
        world.write("c", &config(""));
        let mut perfetto = world.start("perfetto -c c --txt -o by-descriptor");
        perfetto.read_until("starting tracing");
        world.write("d", &config(&format!("output_path: '{}'", world.path("by-path").display())));
        world.run("perfetto --detach=k -c d --txt").good();
        perfetto.wait_for(&world, |state| state.num_sessions_started == Some(2));
        traced.signal(signal);
        traced.end().good();
        perfetto.end().failed(1, "told to end");
        for name in ["by-descriptor", "by-path"] {
            let packets = world.packets(name);
            assert!(has(&packets, |data| matches!(data, TracePacketData::TraceConfig(_))));
            let last = packets.last().unwrap();
            assert!(matches!(last.data, Some(TracePacketData::TraceStats(_))), "{name}: {last:?}");
        }
    }
}

/// A full disk ends the session with an error, and the file consists of whole packets. The limit of file sizes
/// has the same effect as a small disk.
#[test]
fn a_full_disk() {
    let world = World::new();
    let traced = world.command("traced");
    let mut command = std::process::Command::new("sh");
    // The limit is in blocks of 512 bytes.
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"]).arg(traced.get_program());
    command.args(traced.get_args());
    for (name, value) in traced.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let mut traced = world.spawn(command);
    traced.read_until("listening on");
    world.write(
        "c",
        &format!(
            "buffers {{ size_kb: 64 }} data_sources {{ config {{ name: 'none' }} }}
             builtin_data_sources {{ snapshot_interval_ms: 1 }}
             write_into_file: true file_write_period_ms: 100 output_path: '{}'",
            world.path("trace").display()
        ),
    );
    let ran = world.run("perfetto -c c --txt").failed(1, "File too large");
    assert!(ran.stderr.contains("service error: "), "{ran:?}");
    let packets = world.packets("trace");
    assert!(packets.len() > 5);
    let size = std::fs::metadata(world.path("trace")).unwrap().len();
    assert!(size <= 16 * 512, "{size}");
    world.run("perfetto --query").good();
}

/// A signal ends it in order. Upstream: at once, and the kernel went on recording.
#[test]
fn probes_say_that_they_wait_for_a_service() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::new();
        let mut command = world.command("tracebox traced_probes");
        command.env("TRACED_PROBES_NOTIFY_FD", "1");
        let mut probes = world.spawn(command);
        let line = probes.read_until("waiting for one");
        let socket = world.path("producer");
        let wanted = format!("No tracing service at {} yet", socket.display());
        assert!(line.contains(&wanted), "{line}");
        let _traced = world.traced();
        let mut byte = [0];
        std::io::Read::read_exact(probes.child.stdout.as_mut().unwrap(), &mut byte).unwrap();
        probes.signal(signal);
        let ran = probes.end().good();
        let lines: Vec<_> = ran.stderr.lines().collect();
        let [line] = lines[..] else { panic!("it is printed once: {ran:?}") };
        assert!(line.ends_with("] traced_probes: Connected to the tracing service"), "{line}");
    }
}

/// A script may wait until nobody has its streams any more, and a terminal that closes ends no daemon.
#[test]
fn probes_in_the_background_wait_for_a_service() {
    let world = World::new();
    let ran = world.run("tracebox traced_probes --background").good();
    let pid = Pid::from_raw(ran.text().trim().parse().unwrap()).unwrap();
    assert!(ran.stderr.contains("waiting for one"), "{ran:?}");
    assert_eq!(rustix::process::getsid(Some(pid)), Ok(pid));
    let _traced = world.traced();
    world.wait_for(|state| {
        let mut names = state.data_sources.iter().filter_map(|of| of.ds_descriptor.as_ref());
        names.any(|of| of.name.as_deref() == Some("linux.sys_stats"))
    });
    kill_process(pid, Signal::TERM).unwrap();
}

/// The kernel is reset by the first of the two processes, and what it could not reset is printed once.
#[test]
fn probes_in_the_background_reset_the_kernel_once() {
    let world = World::new();
    let group = rustix::process::getgid().as_raw();
    let line = format!("traced --set-socket-permissions {group}:0666:{group}:0666");
    let mut traced = world.spawn(world.command(&line));
    traced.read_until("listening on");
    let line = "tracebox traced_probes --reset-ftrace --background";
    let ran = Ran::from(world.command_of_nobody(line).output().unwrap()).good();
    kill_process(Pid::from_raw(ran.text().trim().parse().unwrap()).unwrap(), Signal::TERM).unwrap();
    let lines = ran.stderr.lines().filter_map(|line| line.split_once("traced_probes: "));
    let mut texts: Vec<_> = lines.map(|(_, text)| text).collect();
    let all = texts.len();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), all, "{ran:?}");
}

/// The log tells that the service is gone, and that it came back.
#[test]
fn probes_say_that_they_lost_the_service() {
    let world = World::new();
    let traced = world.traced();
    let mut probes = world.start("tracebox traced_probes");
    probes.read_until("Connected to the tracing service");
    traced.signal(Signal::TERM);
    traced.end().good();
    probes.read_until("The tracing service closed the connection");
    probes.read_until("No tracing service at ");
    let _traced = world.traced();
    probes.read_until("Connected to the tracing service");
}
