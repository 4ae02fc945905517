use super::check;

fn error(words: &[&str]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    check(&words).err().map(|failure| failure.text)
}

#[test]
fn words() {
    assert_eq!(error(&[]), None);
    assert_eq!(
        error(&["sched", "freq", "idle", "disk", "gfx", "hyp", "irq", "no/such", "power/*"]),
        None
    );
    let near = error(&["sched", "frq"]).unwrap();
    assert!(
        near.starts_with("\"frq\" is no category of events; did you mean freq or irq? Cat"),
        "{near}"
    );
    let all = "binder_driver, binder_lock, camera, disk, freq, gfx, i2c, idle, ion, irq, irqoff, load, membus, memory, \
               memreclaim, mmc, pagecache, preemptoff, regulators, sched, sync, thermal, workq. A word";
    assert!(near.contains(all), "{near}");
    let event = error(&["sched_switch"]).unwrap();
    assert!(event.contains("; the event is sched/sched_switch. Categories: "), "{event}");
    let far = error(&["zzzzzz"]).unwrap();
    assert!(
        far.starts_with("\"zzzzzz\" is no category of events. Categories: binder_driver"),
        "{far}"
    );
    assert!(error(&[""]).is_some());
    for word in ["/bin/ls", "sched/", "/sched_switch", "events/sched/sched_switch"] {
        let expected = format!("{word:?} is no event: the name of an event is GROUP/NAME, as in ");
        let error = error(&["sched", word]).unwrap_or_default();
        assert!(error.starts_with(&expected), "{error}");
    }
}
