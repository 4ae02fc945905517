//! Descriptors of another program: reads places and comments from their source info.

use std::collections::BTreeMap;

use protobuf::descriptor::source_code_info::Location;
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};

use super::parsed::Parsed;
use crate::names;
use crate::notes::{Note, Notes, PACKAGE, Place, join};

/// `descriptor` in the form that our parser returns.
pub(super) fn parsed(mut descriptor: FileDescriptorProto, emitted: bool) -> Parsed {
    descriptor.message_type.iter_mut().for_each(json_names);
    name(&mut descriptor.extension);
    let info = descriptor.source_code_info.take().unwrap_or_default();
    let locations = info.location.iter().map(|l| (l.path.as_slice(), l)).collect();
    let mut reader = Reader { locations, notes: Notes::new() };
    reader.file(&descriptor);
    let (path, notes) = (descriptor.name().to_owned(), reader.notes);
    // `protoc` has checked the options, and which types are local.
    let (options, option_imports, local) = Default::default();
    Parsed { path, descriptor, notes, options, option_imports, local, emitted }
}

/// Fills in names in JSON; not every compiler writes them.
fn json_names(d: &mut DescriptorProto) {
    name(&mut d.field);
    name(&mut d.extension);
    d.nested_type.iter_mut().for_each(json_names);
}

fn name(fields: &mut [FieldDescriptorProto]) {
    for f in fields.iter_mut().filter(|f| !f.has_json_name()) {
        f.set_json_name(names::json(f.name()));
    }
}

/// Reads source info. Its paths are lists of field numbers and indices (`descriptor.proto`, `SourceCodeInfo`).
struct Reader<'a> {
    locations: BTreeMap<&'a [i32], &'a Location>,
    notes: Notes,
}

fn below(path: &[i32], more: &[i32]) -> Vec<i32> {
    [path, more].concat()
}

fn index(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

/// Splits a comment into lines, without the space after the comment mark.
fn lines(text: &str) -> Vec<String> {
    let line = |l: &str| l.strip_prefix(' ').unwrap_or(l).trim_end().to_owned();
    text.trim_end().lines().map(line).collect()
}

impl Reader<'_> {
    fn place(&self, path: &[i32]) -> Place {
        let span = self.locations.get(path).map(|l| l.span.as_slice());
        let Some([line, column, ..]) = span else { return Place::default() };
        let one = |v: &i32| u32::try_from(*v).unwrap_or(0).saturating_add(1);
        Place { line: one(line), column: one(column) }
    }

    /// Notes the declaration at `path` as `local`. `fields` are the field numbers of its type, number and extendee.
    fn note(&mut self, local: &str, path: &[i32], fields: [i32; 3]) {
        let location = self.locations.get(path);
        let leading = location.map(|l| l.leading_comments()).unwrap_or_default();
        let trailing = location.map(|l| l.trailing_comments()).unwrap_or_default();
        let text = if leading.is_empty() { trailing } else { leading };
        let [type_at, number_at, extendee_at] =
            fields.map(|field| self.place(&below(path, &[field])));
        let at = match self.place(&below(path, &[1])) {
            Place { line: 0, .. } => self.place(path),
            at => at,
        };
        let note = Note { lines: lines(text), at, type_at, number_at, extendee_at };
        self.notes.insert(local.to_owned(), note);
    }

    fn counted(&mut self, what: &str, count: usize, path: &[i32]) {
        let at = self.place(path);
        self.notes.insert(format!("{what}{count}"), Note { at, ..Note::default() });
    }

    fn file(&mut self, d: &FileDescriptorProto) {
        if let Some(location) = self.locations.get([12].as_slice()) {
            let detached = location.leading_detached_comments.first().map(String::as_str);
            let text = detached.unwrap_or_else(|| location.leading_comments());
            self.notes.insert(String::new(), Note { lines: lines(text), ..Note::default() });
        }
        let at = self.place(&[2]);
        self.notes.insert(PACKAGE.to_owned(), Note { at, ..Note::default() });
        for at in 0..d.dependency.len() {
            self.counted("#import", at, &[3, index(at)]);
        }
        for (at, m) in d.message_type.iter().enumerate() {
            self.message("", &[4, index(at)], m);
        }
        for (at, e) in d.enum_type.iter().enumerate() {
            self.enumeration("", &[5, index(at)], e);
        }
        for (at, x) in d.extension.iter().enumerate() {
            self.note(x.name(), &[7, index(at)], [6, 3, 2]);
        }
        for (at, s) in d.service.iter().enumerate() {
            let path = [6, index(at)];
            self.note(s.name(), &path, [0; 3]);
            for (at, m) in s.method.iter().enumerate() {
                self.note(&join(s.name(), m.name()), &below(&path, &[2, index(at)]), [2, 3, 0]);
            }
        }
    }

    fn message(&mut self, scope: &str, path: &[i32], d: &DescriptorProto) {
        let local = join(scope, d.name());
        self.note(&local, path, [0; 3]);
        for (at, f) in d.field.iter().enumerate() {
            let kind = if f.type_name().is_empty() { 5 } else { 6 };
            self.note(&join(&local, f.name()), &below(path, &[2, index(at)]), [kind, 3, 0]);
        }
        for (at, x) in d.extension.iter().enumerate() {
            self.note(&join(&local, x.name()), &below(path, &[6, index(at)]), [6, 3, 2]);
        }
        for (at, o) in d.oneof_decl.iter().enumerate() {
            self.note(&join(&local, o.name()), &below(path, &[8, index(at)]), [0; 3]);
        }
        for at in 0..d.reserved_range.len() {
            self.counted(&format!("{local}#reserved"), at, &below(path, &[9, index(at)]));
        }
        for at in 0..d.extension_range.len() {
            self.counted(&format!("{local}#extensions"), at, &below(path, &[5, index(at)]));
        }
        for (at, m) in d.nested_type.iter().enumerate() {
            self.message(&local, &below(path, &[3, index(at)]), m);
        }
        for (at, e) in d.enum_type.iter().enumerate() {
            self.enumeration(&local, &below(path, &[4, index(at)]), e);
        }
    }

    fn enumeration(&mut self, scope: &str, path: &[i32], d: &EnumDescriptorProto) {
        let local = join(scope, d.name());
        self.note(&local, path, [0; 3]);
        for (at, v) in d.value.iter().enumerate() {
            self.note(&join(&local, v.name()), &below(path, &[2, index(at)]), [0, 2, 0]);
        }
        for at in 0..d.reserved_range.len() {
            self.counted(&format!("{local}#reserved"), at, &below(path, &[4, index(at)]));
        }
    }
}
