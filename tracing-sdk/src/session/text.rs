//! Configs in the text form, parsed by the whole schema: a config may set fields of data sources that this program has
//! no code for.

use std::sync::LazyLock;

use protos::TraceConfig;
use protozero::Message as _;
use protozero::dynamic::Pool;
use protozero::text::{self, Options};

use super::error::SessionError;

static POOL: LazyLock<Option<Pool>> =
    LazyLock::new(|| Pool::decode(protos::FILE_DESCRIPTOR_SET).ok());

pub(super) fn parse(config: &str) -> Result<TraceConfig, SessionError> {
    let failed = |error: &dyn core::fmt::Display| {
        SessionError::Config(format!("the config is not valid\n{error}"))
    };
    let schema = POOL.as_ref().and_then(|pool| pool.message("perfetto.protos.TraceConfig"));
    let schema = schema.ok_or_else(|| failed(&"this build has no schema"))?;
    let options = Options { file: "config", ..Options::default() };
    let message = text::parse_message(&schema, config.as_bytes(), &options)
        .map_err(|error| failed(&error))?;
    // Fields that this build has no code for stay in the unknown fields.
    TraceConfig::decode(&message.encode()).map_err(|error| failed(&error))
}
