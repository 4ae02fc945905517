//! What a data source instance takes from the pages of an instance of tracefs: packets with its events, with names of
//! kernel functions, and facts for other data sources.

#[cfg(test)]
mod tests;

use abi::map::{SortedMap, SortedSet};
use protos::{FtraceParseStatus as Status, TracePacketSequenceFlags, TracePacketWriter};

use super::addresses::Addresses;
use super::bundle::{Bundle, Clocks, Filter, Keep, Progress};
use super::drain::Batch;
use super::event::Around;
use super::facts::Facts;
use super::filter::{Functions, RecordFilter};
use super::page::Commit;
use super::symbols::Symbols;
use super::table::plans::Plans;
use crate::output::Output;

/// What all subscribers of a pass share.
pub(crate) struct Shared<'a> {
    /// How wide a part of the page headers is.
    pub(crate) commit: Commit,
    /// Strings by their address in the kernel.
    pub(crate) printk: &'a SortedMap<u64, Box<[u8]>>,
    /// The readings of a pass, if the clock is not the boot clock.
    pub(crate) clocks: Option<Clocks>,
    /// Names of the kernel's functions, if they have been read.
    pub(crate) symbols: Option<&'a Symbols>,
    /// The threads of this program, sorted.
    pub(crate) own_threads: &'a [i32],
}

/// What an instance wants.
pub(crate) struct Wishes {
    /// Its events.
    pub(crate) plans: Plans,
    /// Names for addresses.
    pub(crate) has_symbols: bool,
    /// The filter of its records.
    pub(crate) filter: Option<RecordFilter>,
}

/// A data source instance between passes.
pub(crate) struct Subscriber {
    wishes: Wishes,
    /// One for each CPU that was read.
    cpus: Vec<Progress>,
    bundle: Bundle,
    addresses: Addresses,
    /// Whether the names of earlier passes have been cleared in this one.
    is_cleared: bool,
    facts: Facts,
    errors: SortedSet<i32>,
}

impl Subscriber {
    pub(crate) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            cpus: Vec::new(),
            bundle: Bundle::default(),
            addresses: Addresses::default(),
            is_cleared: false,
            facts: Facts::default(),
            errors: SortedSet::new(),
        }
    }

    /// Writes what the instance keeps of these pages.
    pub(crate) fn batch(
        &mut self,
        cpu: u32,
        batch: &Batch,
        shared: &Shared<'_>,
        out: &mut dyn Output,
    ) {
        for page in batch.pages() {
            if self.bundle.ends_before(page, shared.commit) {
                self.write(cpu, shared, out);
            }
            let filter = self.wishes.filter.as_ref();
            let keeps = filter.map(|filter| move |id, record: &[u8]| filter.keeps(id, record));
            let keep = Keep {
                commit: shared.commit,
                plans: &self.wishes.plans,
                filter: keeps.as_ref().map(|keeps| keeps as &Filter<'_>),
            };
            let mut around = Around {
                printk: shared.printk,
                addresses: &mut self.addresses,
                facts: &mut self.facts,
                own_threads: shared.own_threads,
            };
            let at = cpu as usize;
            if self.cpus.len() <= at {
                self.cpus.resize_with(at + 1, Progress::default);
            }
            if let Some(progress) = self.cpus.get_mut(at) {
                self.bundle.add(page, &keep, &mut around, progress);
            }
        }
        if !self.bundle.is_empty() {
            self.write(cpu, shared, out);
        }
    }

    /// From now on others record functions that this instance did not ask for.
    pub(crate) fn keep_functions(&mut self, functions: Functions) {
        if let Some(filter) = &mut self.wishes.filter {
            filter.keep_functions(functions);
        }
    }

    /// A read of the pages failed.
    pub(crate) fn failed(&mut self, status: Status) {
        self.errors.insert(status.0);
    }

    /// Ends a pass: hands on its facts, and forgets them and its addresses.
    pub(crate) fn end_pass(&mut self, hand_on: &mut dyn FnMut(&Facts)) {
        hand_on(&self.facts);
        self.facts.clear();
        self.addresses.clear();
        self.is_cleared = false;
    }

    /// What was wrong with pages and reads since the start.
    pub(crate) fn errors(&self) -> impl Iterator<Item = Status> {
        let of_pages = self.cpus.iter().flat_map(|cpu| cpu.errors.iter());
        let mut all = SortedSet::new();
        for status in of_pages.chain(self.errors.iter()) {
            all.insert(*status);
        }
        all.iter().copied().map(Status).collect::<Vec<_>>().into_iter()
    }

    /// Records that were left out because they do not fit their plan.
    pub(crate) fn invalid(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.invalid).sum()
    }

    /// Events of the instance of tracefs that the kernel lost; at least so many.
    pub(crate) fn lost(&self) -> u64 {
        self.cpus.iter().fold(0, |sum, cpu| sum.saturating_add(cpu.lost))
    }

    fn write(&mut self, cpu: u32, shared: &Shared<'_>, out: &mut dyn Output) {
        let Self { wishes, bundle, addresses, is_cleared, .. } = self;
        let symbols = shared.symbols.filter(|_| wishes.has_symbols);
        out.packet(&mut |packet| {
            // An index means another function in each pass.
            if symbols.is_some() && !addresses.is_empty() && !*is_cleared {
                packet.sequence_flags(
                    TracePacketSequenceFlags::SEQ_INCREMENTAL_STATE_CLEARED.0 as u32,
                );
                *is_cleared = true;
            }
            bundle.write(packet, cpu, shared.clocks, &wishes.plans);
            if let Some(symbols) = symbols {
                write_names(packet, addresses, symbols);
            }
        });
    }
}

/// Writes the names of the functions that appeared since the last packet.
fn write_names(packet: &mut TracePacketWriter<'_>, addresses: &mut Addresses, symbols: &Symbols) {
    let named =
        addresses.fresh().filter_map(|(index, address)| Some((index, symbols.name(address)?)));
    let mut named = named.peekable();
    if named.peek().is_none() {
        return;
    }
    let mut interned = packet.interned_data();
    for (index, name) in named {
        let mut symbol = interned.kernel_symbols();
        symbol.iid(index);
        symbol.str(name.as_bytes());
    }
}
