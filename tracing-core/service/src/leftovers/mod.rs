//! What a producer leaves behind when it is gone: chunks that it did not hand over, packets that it did not finish.
//!
//! ```text
//!   shared memory   complete, not committed ─┬─ it may be scraped ──> buffer
//!                   being written ───────────┤    but for the last fragment, if that was begun ─┐
//!                                            └─ it may not ─────────────────────────────────────┼──> ledger
//!   buffer          the last packet of a writer goes on in a chunk that never comes ────────────┘
//! ```
//!
//! So a program that ends without a word, and with nothing half written, loses nothing; one that is killed in the
//! middle of a packet loses that packet. Of a producer whose memory the service does not see, nobody can know. Nothing
//! of a writer that was unregistered is left, because that request comes behind its commits. A writer that is not
//! registered yet, as a process dies, has a buffer that nobody knows: what it wrote is lost for all sessions of its
//! producer.
//!
//! A sequence that lost something ends with a *mark*: a packet with nothing but
//! `TracePacket.previous_packet_dropped`, which every reader of traces counts as a loss of that sequence. A packet that
//! was begun in the buffer ends with a fragment that was given up, so that readers come to the mark.
//!
//! This concerns buffers of sessions that run. Those of others get what can be scraped, as at a flush.

mod scrape;
mod state;

pub(crate) use self::state::Leftovers;
