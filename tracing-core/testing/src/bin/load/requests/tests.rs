use super::*;

#[test]
fn there_is_a_request_of_each_method() {
    let (mut random, mut known) = (Random::new(1), Known::default());
    for method in ProducerPort::METHODS {
        let request = of(method.name, &mut random, &mut known);
        let name = request.as_ref().map(ProducerPort::method_name);
        assert_eq!(name, Some(method.name));
    }
    assert!(of("Other", &mut random, &mut known).is_none());
}
