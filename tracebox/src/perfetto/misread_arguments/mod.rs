//! Words of a command line that are meant as something else than events: files, and programs.

use std::ffi::OsString;
use std::path::Path;

use crate::config::{ConfigSource, light};
use crate::failure::Failure;
use crate::recorder::request::RecordRequest;
use crate::spelling::edit_distance;
use crate::trace;

#[cfg(test)]
mod tests;

/// Names that configs of text have.
const CONFIG_EXTENSIONS: [&str; 6] = ["pbtx", "pbtxt", "txtpb", "textproto", "cfg", "txt"];

/// Refuses files, which options name, and the commands that print a trace.
pub(super) fn refuse_files(words: &[String]) -> Result<(), Failure> {
    if let Some(file) = words.iter().find(|word| trace::is_trace(word.as_ref())) {
        return Err(Failure::new(format_args!(
            "{file} is a trace: `tracebox trace events {file}` prints its events, `tracebox trace print {file}` \
             its packets"
        )));
    }
    if let Some(word @ ("events" | "print")) = words.first().map(String::as_str) {
        let what = "say which trace to print";
        return Err(Failure::new(format_args!("{what}: `tracebox trace {word} FILE`")));
    }
    let is_config = |word: &&String| {
        let path = Path::new(word);
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|it| CONFIG_EXTENSIONS.contains(&it)) && path.is_file()
    };
    words.iter().find(is_config).map_or(Ok(()), |file| {
        Err(Failure::new(format_args!(
            "{file} is a file: to record with a config of text, add `-c {file} --txt`"
        )))
    })
}

/// Refuses a command behind `--`: only `record` runs one. The words behind it are no events then.
pub(super) fn refuse_command(words: &[OsString], request: &RecordRequest) -> Result<(), Failure> {
    let ConfigSource::Light(light) = &request.config.source else { return Ok(()) };
    if words.iter().any(|word| word == "--") && light::check(light).is_err() {
        let text = "to record while a command runs, use `tracebox record -o FILE -- COMMAND`";
        return Err(Failure::new(text));
    }
    Ok(())
}

/// Refuses a first word that is, or looks like, the name of a program. Other words are events or categories of light
/// mode.
pub(super) fn refuse_programs(request: &RecordRequest) -> Result<(), Failure> {
    let ConfigSource::Light(light) = &request.config.source else { return Ok(()) };
    let Some(word) = light.words.first() else { return Ok(()) };
    advice(word).map_or(Ok(()), |advice| Err(Failure::new(advice)))
}

/// What to say of `word` if a program is meant.
fn advice(word: &str) -> Option<String> {
    let program = meant_program(word)?;
    Some(if word == program {
        format!("{word} is a program of tracebox, and its name comes first: `tracebox {word} ...`")
    } else {
        format!("{word:?} is not a program of tracebox: did you mean {program:?}?")
    })
}

/// Programs whose names do not look like categories of events.
const PROGRAMS: &[&str] = &[
    "record",
    "trace",
    "stats",
    "lint",
    "doctor",
    "traced",
    "traced_probes",
    "perfetto",
    "trigger_perfetto",
    "completions",
    "install-units",
];

/// The program that `word` probably means.
fn meant_program(word: &str) -> Option<&'static str> {
    // Two letters of a short name are half of it.
    let distance_max = |program: &str| if program.len() < 5 { 1 } else { 2 };
    let distances = PROGRAMS.iter().map(|program| (edit_distance(word, program), *program));
    let near = distances.filter(|(distance, program)| *distance <= distance_max(program));
    near.min_by_key(|(distance, _)| *distance).map(|(_, program)| program)
}
