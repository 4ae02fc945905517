//! The trait of generated writers.

use crate::decode::Field;
use crate::encode::Scope;

/// A generated writer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the writer of a message",
    note = "generate it with the API kind `writer`: the writer of `Order` is `OrderWriter<'_>`"
)]
pub trait Writer<'w>: Sized {
    /// Full name of the message, without a leading dot.
    const NAME: &'static str;

    /// Writes into the message that `scope` opened.
    fn from_scope(scope: Scope<'w>) -> Self;

    /// The open message, for fields that its schema does not contain: extensions, and copied
    /// fields.
    fn scope_mut(&mut self) -> &mut Scope<'w>;

    /// Appends a field from a reader, with its tag: see [`Scope::append_field`].
    #[inline]
    fn append_field(&mut self, field: &Field<'_>) {
        self.scope_mut().append_field(field);
    }
}
