//! One module per shape of a field in [`compact`](super::compact) messages: functions that copy, encode and decode it.

use alloc::vec::Vec;

use super::compact::{Shared, append_values, copy_value};
use super::{Encoder, Kind, Understood};
use crate::decode::{DecodeContext, Field};

/// Encodes one field per element.
pub fn put_repeated<K: Shared>(out: &mut Encoder<'_>, number: u32, values: &[K::Owned]) {
    for value in values.iter().rev() {
        K::put_one(out, number, value);
    }
}

/// One module per shape, as in [`owned_macro`](super::owned_macro).
macro_rules! same {
    ($($shape:ident: $copy:ident),*) => {$(
        #[doc = concat!("As [`owned_macro::", stringify!($shape), "`](super::owned_macro::", stringify!($shape), ").")]
        pub mod $shape {
            pub use super::super::owned_macro::$shape::{merge, put};
            pub use super::copies::$copy as copy;
        }
    )*};
}

same! { implicit: value, packed: values, packed_enums: values, map: map }

/// Functions that copy a field of a shape. Their parameters are those of the functions that encode it.
mod copies {
    use super::{Kind, Vec, append_values, copy_value};
    use alloc::collections::BTreeMap;

    /// Copies a value.
    #[inline]
    pub fn value<K: Kind>(new: &mut K::Owned, old: &K::Owned)
    where
        K::Owned: Clone,
    {
        copy_value(new, old);
    }

    /// Copies elements that are no messages.
    #[inline]
    pub fn values<K: Kind>(new: &mut Vec<K::Owned>, old: &[K::Owned])
    where
        K::Owned: Clone,
    {
        append_values(new, old);
    }

    /// Copies entries.
    #[inline]
    pub fn map<K: Kind, V: Kind>(
        new: &mut BTreeMap<K::Owned, V::Owned>,
        old: &BTreeMap<K::Owned, V::Owned>,
    ) where
        K::Owned: Clone + Ord,
        V::Owned: Clone,
    {
        copy_value(new, old);
    }
}

/// May be missing.
pub mod optional {
    use super::{DecodeContext, Encoder, Field, Shared, Understood};

    /// Copies the member.
    #[inline]
    pub fn copy<K: Shared>(new: &mut Option<K::Owned>, old: &Option<K::Owned>) {
        K::copy_optional(new, old);
    }

    /// Encodes the member.
    #[inline]
    pub fn put<K: Shared>(out: &mut Encoder<'_>, number: u32, value: &Option<K::Owned>) {
        K::put_optional(out, number, value);
    }

    /// Decodes into the member.
    ///
    /// # Errors
    /// Those of [`Compact::merge_one`](super::super::compact::Compact::merge_one).
    #[inline]
    pub fn merge<K: Shared>(
        slot: &mut Option<K::Owned>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood {
        K::merge_optional(slot, field, context)
    }
}

/// One field per element.
pub mod repeated {
    pub use super::put_repeated as put;
    use super::{DecodeContext, Field, Shared, Understood, Vec};

    /// Copies the elements.
    #[inline]
    pub fn copy<K: Shared>(new: &mut Vec<K::Owned>, old: &[K::Owned]) {
        K::copy_repeated(new, old);
    }

    /// Decodes an element.
    ///
    /// # Errors
    /// Those of [`Compact::merge_one`](super::super::compact::Compact::merge_one).
    #[inline]
    pub fn merge<K: Shared>(
        slot: &mut Vec<K::Owned>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood {
        K::merge_repeated(slot, field, context)
    }
}

/// One field per element, of a kind that can be packed. Decoding accepts both encodings.
pub mod unpacked {
    pub use super::super::merge_packed as merge;
    pub use super::copies::values as copy;
    pub use super::put_repeated as put;
}

/// [`unpacked`], for enumerations.
pub mod unpacked_enums {
    pub use super::super::merge_known as merge;
    pub use super::copies::values as copy;
    pub use super::put_repeated as put;
}

/// The member that is set.
pub mod oneof {
    pub use super::super::compact::copy_value as copy;
    pub use super::super::owned_macro::oneof::{merge, put};
}

/// [`oneof`], if its number is in the lowest of several ranges.
pub mod oneof_low {
    pub use super::super::compact::copy_value as copy;
    pub use super::super::owned_macro::oneof_low::{merge, put};
}

/// [`oneof`], if its number is in one of the other ranges.
pub mod oneof_high {
    pub use super::super::owned_macro::oneof_high::{merge, put};

    /// [`oneof_low`](super::oneof_low) copies the member.
    #[inline]
    pub fn copy<T>(_: &mut T, _: &T) {}
}
