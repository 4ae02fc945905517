//! Functions of sessions beside each other: the kernel records those of all, and each session keeps its own.

use crate::ftrace::config::Refusal;
use crate::ftrace::filter::Functions;
use crate::ftrace::mux::{Mux, SessionId};
use crate::ftrace::symbols::Symbols;

/// The functions of each session that will have records of others as soon as this one is started.
///
/// # Errors
/// The kernel does not tell where its functions are.
pub(super) fn functions_apart(
    mux: &Mux,
    id: SessionId,
    symbols: &Option<Symbols>,
    read_symbols: &dyn Fn() -> Result<Symbols, String>,
) -> Result<Vec<(SessionId, Functions)>, Refusal> {
    let apart = mux.functions_apart(id);
    if apart.is_empty() {
        return Ok(Vec::new());
    }
    let read;
    let symbols = match symbols {
        Some(symbols) => symbols,
        None => {
            read = read_symbols().map_err(|why| {
                Refusal(format!(
                    "function_filters: another session records other functions, and records of both cannot be told \
                     apart: {why}; or ask for the same functions"
                ))
            })?;
            &read
        }
    };
    let functions = |(id, names)| (id, Functions::named(names, symbols));
    Ok(apart.into_iter().map(functions).collect())
}
