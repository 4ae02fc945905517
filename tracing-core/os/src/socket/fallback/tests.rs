use super::*;

#[test]
fn a_service_of_another_user_is_refused_where_any_user_can_listen() {
    for (path, variable) in [
        (TMP_PRODUCER, "PERFETTO_PRODUCER_SOCK_NAME"),
        (TMP_CONSUMER, "PERFETTO_CONSUMER_SOCK_NAME"),
    ] {
        let address = Address::parse(path).unwrap();
        assert_eq!(variable_of(&address), Some(variable));
        let check = |service, own, named: Option<&str>| {
            check(&address, variable, service, own, named.map(Into::into))
        };
        for (service, own) in [(0, 0), (0, 1000), (1000, 1000)] {
            assert_eq!(check(service, own, None), Ok(()));
        }
        // A squatter, for root and for another user.
        for own in [0, 1000] {
            let error = check(1001, own, None).unwrap_err().to_string();
            assert!(error.contains("of user 1001") && error.contains(variable), "{error}");
            assert_eq!(check(1001, own, Some(path)), Ok(()));
            assert!(check(1001, own, Some("")).is_err(), "an empty variable counts as not set");
        }
    }
    for elsewhere in ["/run/perfetto/traced-producer.sock", "/tmp/other", "@perfetto", "host:1"] {
        assert_eq!(variable_of(&Address::parse(elsewhere).unwrap()), None);
    }
}
