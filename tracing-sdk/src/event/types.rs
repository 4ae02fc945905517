//! Types of the standard library as annotations.

use core::fmt;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::annotate::{Annotate, Simple, Value};

macro_rules! scalars {
    ($($method:ident($as:ty): $($type:ty)*;)*) => {$($(
        impl Annotate for $type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.$method(*self as $as);
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                Some(Simple::$method(*self as $as))
            }
        }
    )*)*};
}

scalars! {
    bool(bool): bool;
    uint(u64): u8 u16 u32 u64 usize;
    int(i64): i8 i16 i32 i64 isize;
    double(f64): f32 f64;
}

macro_rules! non_zero {
    ($($method:ident($as:ty): $($type:ident)*;)*) => {$($(
        impl Annotate for std::num::$type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.$method(self.get() as $as);
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                Some(Simple::$method(self.get() as $as))
            }
        }
    )*)*};
}

non_zero! {
    uint(u64): NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroUsize;
    int(i64): NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroIsize;
}

macro_rules! displayed {
    ($($type:ty)*) => {$(
        impl Annotate for $type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.display(self);
            }
        }
    )*};
}

// The format has no numbers of 128 bits.
displayed!(char u128 i128 fmt::Arguments<'_> std::net::IpAddr std::net::SocketAddr std::path::Display<'_>);

impl Annotate for str {
    fn annotate(&self, value: Value<'_, '_>) {
        value.str(self);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::Str(self))
    }
}

impl Annotate for String {
    fn annotate(&self, value: Value<'_, '_>) {
        value.str(self);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::Str(self))
    }
}

impl Annotate for std::ffi::CStr {
    fn annotate(&self, value: Value<'_, '_>) {
        value.bytes(self.to_bytes());
    }
}

impl Annotate for std::ffi::OsStr {
    fn annotate(&self, value: Value<'_, '_>) {
        value.bytes(self.as_encoded_bytes());
    }
}

impl Annotate for std::path::Path {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_os_str().annotate(value);
    }
}

impl Annotate for std::path::PathBuf {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_os_str().annotate(value);
    }
}

/// Nanoseconds.
impl Annotate for Duration {
    fn annotate(&self, value: Value<'_, '_>) {
        value.uint(u64::try_from(self.as_nanos()).unwrap_or(u64::MAX));
    }
}

impl Annotate for () {
    fn annotate(&self, _: Value<'_, '_>) {}

    fn is_absent(&self) -> bool {
        true
    }
}

impl<T: Annotate> Annotate for Option<T> {
    fn annotate(&self, value: Value<'_, '_>) {
        if let Some(inner) = self {
            inner.annotate(value);
        }
    }

    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(Annotate::is_absent)
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        self.as_ref().map_or(Some(Simple::Absent), Annotate::simple)
    }
}

impl<T> Annotate for *const T {
    fn annotate(&self, value: Value<'_, '_>) {
        value.pointer(self.addr() as u64);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::pointer(self.addr() as u64))
    }
}

impl<T> Annotate for *mut T {
    fn annotate(&self, value: Value<'_, '_>) {
        self.cast_const().annotate(value);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::pointer(self.addr() as u64))
    }
}

macro_rules! by_reference {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Annotate for $type {
            #[inline]
            fn annotate(&self, value: Value<'_, '_>) {
                (**self).annotate(value);
            }

            #[inline]
            fn is_absent(&self) -> bool {
                (**self).is_absent()
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                (**self).simple()
            }
        }
    )*};
}

by_reference! {
    [T: Annotate + ?Sized] &T;
    [T: Annotate + ?Sized] &mut T;
    [T: Annotate + ?Sized] Box<T>;
    [T: Annotate + ?Sized] Rc<T>;
    [T: Annotate + ?Sized] Arc<T>;
    [T: Annotate + ToOwned + ?Sized] Cow<'_, T>;
}

impl<T: Annotate> Annotate for [T] {
    fn annotate(&self, value: Value<'_, '_>) {
        value.list(|list| {
            self.iter().for_each(|item| {
                list.item(item);
            })
        });
    }
}

impl<T: Annotate, const N: usize> Annotate for [T; N] {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_slice().annotate(value);
    }
}

impl<T: Annotate> Annotate for Vec<T> {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_slice().annotate(value);
    }
}

impl<K: fmt::Display, V: Annotate, S> Annotate for HashMap<K, V, S> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.map(|map| {
            self.iter().for_each(|(key, value)| {
                map.entry_display(key, value);
            })
        });
    }
}

impl<K: fmt::Display, V: Annotate> Annotate for BTreeMap<K, V> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.map(|map| {
            self.iter().for_each(|(key, value)| {
                map.entry_display(key, value);
            })
        });
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)*))*) => {$(
        impl<$($name: Annotate),*> Annotate for ($($name,)*) {
            fn annotate(&self, value: Value<'_, '_>) {
                value.list(|list| { $(list.item(&self.$at);)* });
            }
        }
    )*};
}

tuples! { (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5) }
