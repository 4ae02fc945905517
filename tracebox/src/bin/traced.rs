//! The service; see `traced --help`.

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracebox::applet::run_alone("traced", tracebox::traced::main, &args)
}
