//! What may follow from an input: how much the service may do for it at once depends on it.

use protos::consumer_port::Request as Consumer;
use protos::producer_port::Request as Producer;
use service::Input;

/// See the [module](self).
pub(super) enum Reach {
    /// An answer, and nothing else.
    Answer,
    /// Chunks go into buffers, and instances may be asked to begin anew.
    Chunks,
    /// Instances are set up.
    Instances,
    /// A session does something.
    Session,
    /// Each session does something.
    Sessions,
}

impl Reach {
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::ProducerRequest { request, .. } => Self::of_producer(request),
            Input::ConsumerRequest { request, .. } => Self::of_consumer(request),
            // It may end a flush of each session, and the stop of each.
            Input::ProducerDisconnected { .. } | Input::ProducerCut { .. } => Self::Sessions,
            Input::ProducerConnected { .. }
            | Input::ProducerRefused { .. }
            | Input::ConsumerConnected { .. }
            | Input::ShellCounted(_)
            | Input::Drained { .. } => Self::Answer,
            Input::ConsumerDisconnected { .. }
            | Input::FileCreated { .. }
            | Input::FileWritten { .. }
            | Input::PrioritySet { .. }
            | Input::FramesDecoded { .. } => Self::Session,
        }
    }

    fn of_producer(request: &Producer) -> Self {
        match request {
            // It may end a flush of each session.
            Producer::CommitData(commit) if commit.flush_request_id.unwrap_or(0) != 0 => {
                Self::Sessions
            }
            Producer::CommitData(_) => Self::Chunks,
            Producer::RegisterDataSource(_) => Self::Instances,
            Producer::UnregisterDataSource(_) | Producer::ActivateTriggers(_) => Self::Sessions,
            Producer::NotifyDataSourceStopped(_) => Self::Session,
            _ => Self::Answer,
        }
    }

    fn of_consumer(request: &Consumer) -> Self {
        match request {
            // An exclusive session ends all others.
            Consumer::EnableTracing(enable) => {
                let config = enable.trace_config.as_deref();
                match config.and_then(|config| config.exclusive_prio).unwrap_or(0) {
                    0 => Self::Session,
                    _ => Self::Sessions,
                }
            }
            Consumer::QueryCapabilities(_)
            | Consumer::QueryServiceState(_)
            | Consumer::GetTraceStats(_)
            | Consumer::ReadBuffers(_)
            | Consumer::SaveTraceForBugreport(_) => Self::Answer,
            _ => Self::Session,
        }
    }
}
