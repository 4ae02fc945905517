//! Resolves names: every declaration gets a full name, and every use is looked up from the innermost scope outwards,
//! among the files that its file imports.

use std::collections::{BTreeMap, BTreeSet};

use protobuf::EnumOrUnknown;
use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};

use super::parsed::Parsed;
use crate::error::Error;
use crate::notes::{Note, PACKAGE, Place, join};

/// The kind of declaration that a full name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Package,
    Message,
    Enum,
    /// Fields, oneofs, values, extensions, services and methods: no field can have them as its type.
    Other,
}

struct Linker {
    /// Full name, without a leading dot, to its kind and its file.
    names: BTreeMap<String, (What, usize)>,
    /// Full names of types that other files cannot use.
    local: BTreeSet<String>,
    /// Per file, the files whose names it may use.
    visible: Vec<BTreeSet<usize>>,
}

/// Resolves all names of all files.
///
/// # Errors
/// When a name is declared twice, not found, not imported, or of the wrong kind.
pub(super) fn link(files: &mut [Parsed]) -> Result<(), Error> {
    let local = files.iter().flat_map(|file| {
        let package = file.descriptor.package();
        file.local.iter().map(move |path| join(package, path))
    });
    let (names, local) = (BTreeMap::new(), local.collect());
    let mut linker = Linker { names, local, visible: visible(files, false) };
    for (at, file) in files.iter().enumerate() {
        linker.declare_file(at, file)?;
    }
    for (at, file) in files.iter_mut().enumerate() {
        let mut d = core::mem::take(&mut file.descriptor);
        let done = linker.file(at, file, &mut d);
        file.descriptor = d;
        done?;
    }
    Ok(())
}

/// Per file, the files whose names it may use: itself, its imports, and their public imports. Options may use more.
pub(super) fn visible(files: &[Parsed], options: bool) -> Vec<BTreeSet<usize>> {
    let by_path: BTreeMap<&str, usize> =
        files.iter().enumerate().map(|(at, f)| (f.path.as_str(), at)).collect();
    let import = |d: &FileDescriptorProto, n: usize| {
        d.dependency.get(n).and_then(|path| by_path.get(path.as_str()).copied())
    };
    let all = |(at, file): (usize, &Parsed)| {
        let mut seen = BTreeSet::from([at]);
        let d = &file.descriptor;
        let mut open: Vec<usize> = (0..d.dependency.len()).filter_map(|n| import(d, n)).collect();
        if options {
            let more = file.option_imports.iter();
            open.extend(more.filter_map(|path| by_path.get(path.as_str()).copied()));
        }
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                let d = &files[next].descriptor;
                let public = d.public_dependency.iter().filter_map(|n| usize::try_from(*n).ok());
                open.extend(public.filter_map(|n| import(d, n)));
            }
        }
        seen
    };
    files.iter().enumerate().map(all).collect()
}

impl Linker {
    fn declare(&mut self, at: usize, file: &Parsed, local: &str, what: What) -> Result<(), Error> {
        self.declare_at(at, file, local, local, what)
    }

    /// `noted` is the path of its note if that differs from its name.
    fn declare_at(
        &mut self,
        at: usize,
        file: &Parsed,
        local: &str,
        noted: &str,
        what: What,
    ) -> Result<(), Error> {
        let full = join(file.descriptor.package(), local);
        if let Some((_, other)) = self.names.insert(full.clone(), (what, at)) {
            let name = local.rsplit('.').next().unwrap_or(local);
            let scope = full.strip_suffix(name).and_then(|s| s.strip_suffix('.')).unwrap_or("");
            let scope = if scope.is_empty() { "its file" } else { scope };
            let elsewhere =
                if other == at { String::new() } else { ", first in another file".into() };
            let message = format!("{name} is declared twice in {scope}{elsewhere}");
            return Err(file.error(noted, |n| n.at, message));
        }
        Ok(())
    }

    fn declare_file(&mut self, at: usize, file: &Parsed) -> Result<(), Error> {
        let d = &file.descriptor;
        let mut package = String::new();
        for part in d.package().split('.').filter(|p| !p.is_empty()) {
            package = join(&package, part);
            let known = self.names.entry(package.clone()).or_insert((What::Package, at));
            if known.0 != What::Package {
                let message = format!("package {package} has the name of a declaration");
                return Err(file.error(PACKAGE, |n| n.at, message));
            }
        }
        for m in &d.message_type {
            self.declare_message(at, file, "", m)?;
        }
        for e in &d.enum_type {
            self.declare_enum(at, file, "", e)?;
        }
        for x in &d.extension {
            self.declare(at, file, x.name(), What::Other)?;
        }
        for s in &d.service {
            self.declare(at, file, s.name(), What::Other)?;
            for m in &s.method {
                self.declare(at, file, &join(s.name(), m.name()), What::Other)?;
            }
        }
        Ok(())
    }

    fn declare_message(
        &mut self,
        at: usize,
        file: &Parsed,
        scope: &str,
        d: &DescriptorProto,
    ) -> Result<(), Error> {
        let local = join(scope, d.name());
        self.declare(at, file, &local, What::Message)?;
        let names = d.field.iter().map(|f| f.name());
        let names = names.chain(d.oneof_decl.iter().map(|o| o.name()));
        for name in names.chain(d.extension.iter().map(|x| x.name())) {
            self.declare(at, file, &join(&local, name), What::Other)?;
        }
        for m in &d.nested_type {
            self.declare_message(at, file, &local, m)?;
        }
        d.enum_type.iter().try_for_each(|e| self.declare_enum(at, file, &local, e))
    }

    /// The values of an enum are in the scope that contains the enum, as in C++.
    fn declare_enum(
        &mut self,
        at: usize,
        file: &Parsed,
        scope: &str,
        d: &EnumDescriptorProto,
    ) -> Result<(), Error> {
        let local = join(scope, d.name());
        self.declare(at, file, &local, What::Enum)?;
        for v in &d.value {
            let noted = join(&local, v.name());
            self.declare_at(at, file, &join(scope, v.name()), &noted, What::Other)?;
        }
        Ok(())
    }

    fn file(&self, at: usize, file: &Parsed, d: &mut FileDescriptorProto) -> Result<(), Error> {
        let package = d.package().to_owned();
        for m in &mut d.message_type {
            self.message(at, file, &package, "", m)?;
        }
        for x in &mut d.extension {
            self.field(at, file, &package, "", x)?;
        }
        for s in &mut d.service {
            let service = s.name().to_owned();
            let scope = join(&package, &service);
            for m in &mut s.method {
                let path = join(&service, m.name());
                let message =
                    |name: &str, place: fn(&Note) -> Place| match self.resolve(at, &scope, name) {
                        Ok((full, What::Message)) => Ok(full),
                        Ok(_) => Err(file.error(&path, place, format!("{name} is not a message"))),
                        Err(message) => Err(file.error(&path, place, message)),
                    };
                let input = message(m.input_type(), |n| n.type_at)?;
                let output = message(m.output_type(), |n| n.number_at)?;
                m.set_input_type(input);
                m.set_output_type(output);
            }
        }
        Ok(())
    }

    fn message(
        &self,
        at: usize,
        file: &Parsed,
        package: &str,
        scope: &str,
        d: &mut DescriptorProto,
    ) -> Result<(), Error> {
        let local = join(scope, d.name());
        for f in d.field.iter_mut().chain(&mut d.extension) {
            self.field(at, file, package, &local, f)?;
        }
        d.nested_type.iter_mut().try_for_each(|m| self.message(at, file, package, &local, m))
    }

    fn field(
        &self,
        at: usize,
        file: &Parsed,
        package: &str,
        scope: &str,
        d: &mut FieldDescriptorProto,
    ) -> Result<(), Error> {
        let path = join(scope, d.name());
        let inside = if package.is_empty() {
            scope.to_owned()
        } else {
            join(package, scope).trim_end_matches('.').to_owned()
        };
        if !d.type_name().is_empty() {
            let wrong = |message| file.error(&path, |n| n.type_at, message);
            let (full, what) = self.resolve(at, &inside, d.type_name()).map_err(wrong)?;
            let kind = match what {
                What::Enum => Type::TYPE_ENUM,
                _ => Type::TYPE_MESSAGE,
            };
            let declared = d.type_.map(|t| t.enum_value_or(kind));
            let fits = match declared {
                None => true,
                Some(Type::TYPE_GROUP) => kind == Type::TYPE_MESSAGE,
                Some(declared) => declared == kind,
            };
            if !fits {
                return Err(wrong(format!("{} does not have the declared kind", d.type_name())));
            }
            d.set_type_name(full);
            d.type_.get_or_insert(EnumOrUnknown::new(kind));
        } else if d.type_.is_none_or(|t| {
            let named = [Type::TYPE_MESSAGE, Type::TYPE_GROUP, Type::TYPE_ENUM];
            named.contains(&t.enum_value_or(Type::TYPE_DOUBLE))
        }) {
            return Err(file.error(&path, |n| n.at, "a field without a type".into()));
        }
        if d.has_extendee() {
            let wrong = |message| file.error(&path, |n| n.extendee_at, message);
            match self.resolve(at, &inside, d.extendee()).map_err(wrong)? {
                (full, What::Message) => d.set_extendee(full),
                _ => return Err(wrong(format!("{} is not a message", d.extendee()))),
            }
        }
        Ok(())
    }

    /// The full name, with a leading dot, of the type called `name` inside `scope`.
    fn resolve(&self, at: usize, scope: &str, name: &str) -> Result<(String, What), String> {
        let mut hidden = None;
        let mut see = |full: &str| match self.names.get(full) {
            Some((what @ (What::Message | What::Enum), file)) => {
                if self.visible[at].contains(file) {
                    return Some((format!(".{full}"), *what));
                }
                hidden = Some(full.to_owned());
                None
            }
            _ => None,
        };
        let found = if let Some(full) = name.strip_prefix('.') {
            see(full)
        } else {
            let first = name.split('.').next().unwrap_or(name);
            let mut scope = scope;
            loop {
                let outer = join(scope, first);
                // The innermost message or package with the first part of the name decides, as in C++.
                let decides = first.len() < name.len()
                    && self.names.get(&outer).is_some_and(|(what, _)| *what != What::Other);
                let found = see(&join(scope, name));
                if found.is_some() || decides && self.decided(at, &outer) || scope.is_empty() {
                    break found;
                }
                scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
            }
        };
        if let Some((full, _)) = &found
            && let full = full.trim_start_matches('.')
            && self.local.contains(full)
            && self.names.get(full).is_some_and(|(_, file)| *file != at)
        {
            return Err(format!("{full} is local to its file"));
        }
        found.ok_or_else(|| match hidden {
            Some(full) => format!("{full} is in a file that is not imported"),
            None => format!("type {name} is not found"),
        })
    }

    /// Whether `name` hides outer declarations. A package does so only if one of its files is visible.
    fn decided(&self, at: usize, name: &str) -> bool {
        match self.names.get(name) {
            Some((What::Package, _)) => {
                let inside = format!("{name}.");
                let from = self.names.range(inside.clone()..);
                from.take_while(|(n, _)| n.starts_with(&inside))
                    .any(|(_, (_, file))| self.visible[at].contains(file))
            }
            Some((_, file)) => self.visible[at].contains(file),
            None => false,
        }
    }
}
