//! The session that is best for a bug report, among those of several users.

use super::clone::{by_id, done, refused};
use super::*;

/// A session of that user.
fn scored(shell: &mut Shell, uid: u32, score: i32) -> MockConsumer {
    let mut consumer = MockConsumer::connect(shell, uid);
    let name = Some(format!("of {uid}"));
    let config =
        TraceConfig { bugreport_score: Some(score), unique_session_name: name, ..config(&[]) };
    consumer.enable(shell, config, None);
    consumer
}

/// The name of the session of which a user gets a clone.
fn best(shell: &mut Shell, uid: u32) -> Option<String> {
    let clone = MockConsumer::connect(shell, uid);
    let call = clone.clone_session(shell, by_id(u64::MAX), None);
    shell.advance_ms(1);
    done(shell, &clone, call);
    let packets = clone.read(shell);
    packets.into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => config.unique_session_name.clone(),
        _ => None,
    })
}

/// Upstream takes the session with the highest score of all users, and then refuses it to all but its own user.
#[test]
fn a_user_gets_the_best_of_its_own_sessions() {
    let mut shell = Shell::new();
    let _sessions =
        [(5, 1), (6, i32::MAX), (0, 7)].map(|(uid, score)| scored(&mut shell, uid, score));
    for uid in [5, 6] {
        assert_eq!(best(&mut shell, uid), Some(format!("of {uid}")));
    }
    assert_eq!(best(&mut shell, 0).as_deref(), Some("of 6"), "root may have all");
    let nobody = MockConsumer::connect(&mut shell, 7);
    let call = nobody.clone_session(&mut shell, by_id(u64::MAX), None);
    refused(&mut shell, &nobody, call, "Tracing session not found");
}
