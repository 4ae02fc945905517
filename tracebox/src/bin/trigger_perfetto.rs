//! Fires triggers; see `trigger_perfetto --help`.

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracebox::applet::run_program("trigger_perfetto", tracebox::trigger::main, &args)
}
