use super::*;

#[test]
fn each_user_has_records_of_its_own() {
    let runtime = Path::new("/run/user/7");
    let of = |uid, runtime, probes_of: u32| {
        let owner = move |path: &Path| match path.to_str() {
            Some("/run/tracing-probes") => Some(probes_of),
            Some("/run/user/7") => Some(7),
            _ => None,
        };
        records_of(uid, runtime, owner).display().to_string()
    };
    assert_eq!(of(0, Some(runtime), 0), "/run/tracing-probes");
    assert_eq!(of(0, None, 7), "/run/tracing-probes");
    assert_eq!(of(7, Some(runtime), 7), "/run/tracing-probes");
    assert_eq!(of(7, Some(runtime), 0), "/run/user/7/tracing-probes");
    // That of another user, as `sudo -u` leaves it behind, and one that is none.
    assert_eq!(of(8, Some(runtime), 0), "/tmp/tracing-probes-8");
    assert_eq!(of(8, Some(Path::new("run")), 0), "/tmp/tracing-probes-8");
    assert_eq!(of(8, None, 0), "/tmp/tracing-probes-8");
}
