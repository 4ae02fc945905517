//! Fires triggers; see `trigger_perfetto --help`.

fn main() -> std::process::ExitCode {
    tracebox::applet::run_as("trigger_perfetto", std::env::args_os().collect())
}
