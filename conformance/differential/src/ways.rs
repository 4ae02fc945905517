//! The ways in which our code decodes and encodes a value.

use protozero::Message;
use protozero::dynamic::{DynamicMessage, MessageDescriptor, Pool};
use std::marker::PhantomData;

/// One of the ways, for one message of the schema.
pub trait Way {
    fn name(&self) -> &'static str;

    /// Decodes and encodes the value.
    ///
    /// # Errors
    /// The error of decoding or encoding.
    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String>;

    /// Checks that both are encodings of the same value.
    ///
    /// # Errors
    /// The values differ.
    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String>;

    /// Whether extensions are decoded as fields; otherwise they are unknown fields.
    fn knows_extensions(&self) -> bool {
        true
    }
}

fn compare<T: PartialEq>(one: &T, other: &T) -> Result<(), String> {
    if one == other { Ok(()) } else { Err("another value".to_owned()) }
}

/// Generated structs.
pub struct Owned<M>(PhantomData<M>);

impl<M> Default for Owned<M> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

fn decode<M: Message>(bytes: &[u8]) -> Result<M, String> {
    M::decode(bytes).map_err(|e| e.to_string())
}

impl<M: Message> Way for Owned<M> {
    fn name(&self) -> &'static str {
        "owned"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let message: M = decode(bytes)?;
        let again = message.encode_to_vec();
        compare(&message, &decode(&again)?).map_err(|e| format!("own encoding: {e}"))?;
        Ok(again)
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        compare(&decode::<M>(one)?, &decode(other)?)
    }

    fn knows_extensions(&self) -> bool {
        false
    }
}

/// Generated structs in the compact form.
pub struct Compact<M>(Owned<M>);

impl<M> Default for Compact<M> {
    fn default() -> Self {
        Self(Owned::default())
    }
}

impl<M: Message> Way for Compact<M> {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.0.again(bytes)
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        self.0.same(one, other)
    }

    fn knows_extensions(&self) -> bool {
        false
    }
}

/// Generated structs that borrow from the bytes: see [`view!`](crate::view).
pub struct View {
    /// Decodes and encodes.
    pub again: fn(&[u8]) -> Result<Vec<u8>, String>,
    /// Compares the values of two encodings.
    pub same: fn(&[u8], &[u8]) -> Result<(), String>,
}

impl Way for View {
    fn name(&self) -> &'static str {
        "view"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let again = (self.again)(bytes)?;
        (self.same)(bytes, &again).map_err(|e| format!("own encoding: {e}"))?;
        Ok(again)
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        (self.same)(one, other)
    }

    fn knows_extensions(&self) -> bool {
        false
    }
}

/// The [`View`](crate::ways::View) of a message of a module of the schema.
#[macro_export]
macro_rules! view {
    ($module:ident, $borrowed:ident) => {
        $crate::ways::View {
            again: |bytes| {
                use protozero::MessageView as _;
                let message = $crate::views::$module::$borrowed::decode(bytes);
                message.map(|message| message.encode_to_vec()).map_err(|e| e.to_string())
            },
            same: |one, other| {
                use protozero::MessageView as _;
                let one = $crate::views::$module::$borrowed::decode(one);
                let other = $crate::views::$module::$borrowed::decode(other);
                match (one, other) {
                    (Ok(one), Ok(other)) if one == other => Ok(()),
                    (Ok(_), Ok(_)) => Err("another value".to_owned()),
                    (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
                }
            },
        }
    };
}

/// Dynamic messages.
pub struct Dynamic(MessageDescriptor);

impl Dynamic {
    /// The message `name`.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn new(name: &str) -> Self {
        Self::of_set(crate::DESCRIPTORS, name)
    }

    /// The message `name` of edition 2023.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn of_edition(name: &str) -> Self {
        let knows = |set: &&&[u8]| Pool::decode(set).is_ok_and(|pool| pool.message(name).is_some());
        let set = crate::EDITIONS.iter().find(knows).expect("a message of an edition");
        Self::of_set(set, name)
    }

    fn of_set(set: &[u8], name: &str) -> Self {
        let pool = Pool::decode(set).expect("descriptors");
        Self(pool.message(name).expect("a message of the schema"))
    }

    fn decode(&self, bytes: &[u8]) -> Result<DynamicMessage, String> {
        DynamicMessage::decode(self.0.clone(), bytes).map_err(|e| e.to_string())
    }
}

impl Way for Dynamic {
    fn name(&self) -> &'static str {
        "dynamic"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let message = self.decode(bytes)?;
        let again = message.encode();
        compare(&message, &self.decode(&again)?).map_err(|e| format!("own encoding: {e}"))?;
        Ok(again)
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        compare(&self.decode(one)?, &self.decode(other)?)
    }
}

/// Dynamic messages that are printed as text and parsed again.
pub struct Text(Dynamic);

impl Text {
    /// The message `name`.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn new(name: &str) -> Self {
        Self(Dynamic::new(name))
    }

    /// The message `name` of edition 2023.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn of_edition(name: &str) -> Self {
        Self(Dynamic::of_edition(name))
    }

    /// # Errors
    /// The bytes are not a valid message.
    pub fn print(&self, bytes: &[u8]) -> Result<String, String> {
        self.0.decode(bytes).map(|message| message.to_text())
    }

    /// # Errors
    /// The text is not a valid message.
    pub fn parse(&self, text: &str) -> Result<Vec<u8>, String> {
        let message = DynamicMessage::from_text(self.0.0.clone(), text);
        message.map(|message| message.encode()).map_err(|e| e.to_string())
    }
}

impl Way for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let message = self.0.decode(bytes)?;
        let text = message.to_text();
        let parsed = DynamicMessage::from_text(self.0.0.clone(), &text);
        let parsed = parsed.map_err(|e| format!("{text}\n{e}"))?;
        compare(&message, &parsed).map_err(|e| format!("{text}\n{e}"))?;
        Ok(parsed.encode())
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        self.0.same(one, other)
    }
}

/// Each field from the generated reader, written by the generated writer.
pub struct Copy<M> {
    through: fn(&[u8]) -> Result<Vec<u8>, String>,
    owned: Owned<M>,
}

impl<M: Message> Copy<M> {
    /// Builds it from the copy function.
    pub const fn new(through: fn(&[u8]) -> Result<Vec<u8>, String>) -> Self {
        Self { through, owned: Owned(PhantomData) }
    }
}

impl<M: Message> Way for Copy<M> {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        (self.through)(bytes)
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        self.owned.same(&self.again(one)?, &self.again(other)?)
    }

    fn knows_extensions(&self) -> bool {
        false
    }
}

/// What is generated for one message: `M`, and `C` in the compact form.
pub struct Ours<M, C> {
    pub owned: Owned<M>,
    pub compact: Compact<C>,
    pub view: View,
    pub copy: Copy<M>,
}

/// The [`Ours`](crate::ways::Ours) of a message: module of the schema, message, the one that borrows, reader, writer,
/// and copy function.
#[macro_export]
macro_rules! ours {
    ($module:ident, $message:ident, $borrowed:ident, $reader:ident, $writer:ident, $copy:ident) => {
        $crate::ways::Ours::<$crate::ours::$module::$message, $crate::compact::$module::$message> {
            owned: Default::default(),
            compact: Default::default(),
            view: $crate::view!($module, $borrowed),
            copy: $crate::ways::Copy::new($crate::copy!($module, $reader, $writer, $copy)),
        }
    };
}

/// A function for [`Copy::new`], for a module of the schema and a message.
#[macro_export]
macro_rules! copy {
    ($module:ident, $reader:ident, $writer:ident, $copy:ident) => {
        |bytes: &[u8]| {
            use protozero::Writer as _;
            let mut stream = protozero::HeapSink::stream();
            let mut writer = $crate::ours::$module::$writer::from_scope(stream.root());
            let reader = $crate::ours::$module::$reader::new(bytes);
            $crate::ours::$module::copy::$copy(reader, &mut writer).map_err(|e| e.to_string())?;
            drop(writer);
            stream.finish().map_err(|e| e.to_string())
        }
    };
}
