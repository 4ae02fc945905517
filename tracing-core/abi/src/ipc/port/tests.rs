use super::*;

/// A path that is there but empty is none.
#[test]
fn which_sessions_take_a_file() {
    let takes = |write_into_file, path: Option<&str>| {
        let config = protos::TraceConfig {
            write_into_file,
            output_path: path.map(str::to_owned),
            ..Default::default()
        };
        let request = protos::EnableTracingRequest {
            trace_config: Some(config.into()),
            ..Default::default()
        };
        ConsumerPort::takes_descriptor(&protos::consumer_port::Request::EnableTracing(request))
    };
    assert!(takes(Some(true), None) && takes(Some(true), Some("")));
    assert!(!takes(Some(true), Some("/a")) && !takes(Some(false), None) && !takes(None, None));
}
