//! Records through a running `traced`; see `perfetto --help`.

fn main() -> std::process::ExitCode {
    tracebox::applet::run_as("perfetto", std::env::args_os().collect())
}
