use protos::InterceptorConfig;

use super::registry::Registry;
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

/// `cat!` has a static at each call site.
#[test]
fn statics_of_one_name_are_one_category() {
    static FIRST: Category = Category::new("source.same");
    static SECOND: Category = Category::new("source.same").tags(&["slow"]);
    static OTHER: Category = Category::new("source.other");
    static UNLISTED: Category = Category::unlisted("source.unlisted", &[]);
    let mut registry = Registry::new();
    // True: consumers are told.
    assert!(registry.register(&FIRST));
    assert!(!registry.register(&SECOND));
    assert!(!registry.register(&UNLISTED));
    assert!(registry.register(&OTHER));
    assert!(!registry.register(&FIRST));
    assert_eq!(FIRST.iid(), SECOND.iid());
    assert!(FIRST.iid() != OTHER.iid() && OTHER.iid() != UNLISTED.iid());
}
