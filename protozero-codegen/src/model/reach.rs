//! Which of the well-known files a schema needs: those whose types its own files use.

use super::{Kind, MessageId, Schema};

/// Sets [`File::emitted`](super::File::emitted) of each file that `wanted` allows and whose types are
/// used by an emitted one, and drops extensions of messages nobody makes code for.
pub(crate) fn mark(schema: &mut Schema, wanted: impl Fn(&str) -> bool) {
    let mut open: Vec<usize> =
        (0..schema.files.len()).filter(|at| schema.files[*at].emitted).collect();
    while let Some(file) = open.pop() {
        for used in uses(schema, file) {
            let used = &mut schema.files[used];
            if !used.emitted && wanted(&used.path) {
                used.emitted = true;
                let path = used.path.clone();
                open.extend(schema.files.iter().position(|f| f.path == path));
            }
        }
    }
    let made: Vec<bool> = schema.messages.iter().map(|m| schema.files[m.file].emitted).collect();
    let keep = |x: &super::Extension| {
        made[x.extendee.0] && !matches!(x.field.kind, Kind::Message(MessageId(at)) if !made[at])
    };
    schema.files.iter_mut().for_each(|f| f.extensions.retain(keep));
    schema.messages.iter_mut().for_each(|m| m.extensions.retain(keep));
}

/// Files of the types that fields and methods of `file` have.
fn uses(schema: &Schema, file: usize) -> Vec<usize> {
    let f = &schema.files[file];
    let fields = f.messages.iter().flat_map(|id| &schema.messages[id.0].fields);
    let kinds = fields.map(|f| f.kind);
    let methods = f.services.iter().flat_map(|s| &s.methods);
    let methods = methods.flat_map(|m| [Kind::Message(m.request), Kind::Message(m.response)]);
    kinds
        .chain(methods)
        .filter_map(|kind| match kind {
            Kind::Message(id) => Some(schema.messages[id.0].file),
            Kind::Enum(id) => Some(schema.enums[id.0].file),
            _ => None,
        })
        .collect()
}
