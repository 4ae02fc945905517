//! Makes the `TraceConfig` that a command line asks for.

pub mod builtin;
pub mod kernel;
pub mod light;
mod octal;
pub(crate) mod parts;

use std::ffi::{OsStr, OsString};
use std::io::Read;

use protos::{
    TraceAttributes, TraceAttributesAttribute, TraceConfig, TraceConfigNote,
    TraceConfigStatsdLogging, TraceConfigStatsdMetadata,
};
use protozero::Message;
use protozero::dynamic::DynamicMessage;
use protozero::text;
use tracing_core::os::process::random_seed;

use self::light::Light;
use crate::console;
use crate::failure::{Context, Failure};
use crate::schema;

/// Longest config that is read, bytes. The service takes less, but a device file has no end.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// The parts of the command line that make the config.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfigRequest {
    /// Where the config comes from.
    pub source: ConfigSource,
    /// Attributes to add to the config.
    pub attributes: Vec<TraceAttributesAttribute>,
    /// Notes to add to the config.
    pub notes: Vec<TraceConfigNote>,
    /// Ids of statsd to put into the config.
    pub statsd: TraceConfigStatsdMetadata,
}

/// Where a config comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigSource {
    /// Files, one after the other as if they were one; `-` is stdin.
    Files {
        /// Their paths.
        paths: Vec<OsString>,
        /// How they are written.
        format: ConfigFormat,
        /// The options of light mode, if there are any: they count only if all files are empty.
        if_empty: Option<Box<ConfigSource>>,
    },
    /// The built-in test config, `-c :test`.
    Test,
    /// The options and words of light mode.
    Light(Light),
    /// The built-in default config, with the options of light mode.
    Default(Light),
}

/// How a config is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigFormat {
    /// A serialized `TraceConfig`.
    Binary,
    /// TextFormat.
    Text {
        /// Unknown fields are left out.
        lossy: bool,
    },
}

/// The config that `request` asks for, complete.
///
/// # Errors
/// When it cannot be read, or is not valid.
pub fn load(request: &ConfigRequest, purpose: builtin::Purpose) -> Result<TraceConfig, Failure> {
    let mut config = load_source(&request.source, purpose)?;
    complete(&mut config, request)?;
    Ok(config)
}

fn load_source(source: &ConfigSource, purpose: builtin::Purpose) -> Result<TraceConfig, Failure> {
    match source {
        ConfigSource::Files { paths, format, if_empty } => {
            let files = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
            let is_empty = files.iter().all(|(_, bytes)| bytes.is_empty());
            match if_empty {
                Some(light) if is_empty => load_source(light, purpose),
                Some(_) => Err(Failure::new(
                    "-c brings its own settings: -t, -b, -s, -a and events do not go with it",
                )),
                None => parse_files(&files, *format),
            }
        }
        ConfigSource::Test => Ok(builtin::test()),
        ConfigSource::Light(light) => {
            light::check(light)?;
            Ok(light::config(light))
        }
        ConfigSource::Default(light) => {
            Ok(builtin::default(light, purpose, builtin::Machine::detect()))
        }
    }
}

fn read(path: &OsStr) -> Result<(String, Vec<u8>), Failure> {
    let mut bytes = Vec::new();
    let name = if path == "-" { "<stdin>".into() } else { console::name(path) };
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

/// Reads `bytes` as a config; error messages call them `name`.
///
/// # Errors
/// When they are not a config. For text the message has positions; for text without `--txt` it has a hint.
pub fn parse(name: &str, bytes: &[u8], format: ConfigFormat) -> Result<TraceConfig, Failure> {
    parse_files(&[(name.to_owned(), bytes.to_vec())], format)
}

/// Reads files, names and contents, as one config. Later fields win over earlier ones, as in one message.
fn parse_files(files: &[(String, Vec<u8>)], format: ConfigFormat) -> Result<TraceConfig, Failure> {
    let mut all = Vec::new();
    for (name, bytes) in files {
        all.extend(encoded(name, bytes, format)?);
    }
    let names = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ");
    if all.is_empty() {
        return Err(Failure::new(format_args!("the config {names} is empty")));
    }
    let no_config =
        format!("the config {names} is not a binary TraceConfig (is it text? add --txt)");
    // The code of configs has no names of fields, so the error is that of the schema.
    let named =
        |error| DynamicMessage::decode(schema::message("TraceConfig"), &all).err().unwrap_or(error);
    TraceConfig::decode(&all).map_err(named).context(no_config)
}

/// One file of a config as a serialized `TraceConfig`.
fn encoded(name: &str, bytes: &[u8], format: ConfigFormat) -> Result<Vec<u8>, Failure> {
    match format {
        ConfigFormat::Text { lossy } => {
            let options = text::Options { file: name, lossy, ..text::Options::default() };
            // Fields that this build has no code for stay in the `unknown_fields` of the config.
            let config = text::parse_message(&schema::message("TraceConfig"), bytes, &options)
                .map_err(|errors| {
                    Failure::new(format_args!("the config is not valid\n{errors}"))
                })?;
            for warning in octal::warnings(name, bytes) {
                console::log(&warning);
            }
            Ok(config.encode())
        }
        ConfigFormat::Binary if looks_like_text(bytes) => {
            Err(Failure::new(format_args!("the config {name} is text: add --txt")))
        }
        ConfigFormat::Binary => Ok(bytes.to_vec()),
    }
}

/// A binary config has a length or a number below space in its first fields; text has neither.
fn looks_like_text(bytes: &[u8]) -> bool {
    let printable = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    !bytes.is_empty()
        && bytes.iter().all(printable)
        && bytes.iter().any(|byte| b":{#".contains(byte))
}

/// Adds the settings of the command line, and the fields that are always sent.
#[allow(deprecated, reason = "older services still read them")]
fn complete(config: &mut TraceConfig, request: &ConfigRequest) -> Result<(), Failure> {
    if !config.activate_triggers.is_empty() {
        // Such a config only fires triggers: no other field of it is used.
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
    // The service would resolve a relative path in its own working directory.
    if let Some(path) = config.output_path.as_mut().filter(|path| !path.is_empty()) {
        let absolute = std::path::absolute(&*path).context("no working directory")?;
        *path = absolute.into_os_string().into_string().map_err(|absolute| {
            Failure::new(format_args!("output_path {absolute:?} is not UTF-8"))
        })?;
    }
    if !request.attributes.is_empty() {
        let attributes = config.trace_attributes.get_or_insert_with(TraceAttributes::default);
        attributes.attribute.extend(request.attributes.iter().cloned());
    }
    config.notes.extend(request.notes.iter().cloned());
    let sent = config.statsd_metadata.get_or_insert_with(TraceConfigStatsdMetadata::default);
    let ids = &request.statsd;
    sent.triggering_alert_id = ids.triggering_alert_id.or(sent.triggering_alert_id);
    sent.triggering_config_uid = ids.triggering_config_uid.or(sent.triggering_config_uid);
    sent.triggering_config_id = ids.triggering_config_id.or(sent.triggering_config_id);
    sent.triggering_subscription_id =
        ids.triggering_subscription_id.or(sent.triggering_subscription_id);
    config.enable_extra_guardrails = Some(false);
    config.statsd_logging = Some(TraceConfigStatsdLogging::STATSD_LOGGING_DISABLED);
    if config.trace_uuid_msb.is_none() && config.trace_uuid_lsb.is_none() {
        let (msb, lsb) = uuid(random().context("no random numbers")?);
        config.trace_uuid_msb = Some(msb);
        config.trace_uuid_lsb = Some(lsb);
    }
    Ok(())
}

fn random() -> Result<(u64, u64), tracing_core::abi::error::OsError> {
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
