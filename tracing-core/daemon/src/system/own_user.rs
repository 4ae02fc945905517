//! Which users have limits: all but root and the user of the daemon. These two could end the daemon anyway.

/// The user of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnUser(u32);

impl OwnUser {
    pub(crate) const fn new(uid: u32) -> Self {
        Self(uid)
    }

    pub(crate) fn uid(self) -> u32 {
        self.0
    }

    /// Whether user `uid` of this machine has limits.
    pub(crate) fn limits(self, uid: u32) -> bool {
        uid != 0 && uid != self.0
    }
}
