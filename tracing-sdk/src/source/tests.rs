use protos::InterceptorConfig;

use super::*;

#[test]
fn a_session_adopts_only_what_goes_the_same_way() {
    let source = TrackEventSource::new(Some(can_adopt));
    let usual = config_of(only(&["net"]));
    let name = Some("console".to_owned());
    let interceptor_config = Some(InterceptorConfig { name, ..Default::default() });
    let intercepted = DataSourceConfig { interceptor_config, ..usual.clone() };
    assert!(source.can_adopt(&usual, &usual) && source.can_adopt(&intercepted, &intercepted));
    assert!(!source.can_adopt(&usual, &intercepted) && !source.can_adopt(&intercepted, &usual));
}
