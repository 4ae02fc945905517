//! Takes turns between producers whose work waits.

use super::Service;
use crate::limits;
use crate::session::stop;
use crate::step::Step;
use crate::work::Todo;
use abi::ids::{ClientId, ProducerId};

impl Service {
    /// Whether requests of a producer wait. Its next ones should stay with the shell meanwhile: the service keeps them,
    /// however many there are.
    #[must_use]
    pub fn is_busy(&self, client: ClientId) -> bool {
        let producer = || self.producers.get(self.producers.id_of(client)?);
        self.has_work() && producer().is_some_and(|p| p.work.in_line)
    }

    /// Whether work of any producer, or what is to be compressed, waits for the next
    /// [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.line.waiting.is_empty() || !self.compressions.waiting.is_empty()
    }

    /// Charges a producer what its event has cost.
    pub(super) fn settle(&mut self, id: ProducerId, work: u64) {
        let Some(producer) = self.producers.get_mut(id) else { return };
        producer.work.spend(work);
        self.line_up(id);
    }

    /// Puts a producer into the line if it has to wait.
    pub(super) fn line_up(&mut self, id: ProducerId) {
        let Some(producer) = self.producers.get_mut(id) else { return };
        if producer.work.must_wait(self.line.per_peer) && !producer.work.in_line {
            producer.work.in_line = true;
            self.line.waiting.push_back(id);
        }
    }

    /// Does a turn's share of the work that waits.
    pub(super) fn work_off(&mut self) {
        let end = self.turn.work.saturating_add(self.line.per_turn);
        while self.turn.work < end
            && let Some(id) = self.line.waiting.pop_front()
        {
            let per_peer = self.line.per_peer;
            let Some(producer) = self.producers.get_mut(id) else { continue };
            let mut left = producer.work.next_turn(per_peer);
            while left > 0
                && self.turn.work < end
                && let Some(producer) = self.producers.get_mut(id)
                && let Some(todo) = producer.work.todo.pop_front()
            {
                let before = self.turn.work;
                self.run_todo(id, todo, left.min(end.saturating_sub(before)));
                self.run_steps();
                let cost = self.turn.work.saturating_sub(before).max(limits::WORK_PER_ENTRY);
                left = left.saturating_sub(cost);
                if let Some(producer) = self.producers.get_mut(id) {
                    producer.work.spend(cost);
                }
            }
            if let Some(producer) = self.producers.get_mut(id) {
                producer.work.in_line = producer.work.must_wait(per_peer);
                if producer.work.in_line {
                    self.line.waiting.push_back(id);
                }
            }
        }
    }

    fn run_todo(&mut self, id: ProducerId, todo: Todo, left: u64) {
        match todo {
            Todo::Request(call, request) => self.run_request(id, call, *request, left),
            Todo::Commit(call, request, from) => self.commit(id, call, *request, from, left),
            Todo::Leave(page) => self.leave(id, page, left),
        }
    }

    /// Removes what a producer leaves behind, as far as `left` allows.
    pub(super) fn leave(&mut self, id: ProducerId, page: usize, left: u64) {
        let end = self.turn.work.saturating_add(left);
        let live = self.sessions.buffers_recorded_by(id);
        let Some(producer) = self.producers.get_mut(id) else { return };
        let (turn, buffers) = (&mut self.turn, &mut self.buffers);
        let range = (page, end);
        if let Some(page) = self.commits.scrape_leaving(producer, &live, range, buffers, turn) {
            return producer.work.todo.push_front(Todo::Leave(page));
        }
        if !self.commits.end_sequences(producer, &live, end, buffers, turn) {
            // The pages are scraped.
            return producer.work.todo.push_front(Todo::Leave(usize::MAX));
        }
        self.sessions.note_leftovers(producer, turn);
        self.sources.unregister_all(producer, turn);
        const PIECE: usize = 16;
        loop {
            let all = stop::remove_instances(id, None, PIECE, &self.sessions, &mut self.turn);
            self.run_steps();
            if all {
                break;
            }
            if self.turn.work >= end
                && let Some(producer) = self.producers.get_mut(id)
            {
                // The pages are scraped.
                return producer.work.todo.push_front(Todo::Leave(usize::MAX));
            }
        }
        if let Some(producer) = self.producers.get_mut(id) {
            producer.release_memory(&mut self.turn.accounts);
        }
        self.turn.then(Step::ForgetProducer(id));
    }
}
