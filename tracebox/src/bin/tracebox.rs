//! All programs in one; see `tracebox --help`.

fn main() -> std::process::ExitCode {
    tracebox::applet::run(std::env::args_os().collect())
}
