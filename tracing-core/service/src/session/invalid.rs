//! Packets that a pass leaves out because they are not valid, by producer: each is a loss.

use crate::buffer::Identity;
use crate::input::Peer;
use crate::ledger::{Amount, Loss, LossOwner, Reason};
use crate::producers::Producers;
use abi::ids::{ClientId, ProducerId};
use abi::map::BlockMap;

/// Their numbers.
#[derive(Debug, Default)]
pub(crate) struct InvalidPackets {
    by_producer: BlockMap<ProducerId, (Identity, u64)>,
    count: u64,
}

impl InvalidPackets {
    /// Counts one.
    #[cold]
    pub(crate) fn note(&mut self, producer: ProducerId, identity: Identity) {
        self.count = self.count.saturating_add(1);
        let (_, count) = self.by_producer.get_or_insert_with(producer, || (identity, 0));
        *count = count.saturating_add(1);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The losses of their producers.
    pub(crate) fn losses<'a>(
        &'a self,
        producers: &'a Producers,
    ) -> impl Iterator<Item = Loss> + 'a {
        self.by_producer.iter().map(|(id, (identity, count))| {
            let amount = Amount::exactly(*count);
            Loss { amount, ..loss(*id, identity, producers) }
        })
    }
}

/// A loss of the producer with that id, or of the one before that had it.
fn loss(id: ProducerId, identity: &Identity, producers: &Producers) -> Loss {
    let is_same = |peer: &Peer| {
        (peer.uid, peer.pid, peer.machine_id) == (identity.uid, identity.pid, identity.machine_id)
    };
    if let Some(producer) = producers.get(id).filter(|producer| is_same(&producer.peer)) {
        return producer.loss(Reason::PacketsInvalid);
    }
    let Identity { uid, pid, machine_id } = *identity;
    let peer = Peer { uid, pid, machine_id, ..Peer::default() };
    // Its connection is gone. No other one has a number like this.
    let client = ClientId::new(u64::MAX.saturating_sub(id.get().into()));
    Loss::new(LossOwner::new(client, id, "".into(), &peer), Reason::PacketsInvalid)
}
