//! Asks the service what it is.

use std::ffi::OsStr;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use protos::TracingServiceState;
use tracing_core::client::consumer::Consumer;
use tracing_core::os::process::effective_uid;
use tracing_core::os::socket::Address;

use super::super::facts::{Answer, Service};
use super::part::started;
use crate::perfetto::query::items;
use crate::recorder::consumer_error::request_failure;

/// Asks the service at `address`, for at most `wait`.
pub(super) fn ask(address: &OsStr, wait: Duration) -> Service {
    let address = match Address::parse(address) {
        Ok(address) => address,
        Err(error) => return Service::Failed(error.to_string()),
    };
    let begun = Instant::now();
    let answer = started(move || {
        let mut consumer = Consumer::connect(&address).map_err(|error| error.to_string())?;
        consumer.query_service_state(false).map_err(|error| request_failure(error).text)
    });
    match answer.recv_timeout(wait) {
        Ok(Ok(state)) => {
            Service::Answers(read(&state, begun.elapsed(), effective_uid().cast_signed()))
        }
        Ok(Err(why)) => Service::Failed(why),
        Err(RecvTimeoutError::Timeout) => Service::Silent(ms(wait)),
        Err(RecvTimeoutError::Disconnected) => {
            Service::Failed("this system has no threads left".to_owned())
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The answer of a service, for user `uid`.
pub(super) fn read(state: &TracingServiceState, took: Duration, uid: i32) -> Answer {
    let sources = state.data_sources.iter();
    let mut data_sources: Vec<String> =
        sources.filter_map(|source| source.ds_descriptor.as_ref()?.name.clone()).collect();
    data_sources.sort_unstable();
    data_sources.dedup();
    let account = state.accounts.iter().find(|account| account.uid == Some(uid));
    let refused = account.into_iter().flat_map(items);
    let refused = refused.filter_map(|(name, item)| Some((name, item?.refused?)));
    Answer {
        version: state.tracing_service_version.clone().unwrap_or_default(),
        ms: ms(took),
        producers: state.producers.len(),
        sessions: state.num_sessions.unwrap_or(0).try_into().unwrap_or(0),
        data_sources,
        refused: refused.filter(|(_, count)| *count > 0).collect(),
    }
}
