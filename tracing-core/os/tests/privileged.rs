//! A program that has more rights than the user who starts it: that user does not choose its service.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{geteuid, getuid};
use tracing_core_os::socket;

/// Where the user wants the events.
const CHOSEN: &str = "/tmp/chosen-by-the-user";
const OTHER_UID: u32 = 65534;

/// The part of the test below that runs in a process of its own; in one of all tests it looks at nothing.
#[test]
fn child() {
    let defaults = socket::defaults();
    let of = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
    let is_setuid = getuid() != geteuid();
    println!("\nSETUID {is_setuid} {} {}", of(&defaults.producer), of(&defaults.consumer));
}

/// Runs [`child`] from the program at `path`, and returns what it says.
fn run(path: &Path) -> Vec<String> {
    let mut command = Command::new(path);
    command.args(["--exact", "child", "--nocapture"]);
    for variable in ["PERFETTO_PRODUCER_SOCK_NAME", "PERFETTO_CONSUMER_SOCK_NAME"] {
        command.env(variable, CHOSEN);
    }
    let output = command.output().expect("a program that runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("SETUID "));
    let line = line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    line.split(' ').map(str::to_owned).collect()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_user_of_a_setuid_program_chooses_no_service() {
    let program = std::env::current_exe().expect("a program");
    assert_eq!(run(&program), ["false", CHOSEN, CHOSEN]);
    let name = format!("tracing-privileged-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    std::fs::create_dir(&folder.0).expect("a new folder");
    let copy = folder.0.join("program");
    std::fs::copy(&program, &copy).expect("a copy");
    let can_give = chown(&copy, Some(OTHER_UID), None).is_ok();
    std::fs::set_permissions(&copy, Permissions::from_mode(0o4755)).expect("a mode");
    let told = if can_give { run(&copy) } else { Vec::new() };
    if told.first().is_none_or(|is_setuid| is_setuid != "true") {
        let why = "only root can make a setuid program, in a file system that allows it";
        skip::test("the_user_of_a_setuid_program_chooses_no_service", why);
        return;
    }
    for address in &told[1..] {
        assert!(address != CHOSEN && address.contains("perfetto"), "{told:?}");
    }
}
