//! The modules of a crate, the names in each, and the file that defines an item.

use super::graph::Edges;
use std::collections::{BTreeMap, BTreeSet};

/// All modules of one crate; the first is its root.
#[derive(Default)]
pub struct Tree {
    pub modules: Vec<Module>,
    pub mentions: Vec<Mention>,
    /// The files that define a macro of a name.
    pub macros: BTreeMap<String, BTreeSet<String>>,
}

pub struct Module {
    /// The file that contains it.
    pub file: String,
    /// The folder of the files of its children.
    pub folder: String,
    parent: Option<usize>,
    names: BTreeMap<String, Vec<Name>>,
    globs: Vec<Vec<String>>,
}

/// What a name in a module stands for.
#[derive(Clone)]
pub enum Name {
    Item,
    Module(usize),
    Import(Vec<String>),
}

/// What a path leads to: an item defined in a module, or a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Item(usize),
    Module(usize),
}

/// A path in the code of a module.
pub struct Mention {
    pub module: usize,
    pub path: Vec<String>,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Path,
    /// `pub use`: no edge to a child.
    Export,
    Macro,
}

impl Tree {
    /// Adds a module; the first one is the root.
    pub fn add(&mut self, parent: Option<usize>, file: String, folder: String) -> usize {
        let (names, globs) = (BTreeMap::new(), Vec::new());
        self.modules.push(Module { file, folder, parent, names, globs });
        self.modules.len() - 1
    }

    /// A module in the braces of its parent's file.
    pub fn inline(&mut self, parent: usize, name: &str) -> usize {
        let Module { file, folder, .. } = &self.modules[parent];
        let (file, folder) = (file.clone(), format!("{folder}/{name}"));
        let added = self.add(Some(parent), file, folder);
        self.define(parent, name, Name::Module(added));
        added
    }

    pub fn define(&mut self, module: usize, name: &str, what: Name) {
        self.modules[module].names.entry(name.to_owned()).or_default().push(what);
    }

    pub fn glob(&mut self, module: usize, path: Vec<String>) {
        self.modules[module].globs.push(path);
    }

    /// For each file, the other files whose items it names.
    pub fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for mention in &self.mentions {
            let from = &self.modules[mention.module].file;
            for to in self.defining_files(mention).into_iter().filter(|to| to != from) {
                let name = format!("`{}`", mention.path.join("::"));
                edges.entry((from.clone(), to)).or_default().insert(name);
            }
        }
        edges
    }

    fn defining_files(&self, mention: &Mention) -> BTreeSet<String> {
        let Mention { module, path, kind } = mention;
        if *kind == Kind::Macro {
            let name = path.last().map(String::as_str).unwrap_or_default();
            let found = self.macros.get(name).cloned().unwrap_or_default();
            // Of macros with one name, a file calls its own.
            let has_own = found.contains(&self.modules[*module].file);
            return if has_own { BTreeSet::new() } else { found };
        }
        let is_export = |target| *kind == Kind::Export && self.is_below(target, *module);
        let targets = self.resolve(*module, path, &mut BTreeSet::new());
        let items = targets.into_iter().filter_map(|target| match target {
            Target::Item(module) if !is_export(module) => Some(module),
            _ => None,
        });
        items.map(|module| self.modules[module].file.clone()).collect()
    }

    fn is_below(&self, mut module: usize, ancestor: usize) -> bool {
        while let Some(parent) = self.modules[module].parent {
            if parent == ancestor {
                return true;
            }
            module = parent;
        }
        false
    }

    /// What a path means in a module; nothing for a path into another crate.
    fn resolve(
        &self,
        module: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, String)>,
    ) -> BTreeSet<Target> {
        let Some((first, mut rest)) = path.split_first() else { return BTreeSet::new() };
        let mut targets = match first.as_str() {
            "crate" => BTreeSet::from([Target::Module(0)]),
            "self" => BTreeSet::from([Target::Module(module)]),
            "super" => self.modules[module].parent.into_iter().map(Target::Module).collect(),
            name => self.lookup(module, name, seen),
        };
        while let Some((next, after)) = rest.split_first() {
            let modules: Vec<usize> = targets
                .iter()
                .filter_map(|t| if let Target::Module(m) = t { Some(*m) } else { None })
                .collect();
            // A variant or an associated item belongs to its type.
            if modules.is_empty() {
                return targets;
            }
            let step = |module: &usize| match next.as_str() {
                "super" => self.modules[*module].parent.into_iter().map(Target::Module).collect(),
                "self" => BTreeSet::from([Target::Module(*module)]),
                name => self.lookup(*module, name, seen),
            };
            targets = modules.iter().flat_map(step).collect();
            rest = after;
        }
        targets
    }

    fn lookup(
        &self,
        module: usize,
        name: &str,
        seen: &mut BTreeSet<(usize, String)>,
    ) -> BTreeSet<Target> {
        // `use a::a` and globs in both directions lead back here.
        if !seen.insert((module, name.to_owned())) {
            return BTreeSet::new();
        }
        let Module { names, globs, .. } = &self.modules[module];
        let mut found = BTreeSet::new();
        for what in names.get(name).into_iter().flatten() {
            match what {
                Name::Item => drop(found.insert(Target::Item(module))),
                Name::Module(child) => drop(found.insert(Target::Module(*child))),
                Name::Import(path) => found.extend(self.import(module, path, name, seen)),
            }
        }
        if found.is_empty() {
            for glob in globs {
                for target in self.resolve(module, glob, seen) {
                    if let Target::Module(other) = target {
                        found.extend(self.lookup(other, name, seen));
                    }
                }
            }
        }
        seen.remove(&(module, name.to_owned()));
        found
    }

    /// `use a::a;` beside `mod a;`: the first segment is the module, not the import itself.
    fn import(
        &self,
        module: usize,
        path: &[String],
        name: &str,
        seen: &mut BTreeSet<(usize, String)>,
    ) -> BTreeSet<Target> {
        if path.first().is_none_or(|first| first != name) {
            return self.resolve(module, path, seen);
        }
        let children = self.modules[module].names.get(name).into_iter().flatten();
        let child = children.filter_map(|what| match what {
            Name::Module(child) => Some(*child),
            _ => None,
        });
        child.flat_map(|child| self.resolve_in(child, &path[1..], seen)).collect()
    }

    fn resolve_in(
        &self,
        child: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, String)>,
    ) -> BTreeSet<Target> {
        match path.is_empty() {
            true => BTreeSet::from([Target::Module(child)]),
            false => self.resolve(child, path, seen),
        }
    }
}
