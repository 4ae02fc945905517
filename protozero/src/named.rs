//! What a message type knows of itself: its name, and what the schema says of it.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::string::String;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use alloc::sync::Arc;
#[cfg(all(feature = "text", feature = "std"))]
use core::any::TypeId;

use crate::descriptor::{Kind, MessageDescriptor};
#[cfg(all(feature = "text", feature = "std"))]
use crate::dynamic::MessageDescriptor as MessageType;
#[cfg(all(feature = "text", feature = "std"))]
use crate::registry::{NameTaken, Registry};

/// The part of a type URL before the full name, which all implementations of protobuf use.
#[cfg(feature = "alloc")]
const URL_PREFIX: &str = "type.googleapis.com/";

/// A message type that knows its name, and if it was generated with descriptors, its fields.
///
/// Generated messages implement it: `protozero-codegen` emits the name unless it is told not to, and the
/// descriptor with the API kind `descriptor`. A struct that derives `Message` implements it, too, with a descriptor,
/// if it says its name:
///
#[cfg_attr(all(feature = "derive", feature = "json", feature = "std"), doc = "```")]
#[cfg_attr(not(all(feature = "derive", feature = "json", feature = "std")), doc = "```text")]
/// use protozero::{Message, json};
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
/// #[pb(name = "shape.v1.Line", skip_unknown)]
/// struct Line {
///     #[pb(sint32, 1)]
///     from_x: i32,
///     #[pb(sint32, 2)]
///     to_x: i32,
/// }
///
/// let line = Line { from_x: 1, to_x: -2 };
/// let text = json::to_string(&line).unwrap();
/// assert_eq!(text, r#"{"fromX":1,"toX":-2}"#);
/// assert_eq!(json::from_str::<Line>(&text).unwrap(), line);
/// ```
///
/// Every other type can implement it by hand. The trait needs no other trait and no allocator.
///
/// ```
/// use protozero::Named;
/// use protozero::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
///
/// struct Point;
///
/// impl Named for Point {
///     const FULL_NAME: &'static str = "shape.v1.Point";
///     // Only JSON, text and reflection need this.
///     const SCHEMA: Option<&'static MessageDescriptor> = Some(&MessageDescriptor::new(
///         Self::FULL_NAME,
///         &[FieldDescriptor::optional("x", 1, Kind::Sint32), FieldDescriptor::optional("y", 2, Kind::Sint32)],
///     ));
/// }
///
/// # #[cfg(feature = "alloc")]
/// assert_eq!(Point::type_url(), "type.googleapis.com/shape.v1.Point");
/// # #[cfg(all(feature = "text", feature = "std"))]
/// assert_eq!(Point::descriptor().field("y").unwrap().number(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not know its name in the schema",
    note = "derive `protozero::Message` with its name, as in `#[pb(name = \"shop.Order\")]`, generate it with `names` \
            on, or implement `protozero::Named` for it",
    note = "JSON, text and reflection need a name and a descriptor. Of a struct that borrows, pass the descriptor of \
            its type and its bytes to `json::print_bytes` or `text::print_bytes`"
)]
pub trait Named {
    /// Full name in the schema, without a leading dot: `shape.v1.Point`.
    const FULL_NAME: &'static str;

    /// What the schema says of the message. `None` if the code was generated without descriptors: then only the
    /// name is known, and the functions that need more do not compile.
    const SCHEMA: Option<&'static MessageDescriptor> = None;

    /// The type URL of the message in a `google.protobuf.Any`.
    #[cfg(feature = "alloc")]
    #[must_use]
    fn type_url() -> String {
        alloc::format!("{URL_PREFIX}{}", Self::FULL_NAME)
    }

    /// The descriptor of the message in the [default registry](crate::Registry::global), for dynamic messages.
    /// It is built at the first call and kept. A type without a [schema](Self::SCHEMA) is an error of the compiler.
    #[cfg(all(feature = "text", feature = "std"))]
    #[must_use]
    fn descriptor() -> MessageType
    where
        Self: Sized + 'static,
    {
        Registry::global().descriptor::<Self>()
    }
}

#[cfg(all(feature = "text", feature = "std"))]
impl Registry {
    /// Adds a type, and with it all types that its fields use. A type that is there already changes nothing.
    ///
    /// # Errors
    /// [`NameTaken`] if another type with this name was added; nothing changes.
    pub fn add<M: Named + 'static>(&self) -> Result<(), NameTaken> {
        self.add_schema(TypeId::of::<M>(), schema::<M>())
    }

    /// The descriptor of `M`. Its pool also contains all types that were added. It is built at the first call, and
    /// again after a type was added; until then, equal calls return equal descriptors.
    #[must_use]
    pub fn descriptor<M: Named + 'static>(&self) -> MessageType {
        self.descriptor_of(TypeId::of::<M>(), schema::<M>())
    }
}

/// The schema of `M`. That there is one is checked by the compiler.
fn schema<M: Named>() -> &'static MessageDescriptor {
    const {
        assert!(
            M::SCHEMA.is_some(),
            "the message was generated without a descriptor: add the API kind `descriptor` to the build step"
        );
        match M::SCHEMA {
            Some(schema) => schema,
            None => unreachable!(),
        }
    }
}

impl Kind {
    /// The message `M`, which must have a descriptor: see [`Named::SCHEMA`].
    #[must_use]
    pub const fn of_message<M: Named>() -> Self {
        Self::Message(schema::<M>)
    }
}

/// A message in a box is a message of the same type.
#[cfg(feature = "alloc")]
impl<M: Named> Named for Box<M> {
    const FULL_NAME: &'static str = M::FULL_NAME;
    const SCHEMA: Option<&'static MessageDescriptor> = M::SCHEMA;
}

/// A shared message is a message of the same type.
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<M: Named> Named for Arc<M> {
    const FULL_NAME: &'static str = M::FULL_NAME;
    const SCHEMA: Option<&'static MessageDescriptor> = M::SCHEMA;
}

/// Implements [`Named`] without a schema.
#[doc(hidden)]
#[macro_export]
macro_rules! __named {
    ($name:ident, $full:literal) => {
        impl $crate::Named for $name {
            const FULL_NAME: &'static str = $full;
        }
    };
}

/// Implements [`Named`] with a schema, and gives the type a constant that needs no import.
#[doc(hidden)]
#[macro_export]
macro_rules! __describe {
    ($name:ident, $descriptor:expr) => {
        impl $name {
            /// What the schema says of this message.
            pub const DESCRIPTOR: &'static $crate::descriptor::MessageDescriptor = &$descriptor;
        }

        impl $crate::Named for $name {
            const FULL_NAME: &'static str = Self::DESCRIPTOR.name;
            const SCHEMA: ::core::option::Option<&'static $crate::descriptor::MessageDescriptor> =
                ::core::option::Option::Some(Self::DESCRIPTOR);
        }
    };
}
