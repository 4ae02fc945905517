//! What a guard keeps. With the feature `off` it is nothing, so that guards take no memory.

#[cfg(feature = "off")]
use core::marker::PhantomData;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Kept<T>(#[cfg(not(feature = "off"))] T, #[cfg(feature = "off")] PhantomData<T>);

#[cfg(not(feature = "off"))]
impl<T> Kept<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(value)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        Some(&self.0)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.0)
    }
}

#[cfg(feature = "off")]
impl<T> Kept<T> {
    pub(crate) const fn new(value: T) -> Self {
        // No value with a destructor comes here: no session records.
        core::mem::forget(value);
        Self(PhantomData)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        None
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        None
    }
}
