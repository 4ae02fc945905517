//! From words and files to a `TraceConfig`.

pub mod builtin;
pub mod light;

use std::ffi::OsStr;
use std::io::Read;

use protos::{TraceAttributes, TraceConfig, TraceConfigStatsdLogging, TraceConfigStatsdMetadata};
use protozero::Message;
use protozero::text;
use tracing_core::os::process::random_seed;

use crate::failure::{Context, Failure};
use crate::plan::{Format, Record, Source};
use crate::schema;

/// Longest config that is read, bytes. The service takes less; a device file has no end.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// The config a plan asks for, complete.
///
/// # Errors
/// When it cannot be read, makes no sense, or contradicts the command line.
pub fn load(record: &Record, use_of: builtin::Use) -> Result<TraceConfig, Failure> {
    let mut config = match &record.source {
        Source::File { path, format } => {
            let (name, bytes) = read(path)?;
            parse(&name, &bytes, *format)?
        }
        Source::Test => builtin::test(),
        Source::Light(light) => light::config(light),
        Source::Default(light) => builtin::default(light, use_of),
    };
    complete(&mut config, record)?;
    Ok(config)
}

fn read(path: &OsStr) -> Result<(String, Vec<u8>), Failure> {
    let mut bytes = Vec::new();
    let name = if path == "-" { "<stdin>".into() } else { path.to_string_lossy().into_owned() };
    let result = if path == "-" {
        std::io::stdin().lock().take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    result.context(format_args!("cannot read the config {name}"))?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        let limit = CONFIG_BYTES_MAX >> 20;
        return Err(Failure::new(format_args!("the config {name} has more than {limit} MiB")));
    }
    Ok((name, bytes))
}

/// Reads `bytes` as a config; `name` is what to call them.
///
/// # Errors
/// When they are none: with positions for text, with a hint for text that was announced as binary.
pub fn parse(name: &str, bytes: &[u8], format: Format) -> Result<TraceConfig, Failure> {
    let bytes = match format {
        Format::Text { lossy } => {
            let options = text::Options { file: name, lossy };
            // Fields that this build has no code for stay in the `unknown_fields` of the config.
            &text::parse_message(&schema::message("TraceConfig"), bytes, &options)
                .map_err(|errors| Failure::new(format_args!("the config is not valid\n{errors}")))?
                .encode()
        }
        Format::Binary => bytes,
    };
    let decoded = TraceConfig::decode(bytes);
    if format == Format::Binary && looks_like_text(bytes) {
        return Err(Failure::new(format_args!("the config {name} is text: add --txt")));
    }
    if bytes.is_empty() {
        return Err(Failure::new(format_args!("the config {name} is empty")));
    }
    decoded
        .context(format_args!("the config {name} is no binary TraceConfig (is it text? add --txt)"))
}

/// A binary config has a length or a number below space in its first fields; text has neither.
fn looks_like_text(bytes: &[u8]) -> bool {
    let printable = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    !bytes.is_empty()
        && bytes.iter().all(printable)
        && bytes.iter().any(|byte| b":{#".contains(byte))
}

/// Adds what the command line says and what is always sent.
#[allow(deprecated, reason = "older services still read them")]
fn complete(config: &mut TraceConfig, record: &Record) -> Result<(), Failure> {
    if !config.activate_triggers.is_empty() {
        // Nothing will be recorded, so nothing else of it matters.
        return Ok(());
    }
    if let Some(delay) = &config.cmd_trace_start_delay {
        match (delay.min_delay_ms, delay.max_delay_ms) {
            (Some(min), Some(max)) if min <= max => {}
            _ => {
                let text =
                    "cmd_trace_start_delay needs min_delay_ms and a max_delay_ms not below it";
                return Err(Failure::new(text));
            }
        }
    }
    // For the service a relative path would begin in its own directory.
    if let Some(path) = config.output_path.as_mut().filter(|path| !path.is_empty()) {
        let absolute = std::path::absolute(&*path).context("no working directory")?;
        *path = absolute.into_os_string().into_string().map_err(|absolute| {
            Failure::new(format_args!("output_path {absolute:?} is not UTF-8"))
        })?;
    }
    let into_file = config.write_into_file == Some(true);
    match (&config.output_path, &record.out) {
        (Some(path), Some(_)) => {
            let text = format!("the config has output_path {path:?}: it does not go with -o");
            return Err(Failure::new(text));
        }
        (Some(path), None) if std::path::Path::new(path).exists() => {
            return Err(Failure::new(format_args!("output_path {path:?} exists already")));
        }
        (Some(_), None) if !into_file => {
            return Err(Failure::new("output_path needs write_into_file"));
        }
        (None, None) => {
            return Err(Failure::new("say with -o where to write the trace"));
        }
        _ => {}
    }
    if record.detach.is_some() && !into_file {
        return Err(Failure::new("--detach needs a config with write_into_file"));
    }
    if !record.attributes.is_empty() {
        let attributes = config.trace_attributes.get_or_insert_with(TraceAttributes::default);
        attributes.attribute.extend(record.attributes.iter().cloned());
    }
    let sent = config.statsd_metadata.get_or_insert_with(TraceConfigStatsdMetadata::default);
    let said = &record.statsd;
    sent.triggering_alert_id = said.triggering_alert_id.or(sent.triggering_alert_id);
    sent.triggering_config_uid = said.triggering_config_uid.or(sent.triggering_config_uid);
    sent.triggering_config_id = said.triggering_config_id.or(sent.triggering_config_id);
    sent.triggering_subscription_id =
        said.triggering_subscription_id.or(sent.triggering_subscription_id);
    config.enable_extra_guardrails = Some(false);
    config.statsd_logging = Some(TraceConfigStatsdLogging::STATSD_LOGGING_DISABLED);
    if config.trace_uuid_msb.is_none() && config.trace_uuid_lsb.is_none() {
        let (msb, lsb) = uuid(random().context("no random numbers")?);
        config.trace_uuid_msb = Some(msb);
        config.trace_uuid_lsb = Some(lsb);
    }
    Ok(())
}

fn random() -> Result<(u64, u64), tracing_core::error::OsError> {
    Ok((random_seed()?, random_seed()?))
}

/// Marks random numbers as a version 4 UUID of the usual variant.
fn uuid((high, low): (u64, u64)) -> (i64, i64) {
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    (high.cast_signed(), low.cast_signed())
}

#[cfg(test)]
mod tests;
