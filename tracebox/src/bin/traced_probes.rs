//! The data sources of this machine; see `traced_probes --help`.

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracebox::applet::run_program("traced_probes", tracebox::probes::main, &args)
}
