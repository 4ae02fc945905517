//! What a consumer can do with sessions that are not its own any more, or never were.

use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, TraceConfig, TraceConfigBufferConfig,
};

use super::PATIENCE;
use crate::client::consumer::{Consumer, ConsumerError, Waited};
use crate::client::in_process::InProcessService;
use crate::client::serve::service_config;

fn service() -> InProcessService {
    InProcessService::start(service_config("test").unwrap(), Box::new(|_, _| {})).unwrap()
}

fn config() -> TraceConfig {
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        unique_session_name: Some("ring".into()),
        ..TraceConfig::default()
    }
}

fn by_name(name: &str) -> CloneSessionRequest {
    CloneSessionRequest {
        selector: Some(CloneSessionRequestSelector::UniqueSessionName(name.into())),
        ..CloneSessionRequest::default()
    }
}

fn packets(consumer: &mut Consumer) -> u64 {
    consumer.read_buffers(PATIENCE, |_| Ok(())).unwrap().packets
}

#[test]
fn a_clone_can_be_interrupted() {
    let service = service();
    let mut owner = service.consumer();
    owner.enable_tracing(&config(), None).unwrap();
    let mut interrupted = service.consumer();
    interrupted.waker().wake();
    let cloned = interrupted.clone_session(by_name("ring"), None);
    assert!(matches!(cloned, Err(ConsumerError::Interrupted)), "{cloned:?}");
    // For others nothing has changed, and the session goes on.
    let mut other = service.consumer();
    let response = other.clone_session(by_name("ring"), None).unwrap();
    assert_ne!(response.was_write_into_file, Some(true));
    assert!(packets(&mut other) > 0);
    let absent = service.consumer().clone_session(by_name("other"), None).unwrap_err();
    assert!(matches!(&absent, ConsumerError::Service(text) if text.contains("not found")));
    owner.disable_tracing().unwrap();
    assert_eq!(owner.wait(Some(PATIENCE)).unwrap(), Waited::Ended);
    assert!(packets(&mut owner) > 0);
}

#[test]
fn a_session_changes_hands() {
    let service = service();
    let mut first = service.consumer();
    assert!(matches!(first.detach("k"), Err(ConsumerError::Rejected("Detach"))));
    first.enable_tracing(&config(), None).unwrap();
    first.change_trace_config(&config()).unwrap();
    first.detach("k").unwrap();
    drop(first);
    let mut second = service.consumer();
    assert!(matches!(second.attach("other"), Err(ConsumerError::Rejected("Attach"))));
    second.attach("k").unwrap();
    second.disable_tracing().unwrap();
    assert_eq!(second.wait(Some(PATIENCE)).unwrap(), Waited::Ended);
    assert!(packets(&mut second) > 0);
}

/// They would be refused without words: only when a call is framed is it seen that it is too long.
#[test]
fn configs_that_fit_into_no_request() {
    let service = service();
    let mut consumer = service.consumer();
    let long = TraceConfig { unique_session_name: Some("x".repeat(128 * 1024)), ..config() };
    for result in [consumer.enable_tracing(&long, None), consumer.change_trace_config(&long)] {
        assert!(matches!(result, Err(ConsumerError::TooLong { .. })), "{result:?}");
    }
    consumer.enable_tracing(&config(), None).unwrap();
}
