//! The request for a clone: which session, and how.

use protos::{CloneSessionRequest, CloneSessionRequestSelector};

use super::admission::RequestFile;
use super::events::TriggerHit;
use super::life::SessionState;
use super::state::{Session, Sessions};
use crate::effect_queue::Caller;
use abi::ids::SessionId;

/// The id that means "the session that is best for a bug report".
const BUGREPORT_SESSION: u64 = u64::MAX;

/// A request for a clone, with the file that came with it.
pub(crate) struct CloneCall<'a> {
    pub(crate) caller: Caller,
    pub(crate) request: &'a CloneSessionRequest,
    pub(crate) file: RequestFile,
}

/// What a request asks for.
pub(crate) struct Wanted {
    pub(crate) source: SessionId,
    pub(crate) skip_filter: bool,
    pub(crate) for_bugreport: bool,
}

/// Whether a user may have a clone of a session.
pub(crate) fn may_clone(uid: u32, session: &Session) -> bool {
    uid == 0 || uid == session.uid
}

/// The session that a request of a user names. It may be one that the user may not clone, unless the request asks for
/// the best one: upstream takes the best of all users, so a session of one user keeps others from theirs.
pub(crate) fn find_source(
    request: &CloneSessionRequest,
    uid: u32,
    sessions: &Sessions,
) -> Option<Wanted> {
    use CloneSessionRequestSelector::{SessionId as ById, UniqueSessionName as ByName};
    let mut live = sessions.reachable().filter(|s| !s.is_being_made());
    let mut skip_filter = request.skip_trace_filter.unwrap_or(false);
    let mut for_bugreport = request.for_bugreport.unwrap_or(false);
    let found = match request.selector.as_ref()? {
        ById(BUGREPORT_SESSION) => {
            (skip_filter, for_bugreport) = (true, true);
            let score = |s: &&Session| s.config.bugreport_score.unwrap_or(0);
            // The oldest of the best.
            live.filter(|s| s.state() == SessionState::Started && score(s) > 0)
                .filter(|s| may_clone(uid, s))
                .max_by_key(|s| (score(s), std::cmp::Reverse(s.id)))
        }
        ById(id) => live.find(|s| s.id == SessionId::new(*id)),
        ByName(name) => live.find(|s| {
            s.state() != SessionState::ClonedReadOnly && !name.is_empty() && s.name() == name
        }),
    };
    found.map(|s| Wanted { source: s.id, skip_filter, for_bugreport })
}

/// The trigger that the clone is made for, if one asked for it.
pub(crate) fn trigger(request: &CloneSessionRequest) -> Option<TriggerHit> {
    let name = request.clone_trigger_name.as_deref().filter(|name| !name.is_empty())?;
    Some(TriggerHit {
        at_ns: request.clone_trigger_boot_time_ns.unwrap_or(0),
        name: name.into(),
        producer: request.clone_trigger_producer_name.as_deref().unwrap_or_default().into(),
        uid: request.clone_trigger_trusted_producer_uid.unwrap_or(0) as u32,
        delay_ms: request.clone_trigger_delay_ms.unwrap_or(0),
    })
}
