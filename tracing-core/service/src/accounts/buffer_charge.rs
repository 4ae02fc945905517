//! What is on the account of a user for the buffers of one session or clone.

use super::{Accounts, NoRoom, Resource, User};

/// What is on the account of one user for one session or clone.
#[derive(Debug)]
pub(crate) struct BufferCharge {
    uid: u32,
    bytes: usize,
}

impl BufferCharge {
    /// Nothing yet.
    pub(crate) fn new(uid: u32) -> Self {
        Self { uid, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whose account it is.
    pub(crate) fn user(&self) -> User {
        User::local(self.uid)
    }

    /// All of it.
    pub(crate) fn take(&mut self) -> Self {
        self.split_off(self.bytes)
    }

    /// Makes `bytes` of it a charge of its own; all of it, if it has less.
    pub(crate) fn split_off(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
        Self { uid: self.uid, bytes }
    }

    /// Makes it `bytes` in all, if it is less.
    pub(crate) fn raise_to(&mut self, bytes: usize, accounts: &mut Accounts) -> Result<(), NoRoom> {
        self.add(bytes.saturating_sub(self.bytes), accounts)
    }

    /// Makes it so many bytes more.
    pub(crate) fn add(&mut self, more: usize, accounts: &mut Accounts) -> Result<(), NoRoom> {
        accounts.charge(self.user(), Resource::Buffers, more)?;
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    /// Takes all of it off the account.
    pub(crate) fn release(&mut self, accounts: &mut Accounts) {
        let bytes = std::mem::take(&mut self.bytes);
        accounts.release(self.user(), Resource::Buffers, bytes);
    }
}
