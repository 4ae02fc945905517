//! What a session leaves behind is forgotten, and its memory goes back to the system, in pieces: other peers are served
//! between them.

use super::clone::ask;
use super::turns::{bounded, holding_some, large_buffer, session_of_many, turns};
use super::*;
use service::limits;

/// Bytes of a piece.
const PIECE: usize = 4 << 20;

/// Pages of 32 KiB: more than two pieces.
const PAGES: usize = 2 * PIECE / (32 * 1024) + 8;

/// A service that waits between its turns, with a session that has [`PAGES`] pages in its buffer.
fn filled() -> (Shell, MockProducer, MockConsumer) {
    filled_as(large_buffer(&["ds"]))
}

fn filled_as(config: TraceConfig) -> (Shell, MockProducer, MockConsumer) {
    let mut shell = Shell::new();
    let (producer, _) = holding_some(&mut shell, "ds", (PAGES, PAGES));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    shell.work_waits = true;
    (shell, producer, consumer)
}

fn retired(shell: &Shell) -> usize {
    shell.service.footprint().retired_bytes
}

/// Does turns until all is freed, which costs a sixteenth of its bytes. Returns how many turns there were.
fn free(shell: &mut Shell) -> usize {
    let (mut turns, begun) = (0, shell.service.work());
    while retired(shell) > 0 {
        let before = retired(shell);
        assert!(shell.service.has_work(), "the service is due");
        shell.turn();
        assert!(retired(shell) < before);
        turns += 1;
    }
    let cost = (shell.service.work() - begun) as usize;
    assert!((turns * PIECE / 32..=turns * PIECE / 16).contains(&cost), "{cost} in {turns} turns");
    turns
}

#[test]
fn the_buffer_of_a_session_is_freed_in_pieces() {
    let (mut shell, _producer, consumer) = filled();
    consumer.disconnect(&mut shell);
    while shell.service.footprint().sessions > 0 {
        shell.turn();
    }
    assert_eq!(shell.service.footprint().buffers, 0);
    assert_eq!(free(&mut shell), 3);
    assert!(!shell.service.has_work());
}

/// A session waits until the memory of the last one is freed: the memory of both together may be more than there is.
#[test]
fn a_session_begins_when_the_memory_of_the_last_one_is_freed() {
    let (mut shell, _producer, consumer) = filled();
    consumer.disconnect(&mut shell);
    while shell.service.footprint().sessions > 0 {
        shell.turn();
    }
    let mut next = MockConsumer::connect(&mut shell, 0);
    next.enable(&mut shell, large_buffer(&["ds"]), None);
    assert!(shell.service.is_busy(next.client));
    // Others do not wait.
    let mut other = MockConsumer::connect(&mut shell, 1000);
    other.enable(&mut shell, config(&["none"]), None);
    assert_eq!(shell.service.footprint().sessions, 1);
    let mut turns = 0;
    while shell.service.footprint().sessions == 1 {
        assert!(shell.service.has_work(), "the service is due");
        let (before, waits) = (shell.service.work(), retired(&shell) > PIECE);
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(!waits || cost <= (PIECE / 16) as u64 + limits::WORK_PER_REQUEST, "{cost}");
        turns += 1;
    }
    assert_eq!(retired(&shell), 0);
    assert!(turns >= 3, "{turns}");
}

/// A session waits while a clone is copied from the buffer of the last one.
#[test]
fn a_session_begins_when_no_clone_is_copied_from_the_last_one() {
    let (mut shell, _producer, consumer) = filled();
    shell.service.set_clone_piece(PIECE);
    let (_clone, _) = ask(&mut shell, 0, None);
    while !shell.service.copies_clones() {
        shell.turn();
    }
    let source = shell.service.last_session();
    consumer.disconnect(&mut shell);
    while shell.service.view(source).is_some() {
        shell.turn();
    }
    assert_eq!((shell.service.footprint().detached_buffers, retired(&shell)), (1, 0));
    let mut next = MockConsumer::connect(&mut shell, 0);
    next.enable(&mut shell, large_buffer(&["ds"]), None);
    assert!(shell.service.is_busy(next.client));
    while shell.service.session_of(next.client).is_none() {
        assert!(shell.service.has_work(), "the service is due");
        shell.turn();
    }
    assert_eq!((shell.service.footprint().detached_buffers, retired(&shell)), (0, 0));
}

/// Each consumer that waits is looked at in each turn.
#[test]
fn consumers_that_wait_cost_work() {
    const COUNT: usize = 100;
    let (mut shell, _producer, consumer) = filled();
    consumer.disconnect(&mut shell);
    while shell.service.footprint().sessions > 0 {
        shell.turn();
    }
    for _ in 0..COUNT {
        let mut next = MockConsumer::connect(&mut shell, 0);
        next.enable(&mut shell, large_buffer(&["ds"]), None);
    }
    assert!(retired(&shell) > PIECE);
    let before = shell.service.work();
    shell.turn();
    let cost = shell.service.work() - before - (PIECE / 16) as u64;
    assert!(cost >= COUNT as u64 * limits::WORK_PER_ENTRY, "{cost}");
}

/// What is left of a session is on the account of its user until it is freed.
#[test]
fn memory_that_is_not_freed_yet_counts() {
    let (mut shell, _producer, consumer) = filled();
    consumer.disconnect(&mut shell);
    while shell.service.footprint().sessions > 0 {
        shell.turn();
    }
    while retired(&shell) > 0 {
        let held = shell.service.footprint();
        assert!(held.buffer_bytes_charged >= held.retired_bytes, "{held:?}");
        assert_eq!(held.buffer_bytes_charged, held.buffer_bytes);
        shell.turn();
    }
    assert_eq!(shell.service.footprint().buffer_bytes_charged, 0);
}

/// A buffer that is emptied before each clone goes on with its memory: it is not there twice.
#[test]
fn a_buffer_that_is_emptied_before_a_clone_keeps_its_memory() {
    let mut config = large_buffer(&["ds"]);
    config.buffers[0].clear_before_clone = Some(true);
    let (mut shell, _producer, _consumer) = filled_as(config);
    let (clone, call) = ask(&mut shell, 0, None);
    assert_eq!(retired(&shell), 0);
    let answer = loop {
        match clone.cloned(&mut shell, call) {
            Some(answer) => break answer,
            None => shell.advance_ms(1000),
        }
        shell.turn();
    };
    assert_eq!(answer.success, Some(true), "{answer:?}");
}

#[test]
fn a_clone_that_is_given_up_is_freed_in_pieces() {
    let (mut shell, _producer, _consumer) = filled();
    shell.service.set_clone_piece(PIECE + 4096);
    let (clone, _) = ask(&mut shell, 0, None);
    while !shell.service.copies_clones() {
        shell.turn();
    }
    clone.disconnect(&mut shell);
    while shell.service.footprint().pending_clones > 0 {
        shell.turn();
    }
    assert_eq!(shell.service.footprint().sessions, 1, "the source goes on");
    assert!(free(&mut shell) >= 2);
}

#[test]
fn the_instances_of_a_session_that_is_freed_are_forgotten_in_pieces() {
    let mut shell = Shell::new();
    let (_offering, consumer) = session_of_many(&mut shell, 2000, false);
    consumer.disable(&mut shell);
    shell.advance_ms(1000);
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.free(shell));
    let left = shell.service.footprint().instances;
    assert!((1..2000).contains(&left), "{left} instances");
    assert_eq!(shell.service.footprint().sessions, 1);
    turns(&mut shell);
    let held = shell.service.footprint();
    assert_eq!((held.sessions, held.instances, held.config_bytes_charged), (0, 0, 0));
}

#[test]
fn the_producers_of_a_session_that_is_freed_are_let_go_in_pieces() {
    let mut shell = Shell::new();
    let mut all = Vec::new();
    for _ in 0..600 {
        let producer = producer(&mut shell, "p");
        let descriptor = DataSourceDescriptor { no_flush: Some(true), ..descriptor("ds") };
        producer.register(&mut shell, descriptor);
        all.push(producer);
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    consumer.disable(&mut shell);
    shell.advance_ms(1000);
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.free(shell));
    assert_eq!(shell.service.footprint().sessions, 1);
    turns(&mut shell);
    let held = shell.service.footprint();
    assert_eq!((held.sessions, held.stale_grants), (0, 0));
}
