//! `protoc --protozero_out=DIR`: the plugin that `protoc` looks for by this name.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::io::stdin().is_terminal() {
        eprintln!("protoc runs this: protoc --protozero_out=DIR FILE.proto");
        return ExitCode::FAILURE;
    }
    let mut request = Vec::new();
    let done = std::io::stdin().lock().read_to_end(&mut request).and_then(|_| {
        let response = protozero_codegen::plugin(&request);
        std::io::stdout().lock().write_all(&response)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protoc-gen-protozero: {error}");
            ExitCode::FAILURE
        }
    }
}
