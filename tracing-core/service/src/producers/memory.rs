//! The shared memory of a producer: how it is made and read, and what stays on the account of its user.
//!
//! The system provides a page when a process touches it first, on the account of that process, where it stays for as
//! long as anybody has the memory. So what a producer removes is provided for the service if that touches it later. No
//! look beforehand excludes that: the producer may remove the page between look and touch.
//!
//! ```text
//!   user         pages are looked at   bytes are         after a producer has left
//!   ──────────────────────────────────────────────────────────────────────────────────────────────
//!   trusted      now and then          read in place     nothing is on the account
//!   distrusted   each time             read in a copy    nothing is on the account
//!   caught       each time             read in a copy    all pages that were touched, until the kernel counts less
//! ```
//!
//! Of memory that is read in copies the service touches a page only to free a chunk there. Of a user that was caught it
//! does so only if the page is on its account, which has a limit: so all that such a user can make it pay for has the
//! same limit, however often its producers come and go.

use protos::{TraceConfig, TraceConfigProducerConfig};

use super::smb::{make_smb, smb_sizes};
use super::{Producer, is_more};
use crate::accounts::{Resource, User};
use crate::command_queue::Command;
use crate::context::Context;
use crate::limits;
use abi::shm::{Region, SmbReader};

impl Producer {
    /// Uses the memory that the producer brought, if the service would have made it the same for its hints: a page
    /// hint of zero never passes.
    pub(super) fn adopt(&mut self, cx: &mut Context, region: Region) {
        if !self.may_have_memory(cx) {
            return;
        }
        let (len, page_hint) = (region.len(), self.smb_hints.page_bytes);
        let (smb_bytes, page_bytes) = smb_sizes(len as u64, page_hint.into());
        let legal = smb_bytes == len && page_bytes == page_hint as usize;
        self.smb = legal.then(|| make_smb(region, page_bytes)).flatten();
        if self.smb.is_some() {
            self.set_up = true;
            self.command(&mut cx.out, Command::SetUpTracing(0, None));
        } else {
            self.log_error(
                &mut cx.out,
                format_args!("shared memory of {len} bytes with pages of {page_hint} refused"),
            );
        }
    }

    /// Makes its shared memory, if it has none yet, and hands it over. The size is that of the config, else the hint of
    /// the producer, else the default. False, with a line in the log, if there is no memory.
    pub(crate) fn provide_smb(&mut self, trace: &TraceConfig, cx: &mut Context) -> bool {
        if self.set_up {
            return true;
        }
        let named =
            |p: &&TraceConfigProducerConfig| p.producer_name.as_deref() == Some(&*self.name);
        let requested = trace.producers.iter().find(named);
        cx.spend(limits::WORK_PER_NAME.saturating_mul(trace.producers.len() as u64));
        // 64 bits: upstream multiplies in 32, and a large request wraps around to a small one.
        let from_kb = |kb: Option<u32>| u64::from(kb.unwrap_or(0)).saturating_mul(1024);
        let or_hint =
            |requested: u64, hint: u32| if requested > 0 { requested } else { hint.into() };
        let smb =
            or_hint(from_kb(requested.and_then(|p| p.shm_size_kb)), self.smb_hints.whole_bytes);
        let page =
            or_hint(from_kb(requested.and_then(|p| p.page_size_kb)), self.smb_hints.page_bytes);
        let (smb_bytes, page_bytes) = smb_sizes(smb, page);
        if self.sends_by_value() {
            // It writes into memory of its own; upstream makes some here, too, and never reads it.
            self.set_up = true;
            self.command(&mut cx.out, Command::SetUpTracing(page_bytes, None));
            return true;
        }
        if !self.may_have_memory(cx) {
            return false;
        }
        match cx.config.regions.create(smb_bytes) {
            Ok(region) => {
                self.set_up = true;
                let command = Command::SetUpTracing(page_bytes, Some(region.clone()));
                self.command(&mut cx.out, command);
                self.smb = make_smb(region, page_bytes);
                true
            }
            Err(error) => {
                let text = format_args!("no shared memory of {smb_bytes} bytes: {error}");
                self.log_error(&mut cx.out, text);
                false
            }
        }
    }

    /// Notes that a page of its memory was read. Unmaps pages when there are enough of them.
    pub(crate) fn note_touched(&mut self, page: usize) {
        let Some(smb) = self.smb.as_ref().map(SmbReader::smb) else { return };
        let page_bytes = smb.page_size().bytes();
        if self.smb_touched.add(smb.bytes(), page.saturating_mul(page_bytes), page_bytes) {
            smb.region().advise_unneeded(limits::SMB_MAPPED_BYTES);
        }
    }

    /// Before a page of its memory is touched: asks the system again whether the page holds what it held. The system
    /// would provide what the producer removed. It is asked at random, so that no producer knows when; and each time if
    /// - the user is distrusted, or the producer is gone, and its memory cannot be [copied](Self::copy_untouched);
    /// - the user has as much memory as it may have.
    ///
    /// Returns whether something of it was removed. Its user is distrusted then.
    pub(crate) fn check_page(&mut self, page: usize, cx: &mut Context) -> bool {
        let user = User::of(&self.peer);
        self.asks_again = self.asks_again.saturating_sub(1);
        if self.asks_again > 0 && !self.is_copied(cx) {
            return false;
        }
        self.asks_again = cx.accounts.next_check();
        let check = self.smb.as_mut().map(|reader| reader.check_page(page)).unwrap_or_default();
        // The system copied them.
        cx.spend(check.bytes as u64);
        if check.is_removed {
            cx.accounts.distrust(user);
        }
        check.is_removed
    }

    /// Whether its memory is read in copies, where the system can do that: it is gone, or its user is distrusted. An
    /// honest one may be, whose chunk has 4096 zeros in a row, and is only slower then.
    fn is_copied(&self, cx: &Context) -> bool {
        self.gone || cx.accounts.is_distrusted(User::of(&self.peer))
    }

    /// Whether a page may hold data, without touching it. False for none that a chunk is in.
    pub(crate) fn may_hold_data(&mut self, page: usize, cx: &Context) -> bool {
        let is_copied = self.is_copied(cx);
        self.smb.as_mut().is_some_and(|reader| match is_copied {
            true => reader.has_header_data(page),
            false => reader.begin_touching(page),
        })
    }

    /// A copy of a page, if its memory is [read in copies](Self::is_copied): whatever other processes do with the
    /// memory meanwhile, the system provides nothing. `None` also where the system cannot copy so, as for memory of
    /// this process.
    pub(crate) fn copy_untouched(&self, page: usize, cx: &mut Context) -> Option<SmbReader> {
        let reader = self.smb.as_ref().filter(|_| self.is_copied(cx))?;
        let copy = reader.copy_of_page(page)?;
        // The system copied the page twice.
        cx.spend((copy.smb().bytes() as u64).saturating_mul(2));
        Some(copy)
    }

    /// Whether a page of which there is a copy may be touched. It is put on the account of its user before. A page that
    /// may not be touched does not count, so those that are on the account may be touched again.
    pub(crate) fn may_touch(&mut self, page: usize, cx: &mut Context) -> bool {
        let Some(reader) = &self.smb else { return false };
        let is_charged = self.charge_up_to(reader.touched_bytes_with(page), cx);
        if !is_charged && cx.accounts.is_caught(User::of(&self.peer)) {
            return false;
        }
        if let Some(reader) = &mut self.smb {
            reader.note_touched(page);
        }
        true
    }

    /// Frees a chunk that was read in a copy of its page. False if it is not there any more.
    pub(crate) fn free_copied(&mut self, page: usize, chunk: usize) -> bool {
        let reader = self.smb.as_mut();
        let is_freed = reader.is_some_and(|reader| reader.free_copied(page, chunk));
        self.note_touched(page);
        is_freed
    }

    /// Puts the memory that was touched for the first time on the account of its user. False if there is no place: then
    /// pages are asked for at each use.
    #[inline]
    pub(crate) fn charge_memory(&mut self, cx: &mut Context) -> bool {
        let bytes = self.smb.as_ref().map_or(0, SmbReader::touched_bytes);
        self.charge_up_to(bytes, cx)
    }

    #[inline]
    fn charge_up_to(&mut self, bytes: usize, cx: &mut Context) -> bool {
        bytes <= self.smb_charged || self.charge_more(bytes, cx)
    }

    fn charge_more(&mut self, bytes: usize, cx: &mut Context) -> bool {
        let user = User::of(&self.peer);
        let more = bytes.saturating_sub(self.smb_charged);
        make_place(user, more, cx);
        let is_charged = cx.accounts.charge(user, Resource::Memory, more).is_ok();
        if is_charged {
            self.smb_charged = bytes;
        } else {
            self.asks_again = 1;
        }
        is_charged
    }

    /// Whether it may have shared memory. The log says if not.
    pub(super) fn may_have_memory(&mut self, cx: &mut Context) -> bool {
        const PAGE: usize = limits::SMB_PAGE_BYTES_MIN;
        let user = User::of(&self.peer);
        make_place(user, PAGE, cx);
        if !cx.accounts.is_caught(user) {
            return true;
        }
        let Err(no_room) = cx.accounts.check(user, Resource::Memory, PAGE) else { return true };
        let text = format_args!(
            "gets no shared memory, because its user removed pages that it had handed over, or named pages that it \
             never wrote: {no_room}"
        );
        self.log_error(&mut cx.out, text);
        false
    }

    /// Gives the shared memory of the producer to the shell, and takes it off the account of its user, unless that was
    /// caught.
    pub(crate) fn release_memory(&mut self, cx: &mut Context) {
        let (user, bytes) = (User::of(&self.peer), std::mem::take(&mut self.smb_charged));
        match cx.accounts.is_caught(user) {
            true => cx.accounts.add_gone(user, bytes),
            false => cx.accounts.release(user, Resource::Memory, bytes),
        }
        if let Some(reader) = self.smb.take() {
            let region = reader.smb().region().clone();
            drop(reader);
            cx.out.release_memory(self.client, self.peer.uid, region);
        }
    }

    /// How often its writers began to drop packets, as they counted it in its memory.
    pub(crate) fn losses_noted(&mut self, cx: &mut Context) -> u32 {
        if let Some(mut copy) = self.copy_untouched(0, cx) {
            return copy.losses_noted();
        }
        self.check_page(0, cx);
        self.smb.as_mut().map_or(0, SmbReader::losses_noted)
    }

    /// The same, if that is more than it told. It tells in the order in which they counted: the last ones are untold.
    pub(crate) fn untold_losses(&mut self, cx: &mut Context) -> Option<u32> {
        let noted = self.losses_noted(cx);
        is_more(noted, self.loss_marks).then_some(noted)
    }
}

/// If a user that was caught has no place for so many bytes more: asks the kernel what of its memory is gone.
fn make_place(user: User, bytes: usize, cx: &mut Context) {
    if cx.accounts.is_caught(user) && !cx.accounts.fits(user, Resource::Memory, bytes) {
        cx.shrink_gone();
    }
}
