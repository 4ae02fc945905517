//! Looks at the memory of producers and copies from it. See the [module](super).
//!
//! Each look at a page [checks](Producer::check_page) it before: a producer may have removed what was there. Of one
//! that is gone, or whose user is distrusted, pages are [copied](Producer::copy_untouched) before they are looked at.

use crate::buffers::Buffers;
use crate::commit::{ChunkIntake, Copied, copy_to_buffer};
use crate::context::Context;
use crate::limits;
use crate::producers::{Producer, Producers};
use crate::scrape::Uncommitted;
use crate::session::state::Session;
use crate::work::Scrape;
use abi::ids::{BufferId, WriterId};
use abi::shm::SmbReader;
use std::ops::Bound;

/// Looks for chunks of writers that `is_wanted`, until the work of `cx` is `end`. Returns whether all were found.
pub(crate) fn look(
    found: &mut Uncommitted,
    producer: &mut Producer,
    is_wanted: impl Fn(&Producer, WriterId) -> bool,
    end: u64,
    cx: &mut Context,
) -> bool {
    let pages = producer.smb.as_ref().map_or(0, |reader| reader.smb().page_count());
    while let Some(from) = found.page() {
        for page in from..pages {
            if cx.work >= end {
                found.go_on_with(page);
                return false;
            }
            cx.spend(limits::WORK_PER_ENTRY);
            look_at(found, producer, page, &is_wanted, cx);
        }
        found.end_look();
    }
    true
}

/// Looks at one page.
fn look_at(
    found: &mut Uncommitted,
    producer: &mut Producer,
    page: usize,
    is_wanted: &impl Fn(&Producer, WriterId) -> bool,
    cx: &mut Context,
) {
    if !producer.may_hold_data(page, cx) {
        return;
    }
    let mut copy = producer.copy_untouched(page, cx);
    if copy.is_none() {
        producer.check_page(page, cx);
        if !producer.smb.as_mut().is_some_and(|reader| reader.begin_touching(page)) {
            return;
        }
        producer.note_touched(page);
    }
    let at = if copy.is_some() { 0 } else { page };
    let chunks = copy.as_ref().or(producer.smb.as_ref()).map(|reader| reader.smb().chunk_count(at));
    for chunk in 0..chunks.unwrap_or(0) {
        let reader = copy.as_mut().or(producer.smb.as_mut());
        let header = reader.and_then(|reader| reader.header_in_use(at, chunk));
        if let Some(header) = header.filter(|header| is_wanted(producer, header.writer)) {
            found.note(&header, page, chunk);
        }
    }
    if copy.is_none() {
        producer.charge_memory(cx);
    }
}

/// Takes something out of a page of a producer: out of a copy, if its memory is read so.
pub(crate) fn take<T>(
    producer: &mut Producer,
    page: usize,
    cx: &mut Context,
    read: impl FnOnce(&mut SmbReader, usize) -> Option<T>,
) -> Option<T> {
    if let Some(mut copy) = producer.copy_untouched(page, cx) {
        return read(&mut copy, 0);
    }
    producer.check_page(page, cx);
    producer.note_touched(page);
    let taken = read(producer.smb.as_mut()?, page);
    producer.charge_memory(cx);
    taken
}

impl ChunkIntake {
    /// Scrapes the producers of a session for it, as far as it is not done, until the work of `cx` is `end`. Returns
    /// whether that was all. At the end of the session its ledger gets what they did not tell.
    pub(crate) fn scrape_all(
        &mut self,
        session: &mut Session,
        scrape: &mut Scrape,
        end: u64,
        producers: &mut Producers,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> bool {
        let is_end = scrape.is_for_end();
        let all = session.config.buffers.iter().zip(&session.buffers);
        let wanted: Vec<_> =
            all.filter(|(config, _)| scrape.wants(config)).map(|(_, id)| *id).collect();
        let mut from = Bound::Included(scrape.at);
        while let Some((&id, _)) = session.producers.range((from, Bound::Unbounded)).next() {
            scrape.go_on_with(id);
            if cx.work >= end {
                return false;
            }
            from = Bound::Excluded(id);
            let Some(producer) = producers.get_mut(id) else { continue };
            cx.spend(limits::WORK_PER_ENTRY);
            let found = &mut scrape.found;
            if !self.scrape(&wanted, producer, found, end, buffers, cx) {
                return false;
            }
            if is_end {
                session.note_untold(producer, cx);
            }
        }
        true
    }

    /// The same for one producer, and for these buffers.
    fn scrape(
        &mut self,
        wanted: &[BufferId],
        producer: &mut Producer,
        found: &mut Uncommitted,
        end: u64,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> bool {
        if !producer.scraping
            || producer.sends_by_value()
            || producer.writers.is_empty()
            || !wanted.iter().any(|buffer| producer.allowed.contains(buffer))
        {
            return true;
        }
        let target = |producer: &Producer, writer| {
            producer.writers.get(&writer).copied().filter(|buffer| wanted.contains(buffer))
        };
        if !look(found, producer, |producer, id| target(producer, id).is_some(), end, cx) {
            return false;
        }
        while cx.work < end
            && let Some(place) = found.take()
        {
            self.scratch.clear();
            let scratch = &mut self.scratch;
            let copied = take(producer, place.page, cx, |reader, page| {
                reader.scrape_chunk(page, place.index, scratch)
            });
            cx.spend(limits::WORK_PER_ENTRY.saturating_add(self.scratch.len() as u64));
            let Some((header, complete)) = copied.filter(|(header, _)| place.holds(header)) else {
                continue;
            };
            // The last fragment of an unfinished chunk may be half written.
            if !complete && header.packets.count() < 2 {
                continue;
            }
            let Some(buffer) = target(producer, header.writer) else { continue };
            producer.gaps.note_chunk(&header);
            let (payload, out) = (&self.scratch, &mut cx.out);
            let copied = copy_to_buffer(producer, buffer, header, complete, payload, buffers, out);
            self.note_discarded(copied.is_err());
            cx.spend(copied.map_or(0, Copied::cost));
        }
        !found.has_more()
    }
}
