//! The service; see `traced --help`.

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracebox::applet::run_program("traced", tracebox::traced::main, &args)
}
