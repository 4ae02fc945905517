//! The request of a command line to the recorder.

use std::ffi::OsString;
use std::path::Path;

use protos::{
    TraceAttributesAttribute, TraceAttributesAttributeValue, TraceConfig, TraceConfigNote,
    TraceConfigStatsdMetadata,
};

use crate::cli::TraceArgs;
use crate::config::{self, ConfigFormat, ConfigRequest, ConfigSource, builtin, light};
use crate::failure::Failure;
use crate::report::{BUFFER_SETTING_CONFIG, BUFFER_SETTING_OPTION};

/// What to record, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordRequest {
    /// The config, and what the command line adds to it.
    pub config: ConfigRequest,
    /// Where the trace goes, unless the config has `output_path`.
    pub out: Option<OsString>,
    /// An existing file is an error.
    pub no_clobber: bool,
    /// Whether the program stays in the foreground.
    pub background: Background,
    /// The descriptor to notify when data sources have started.
    pub notify_fd: Option<u32>,
    /// Lost data is a failure.
    pub strict: bool,
    /// The key to detach the session under.
    pub detach: Option<String>,
}

/// Whether the program stays in the foreground.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Background {
    /// It stays in the foreground.
    No,
    /// It goes to the background once the service has accepted the session.
    Start,
    /// It goes to the background once all data sources have started.
    Wait,
}

/// The program that records. The default config depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// `perfetto` needs a config or light mode.
    Perfetto,
    /// `tracebox` has data sources of its own, and a default config for them.
    Tracebox,
}

impl RecordRequest {
    /// The request of the options that `perfetto`, `tracebox` and `tracebox record` share.
    ///
    /// # Errors
    /// When two options exclude each other, or one of them is not valid.
    pub fn from_args(args: &TraceArgs, program: Program) -> Result<Self, Failure> {
        let attributes = args.add_attribute.iter().map(|text| attribute(text));
        Ok(Self {
            config: ConfigRequest {
                source: config_source(args, program)?,
                attributes: attributes.collect::<Result<_, _>>()?,
                notes: args.add_note.iter().map(|text| note(text)).collect::<Result<_, _>>()?,
                statsd: TraceConfigStatsdMetadata {
                    triggering_alert_id: args.alert_id,
                    triggering_config_uid: args.config_uid,
                    triggering_config_id: args.config_id,
                    triggering_subscription_id: args.subscription_id,
                    ..TraceConfigStatsdMetadata::default()
                },
            },
            out: args.out.clone(),
            no_clobber: args.no_clobber,
            background: Background::No,
            notify_fd: None,
            strict: args.strict,
            detach: None,
        })
    }

    /// Loads the config of this request.
    ///
    /// # Errors
    /// When it cannot be read, is not valid, or contradicts the command line.
    pub fn load_config(&self, purpose: builtin::Purpose) -> Result<TraceConfig, Failure> {
        let config = config::load(&self.config, purpose)?;
        self.check(&config)?;
        Ok(config)
    }

    /// How the user can make the buffer larger.
    #[must_use]
    pub fn buffer_setting(&self) -> &'static str {
        match self.config.source {
            ConfigSource::Light(_) | ConfigSource::Default(_) => BUFFER_SETTING_OPTION,
            ConfigSource::Files { .. } | ConfigSource::Test => BUFFER_SETTING_CONFIG,
        }
    }

    /// Data sources of the config that are not missed when no producer registers them.
    #[must_use]
    pub fn optional_sources(&self) -> &'static [&'static str] {
        match self.config.source {
            // The default config has it for commands that do have track events.
            ConfigSource::Default(_) => &["track_event"],
            _ => &[],
        }
    }

    /// Checks that `config` goes with the command line.
    fn check(&self, config: &TraceConfig) -> Result<(), Failure> {
        if !config.activate_triggers.is_empty() {
            // Such a config only fires triggers, and needs no output.
            return Ok(());
        }
        let into_file = config.write_into_file == Some(true);
        match (&config.output_path, &self.out) {
            (Some(path), Some(_)) => {
                let text = format!("the config has output_path {path:?}: it does not go with -o");
                return Err(Failure::new(text));
            }
            (Some(path), None) if Path::new(path).exists() => {
                return Err(Failure::new(format_args!("output_path {path:?} exists already")));
            }
            (Some(_), None) if !into_file => return refuse("output_path needs write_into_file"),
            (None, None) => {
                return refuse(
                    "say with -o where to write the trace, for example `-o trace.pftrace`",
                );
            }
            _ => {}
        }
        if self.detach.is_some() && !into_file {
            return refuse("--detach needs a config with write_into_file");
        }
        Ok(())
    }
}

fn refuse<T>(text: &str) -> Result<T, Failure> {
    Err(Failure::new(text))
}

fn config_source(args: &TraceArgs, program: Program) -> Result<ConfigSource, Failure> {
    if args.txt && args.txt_lossy {
        return refuse("--txt and --txt-lossy exclude each other");
    }
    if (args.txt || args.txt_lossy) && args.config.is_empty() {
        return refuse("--txt says how to read a config: name one with -c");
    }
    if args.config.iter().any(|name| name == ":mem") {
        return refuse("the config :mem is not in this version");
    }
    if args.config.iter().any(|name| name == ":test") {
        if args.config.len() > 1 || args.is_light() {
            return refuse("-c :test is a whole config: no other one and no light mode go with it");
        }
        return Ok(ConfigSource::Test);
    }
    let no_events = args.words.is_empty() && args.app.is_empty();
    let without_files = match (args.config.is_empty(), program) {
        (false, _) if !args.is_light() => None,
        (true, Program::Perfetto) if !args.is_light() => {
            return refuse("say what to record: a config (-c), or -t, -b, or events (see --help)");
        }
        (_, Program::Tracebox) if no_events => Some(ConfigSource::Default(light::read(args)?)),
        _ => Some(ConfigSource::Light(light::read(args)?)),
    };
    let format = match (args.txt, args.txt_lossy) {
        (false, false) => ConfigFormat::Binary,
        (_, lossy) => ConfigFormat::Text { lossy },
    };
    match without_files {
        Some(source) if args.config.is_empty() => Ok(source),
        if_empty => {
            let (paths, if_empty) = (args.config.clone(), if_empty.map(Box::new));
            Ok(ConfigSource::Files { paths, format, if_empty })
        }
    }
}

/// The attribute of `key=value`, or of a key alone. The value is text even if it looks like a number, as upstream
/// has it.
fn attribute(text: &str) -> Result<TraceAttributesAttribute, Failure> {
    let (key, value) = key_and_value("--add-attribute", text)?;
    Ok(string_attribute(key, value))
}

/// A note as v56 has it; later versions have attributes instead.
fn note(text: &str) -> Result<TraceConfigNote, Failure> {
    let (key, value) = key_and_value("--add-note", text)?;
    Ok(TraceConfigNote {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
        ..TraceConfigNote::default()
    })
}

fn key_and_value<'t>(option: &str, text: &'t str) -> Result<(&'t str, &'t str), Failure> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() {
        return Err(Failure::new(format_args!("{option} {text:?} has no key")));
    }
    Ok((key, value))
}

/// An attribute of a trace whose value is text.
#[must_use]
pub fn string_attribute(key: &str, value: &str) -> TraceAttributesAttribute {
    TraceAttributesAttribute {
        key: Some(key.to_owned()),
        value: Some(TraceAttributesAttributeValue::StringValue(value.to_owned())),
        ..TraceAttributesAttribute::default()
    }
}

#[cfg(test)]
mod tests;
