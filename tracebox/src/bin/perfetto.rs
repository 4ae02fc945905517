//! Records through a running `traced`; see `perfetto --help`.

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracebox::applet::run_program("perfetto", tracebox::perfetto::main, &args)
}
