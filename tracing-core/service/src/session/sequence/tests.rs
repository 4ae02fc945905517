use super::*;

fn ids() -> SequenceIds {
    SequenceIds::new(&Limits::DEFAULT)
}

/// The sequence of one of many producers with ten writers each.
fn key(number: u32) -> SequenceKey {
    let producer = ProducerId::new((number / 10 + 1) as u16);
    let identity = Identity { uid: number / 100, pid: None, machine_id: 0 };
    SequenceKey { producer, identity, writer: WriterId::new((number % 10 + 1) as u16) }
}

#[test]
fn clones_share_what_their_source_knows() {
    let mut source = ids();
    let numbers: Vec<u32> = (0..1000).map(|number| source.id(key(number))).collect();
    let mut clones = Vec::new();
    for next in 1000..1016 {
        source.share();
        clones.push(source.clone());
        // What each side meets later is its own.
        assert_eq!(clones.last_mut().unwrap().id(key(5000)), next + 2);
        assert_eq!(source.id(key(next)), next + 2);
    }
    let of_first = clones[0].shared[0].clone();
    for clone in &mut clones {
        assert!(Arc::ptr_eq(&clone.shared[0], &of_first));
        assert!(clone.own.ids.len() == 1 && clone.shared.len() <= 6, "{}", clone.shared.len());
        let again: Vec<u32> = (0..1000).map(|number| clone.id(key(number))).collect();
        assert_eq!(again, numbers);
    }
}

#[test]
fn there_are_few_parts_however_often_it_is_shared() {
    let mut source = ids();
    let mut copied = 0;
    for number in 0..10_000 {
        assert_eq!(source.id(key(number)), number + 2);
        copied += source.share();
        assert_eq!(source.share(), 0, "nothing is new");
        assert!(source.shared.len() <= 14, "{} parts", source.shared.len());
    }
    assert!(copied < 10_000 * 20, "{copied} were copied");
    assert_eq!(source.len(), 10_000);
    for number in 0..10_000 {
        assert_eq!(source.id(key(number)), number + 2);
    }
}

#[test]
fn what_is_forgotten_may_be_shared() {
    let limits = Limits { sequences_per_session_max: 8, ..Limits::DEFAULT };
    let mut source = SequenceIds::new(&limits);
    let lone = SequenceKey { producer: ProducerId::new(9), ..key(0) };
    let number = source.id(lone);
    for number in 0..9 {
        source.share();
        source.id(key(number));
        assert!(source.len() <= 8);
    }
    assert_eq!(source.id(lone), number, "that of the producer with few sequences is kept");
}
