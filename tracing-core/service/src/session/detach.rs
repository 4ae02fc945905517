//! Sessions that go on without a connection, and connections that take them over.
//!
//! A detached session has a key in place of a consumer. It ends by itself, by its duration or a trigger, and is gone
//! then: what it recorded stays only if it was written into a file. An empty key would name every session that is not
//! detached, so there is none.

use protos::AttachResponse;
use protozero::Message as _;

use super::life::SessionState;
use super::start::check_all_started;
use super::state::{Session, Sessions};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::error::SessionError;
use crate::step::Step;
use crate::triggers::tell_hits;
use abi::ids::ClientId;
use abi::sync::Arc;

/// Leaves the session of a consumer under a key.
///
/// # Errors
/// There is no session, or it is a clone, or the key is empty or taken.
pub(crate) fn detach(
    client: ClientId,
    key: &str,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Result<(), SessionError> {
    let consumer = consumers.get_mut(client).ok_or(SessionError::NoSession)?;
    let (uid, id) = (consumer.peer.uid, consumer.session.ok_or(SessionError::NoSession)?);
    if key.is_empty() {
        return Err(SessionError::EmptyKey);
    }
    if sessions.reachable().any(|s| s.uid == uid && s.detach_key.as_deref() == Some(key)) {
        return Err(SessionError::KeyTaken(key.to_owned()));
    }
    let session = sessions.get_mut(id).ok_or(SessionError::NoSession)?;
    if session.state() == SessionState::ClonedReadOnly {
        // It would never end.
        return Err(SessionError::IsClone);
    }
    consumer.leave_session();
    session.consumer = None;
    session.detach_key = Some(key.to_owned());
    consumers.end_read(client, &mut cx.out);
    // It may have ended, while this consumer had it, as one without a consumer does.
    cx.then(Step::ReportEnd(id));
    Ok(())
}

/// Gives a detached session to a consumer.
///
/// # Errors
/// The consumer has a session, or its user has none with that key.
pub(crate) fn attach<'a>(
    client: ClientId,
    key: &str,
    sessions: &'a mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Result<&'a Session, SessionError> {
    let consumer = consumers.get_mut(client).ok_or(SessionError::NoSession)?;
    if consumer.session.is_some() {
        return Err(SessionError::HasSession);
    }
    let uid = consumer.peer.uid;
    let found = sessions.values_mut().find(|s| {
        s.life.is_reachable()
            && s.uid == uid
            && !key.is_empty()
            && s.detach_key.as_deref() == Some(key)
    });
    let session = found.ok_or_else(|| SessionError::NotDetached(key.to_owned()))?;
    consumer.session = Some(session.id);
    session.detach_key = None;
    session.consumer = Some(client);
    if session.state() == SessionState::Disabled {
        // The session has ended: a consumer that asks for the end now is told at once.
        session.end_report.report_again();
    }
    check_all_started(session, consumers, cx);
    tell_hits(session, consumers, cx);
    Ok(session)
}

pub(crate) fn attach_response(session: &Session) -> Vec<u8> {
    let trace_config = Some(Arc::clone(&session.config));
    AttachResponse { trace_config, ..AttachResponse::default() }.encode_to_vec()
}
