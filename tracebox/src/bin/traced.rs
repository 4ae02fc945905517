//! The service; see `traced --help`.

fn main() -> std::process::ExitCode {
    tracebox::applet::run_as("traced", std::env::args_os().collect())
}
