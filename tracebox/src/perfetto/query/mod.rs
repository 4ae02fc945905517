//! `--query`: prints the state of a service.

mod account;
pub mod json;
pub mod table;

pub(crate) use self::account::items;

use std::io::{IsTerminal, Write};

use protozero::Message;
use tracing_core::client::consumer::Consumer;

use crate::console;
use crate::failure::{Ending, Failure};
use crate::plan::QueryFormat;
use crate::recorder::consumer_error::request_failure;

/// Prints the state of the service that `consumer` is connected to.
///
/// # Errors
/// When the service does not answer, or stdout cannot be written.
pub fn run(consumer: &mut Consumer, form: QueryFormat) -> Ending {
    let mut stdout = std::io::stdout().lock();
    if form == QueryFormat::Raw && stdout.is_terminal() {
        return Err(Failure::new("--query-raw is binary: not written to a terminal"));
    }
    let state = consumer.query_service_state(false).map_err(request_failure)?;
    let bytes = match form {
        QueryFormat::Raw => state.encode_to_vec(),
        QueryFormat::Json => json::print(&state).into_bytes(),
        QueryFormat::Table { long } => table::table(&state, long).into_bytes(),
    };
    console::check_stdout(stdout.write_all(&bytes).and_then(|()| stdout.flush()))?;
    Ok(0)
}
