//! Decides which files get code: besides those that are named, files whose types are used, and no files whose code is
//! in another crate.

use super::{EnumId, Extension, Kind, MessageId, Schema};

/// Sets [`File::emitted`](super::File::emitted) of each file whose types an emitted file uses.
/// Removes extensions of messages without code.
pub(crate) fn mark(schema: &mut Schema) {
    loop {
        let emitted: Vec<usize> =
            (0..schema.files.len()).filter(|at| schema.files[*at].emitted).collect();
        let used: Vec<usize> = emitted.iter().flat_map(|file| uses(schema, *file)).collect();
        let mut more = false;
        for used in used {
            let used = &mut schema.files[used];
            if !used.emitted && used.extern_module.is_none() {
                used.emitted = true;
                more = true;
            }
        }
        if !more {
            break;
        }
    }
    let made: Vec<bool> = schema.messages.iter().map(|m| schema.files[m.file].has_code()).collect();
    let enums: Vec<bool> = schema.enums.iter().map(|e| schema.files[e.file].has_code()).collect();
    let keep = |x: &Extension| {
        let kind = match x.field.kind {
            Kind::Message(MessageId(at)) => made[at],
            Kind::Enum(EnumId(at)) => enums[at],
            _ => true,
        };
        made[x.extendee.0] && kind
    };
    schema.files.iter_mut().for_each(|f| f.extensions.retain(keep));
    schema.messages.iter_mut().for_each(|m| m.extensions.retain(keep));
}

/// Assigns files below a prefix of `externs` to the module of the longest matching prefix; no code is generated for
/// them. Then as [`mark`].
pub(crate) fn assign_externs(schema: &mut Schema, externs: &[(String, String)]) {
    for file in &mut schema.files {
        let matching = externs.iter().filter(|(prefix, _)| file.path.starts_with(prefix.as_str()));
        let longest = matching.max_by_key(|(prefix, _)| prefix.len());
        file.extern_module = longest.map(|(_, module)| module.clone());
        file.emitted &= file.extern_module.is_none();
    }
    mark(schema);
}

/// The files of all types in fields and methods of `file`, and in its extensions of messages with code.
fn uses(schema: &Schema, file: usize) -> Vec<usize> {
    let f = &schema.files[file];
    let fields = f.messages.iter().flat_map(|id| &schema.messages[id.0].fields);
    let kinds = fields.map(|f| f.kind);
    let made = |x: &&Extension| schema.files[schema.messages[x.extendee.0].file].has_code();
    let inside = f.messages.iter().flat_map(|id| &schema.messages[id.0].extensions);
    let extensions = f.extensions.iter().chain(inside).filter(made).map(|x| x.field.kind);
    let methods = f.services.iter().flat_map(|s| &s.methods);
    let methods = methods.flat_map(|m| [Kind::Message(m.request), Kind::Message(m.response)]);
    kinds
        .chain(extensions)
        .chain(methods)
        .filter_map(|kind| match kind {
            Kind::Message(id) => Some(schema.messages[id.0].file),
            Kind::Enum(id) => Some(schema.enums[id.0].file),
            _ => None,
        })
        .collect()
}
