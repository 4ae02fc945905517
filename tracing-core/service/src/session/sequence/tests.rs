use super::*;
use crate::accounts::{Resource, User};

const LEFT_OUT_MAX: usize = limits::LEFT_OUT_PER_SESSION_MAX;

/// A session's sequences, whose user may have so much memory.
struct Paid {
    ids: SequenceIds,
    charge: BufferCharge,
    accounts: Accounts,
}

impl Paid {
    fn new(memory_bytes: u64) -> Self {
        let accounts = Accounts::with_memory(memory_bytes);
        Self { ids: ids(), charge: BufferCharge::new(42), accounts }
    }

    fn id(&mut self, sequence: SequenceKey) -> u32 {
        let Self { ids, charge, accounts } = self;
        Numbering { ids, charge, accounts }.id(sequence)
    }
}

impl Paid {
    fn place_of(&self, sequence: SequenceKey) -> (u32, WriterId) {
        (self.ids.owner((sequence.producer, sequence.identity)).unwrap(), sequence.writer)
    }

    fn leave_out(&mut self, sequence: SequenceKey, dropped: u32) {
        let Self { ids, charge, accounts } = self;
        Numbering { ids, charge, accounts }.leave_out(sequence, dropped);
    }
}

impl SequenceIds {
    /// Without an account.
    fn id(&mut self, sequence: SequenceKey) -> u32 {
        let (mut charge, mut accounts) = (BufferCharge::new(0), Accounts::default());
        Numbering { ids: self, charge: &mut charge, accounts: &mut accounts }.id(sequence)
    }
}

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
        clones.push(source.of_clone());
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

/// Many producers of one user, with few sequences each, do not cost the large producer of another user its numbers.
#[test]
fn the_user_with_the_most_sequences_loses_them() {
    let limits = Limits { sequences_per_session_max: 200, ..Limits::DEFAULT };
    let mut source = SequenceIds::new(&limits);
    let of = |uid, producer, writer| SequenceKey {
        producer: ProducerId::new(producer),
        identity: Identity { uid, pid: None, machine_id: 0 },
        writer: WriterId::new(writer),
    };
    let honest = |source: &mut SequenceIds| -> Vec<u32> {
        (1..=50).map(|writer| source.id(of(1, 1, writer))).collect()
    };
    let numbers = honest(&mut source);
    for number in 0..10_000_u16 {
        source.id(of(2, 2 + number / 10, number % 10 + 1));
        assert!(source.len() <= 200);
    }
    assert_eq!(honest(&mut source), numbers);
}

/// A session pays for its sequences in pieces, all but the first ones.
#[test]
fn sequences_are_charged() {
    let mut session = Paid::new(0);
    for number in 0..20_000 {
        assert_eq!(session.id(key(number)), number + 2);
        let (takes, charged) = (session.ids.memory_bytes(), session.charge.bytes());
        let bytes_max = charged + limits::SEQUENCES_PIECE_BYTES;
        assert!(
            takes <= bytes_max && bytes_max < takes + 2 * limits::SEQUENCES_PIECE_BYTES,
            "{takes}"
        );
        assert_eq!(session.accounts.held(User::local(42), Resource::Buffers), charged);
    }
    assert!(session.charge.bytes() > 0);
    // A clone has its own account.
    let mut clone = session.ids.of_clone();
    assert_eq!(clone.charged, session.ids.memory_bytes());
    assert_eq!(clone.id(key(7)), 9);
}

/// Each may be of another producer, which takes more.
#[test]
fn producers_of_sequences_are_charged() {
    let mut session = Paid::new(0);
    for uid in 0..20_000 {
        let identity = Identity { uid, pid: None, machine_id: 0 };
        session.id(SequenceKey { identity, ..key(0) });
    }
    let Known { ids, owners } = &session.ids.own;
    let takes = ids.memory_bytes() + owners.memory_bytes();
    let charged = session.charge.bytes() + limits::SEQUENCES_PIECE_BYTES;
    assert!(takes <= charged && takes > 20_000 * 32, "{takes} of {charged}");
}

/// A session whose user has no memory left forgets sequences, and has as many as are paid for.
#[test]
fn a_user_without_memory_has_few_sequences() {
    let share = 3 * limits::SEQUENCES_PIECE_BYTES;
    let mut session = Paid::new(2 * share as u64);
    let identity = Identity { uid: 60_000, pid: None, machine_id: 0 };
    let lone = SequenceKey { identity, ..key(0) };
    let number = session.id(lone);
    let mut moved = 0;
    for number in 0..100_000 {
        assert_eq!(session.id(key(number)), number + 3);
        assert!(session.ids.memory_bytes() <= share + limits::SEQUENCES_PIECE_BYTES);
        moved += session.ids.take_moved();
    }
    assert_eq!(session.charge.bytes(), share);
    assert!(session.accounts.refused_to(User::local(42), Resource::Buffers) > 0, "it is counted");
    assert!((100_000..400_000).contains(&moved), "{moved} were moved");
    assert_eq!(session.id(lone), number, "that of the producer with few sequences is kept");
}

/// What is to be told of packets that were left out is on the account, too, and a clone tells it as well.
#[test]
fn what_was_left_out_is_told_once() {
    let mut session = Paid::new(0);
    for number in 0..5000 {
        session.leave_out(key(number), 4);
        session.leave_out(key(number), 16);
        let (takes, charged) = (session.ids.memory_bytes(), session.charge.bytes());
        assert!(takes <= charged + limits::SEQUENCES_PIECE_BYTES);
    }
    assert!(
        session.ids.memory_bytes() >= (5000 + LEFT_OUT_MAX) * limits::SEQUENCE_BYTES,
        "two entries for each that is remembered"
    );
    assert_eq!(session.ids.share(), LEFT_OUT_MAX, "a clone copies them");
    let mut clone = session.ids.of_clone();
    for ids in [&mut session.ids, &mut clone] {
        assert_eq!(ids.take_left_out(key(7)), 1 | 4 | 16);
        assert_eq!(ids.take_left_out(key(7)), 0);
        assert_eq!(ids.take_left_out(key(6000)), 0);
    }
}

/// A clone copies what is to be told in one step: there are so many at most.
#[test]
fn of_so_many_sequences_it_is_told_that_packets_were_left_out() {
    let mut session = Paid::new(0);
    let all = LEFT_OUT_MAX as u32;
    let before: Vec<u32> = (0..=all).map(|number| session.id(key(number))).collect();
    session.ids.share();
    // One that is left out again and again takes one number.
    for number in (0..=all).chain([all; 10]) {
        session.leave_out(key(number), 0);
    }
    // One that has a place keeps it.
    session.leave_out(key(0), 4);
    assert_eq!(session.ids.share(), LEFT_OUT_MAX);
    let now: Vec<u32> = (0..=all).map(|number| session.id(key(number))).collect();
    assert_eq!(now.split_last(), Some((&(before[LEFT_OUT_MAX] + 1), &before[..LEFT_OUT_MAX])));
    let told = [0, all - 1, all].map(|number| session.ids.take_left_out(key(number)));
    assert_eq!(told, [1 | 4, 1, 0]);
    session.leave_out(key(all), 0);
    assert_eq!(session.ids.take_left_out(key(all)), 1, "there is a place again");
}

/// A sequence with a new number tells nothing of the one with the old number.
#[test]
fn what_was_left_out_is_forgotten_with_its_sequence() {
    let limits = Limits { sequences_per_session_max: 8, ..Limits::DEFAULT };
    let mut session = Paid { ids: SequenceIds::new(&limits), ..Paid::new(0) };
    for number in 0..100 {
        session.leave_out(key(number), 0);
        assert!(session.ids.left_out.len() <= session.ids.len() && session.ids.len() <= 8);
        assert!(session.ids.left_out.contains_key(&session.place_of(key(number))));
    }
}
