use super::*;
use os::socket::Address;

#[test]
fn there_is_a_request_of_each_method() {
    let nowhere = Address::parse("@nowhere").unwrap();
    let target = Target::new(nowhere.clone(), nowhere);
    let mut random = Random::new(1);
    for method in ConsumerPort::METHODS {
        let request = of(method.name, &target, &mut random);
        let name = request.as_ref().map(ConsumerPort::method_name);
        assert_eq!(name, Some(method.name));
    }
    assert!(of("Other", &target, &mut random).is_none());
}

#[test]
fn sessions_ask_for_hostile_producers_and_for_honest_ones() {
    let nowhere = Address::parse("@nowhere").unwrap();
    let target = Target::new(nowhere.clone(), nowhere);
    target.learn(["siege.honest".to_owned(), SOURCE.to_owned()]);
    let mut random = Random::new(1);
    let configs: Vec<_> = (0..100).map(|_| config(&target, &mut random)).collect();
    let asks = |name: &str| {
        let mut sources = configs.iter().flat_map(|config| &config.data_sources);
        sources.any(|it| it.config.as_ref().is_some_and(|it| it.name.as_deref() == Some(name)))
    };
    assert!(asks(SOURCE) && asks("siege.honest"));
    assert_eq!(target.sources(), ["siege.honest"]);
}
