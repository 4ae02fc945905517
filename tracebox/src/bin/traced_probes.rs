//! The data sources of this machine; see `traced_probes --help`.

fn main() -> std::process::ExitCode {
    tracebox::applet::run_as("traced_probes", std::env::args_os().collect())
}
