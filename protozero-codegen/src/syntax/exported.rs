//! The words `export` and `local`, which edition 2024 has.

use protobuf::SpecialFields;

use super::cursor::{Grammar, ParseResult, SyntaxVersion};

impl Grammar<'_> {
    /// Reads `export` or `local` before a message or an enum. In older files these are names of types.
    pub(super) fn exported(&mut self) -> ParseResult<Option<bool>> {
        if self.version != SyntaxVersion::Edition2024 {
            return Ok(None);
        }
        let exported = match (self.is_word("export"), self.is_word("local")) {
            (false, false) => return Ok(None),
            (export, _) => export,
        };
        self.bump();
        if !self.is_word("message") && !self.is_word("enum") {
            return self.fail("`message` or `enum`");
        }
        Ok(Some(exported))
    }

    /// Notes the type at `path`. `number` is that of the field `visibility` of its descriptor.
    pub(super) fn visible(
        &mut self,
        path: &str,
        exported: Option<bool>,
        (number, fields): (u32, &mut SpecialFields),
    ) {
        if self.version != SyntaxVersion::Edition2024 {
            return;
        }
        self.visibility.types.push((path.to_owned(), exported));
        if let Some(exported) = exported {
            fields.mut_unknown_fields().add_varint(number, if exported { 2 } else { 1 });
        }
    }
}
