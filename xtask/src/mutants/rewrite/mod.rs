//! Sources with all mutants in them at once, of which a variable of the environment chooses one when a test runs.
//!
//! ```text
//!  tracing-core/abi/src                       target/mutants/source/tracing-core/abi/src
//!   if count > limits::PATCHES_MAX {           if crate::mutated::check(7, count > crate::mutated::limit(2, limits::…
//!       return Err(...);                           return Err(...);
//! ```
//!
//! So one build serves all mutants. Two kinds of places are mutated:
//!
//! - a constant that is a limit, where it is used: 1000 times larger, and zero. A field with the name of a limit in
//!   lower case has its value if it ends with `_max` or belongs to `limits`, so reading it is a use, too;
//! - a condition that decides whether something is refused: it never refuses. These are an `if` one of whose blocks
//!   ends with `return`, `break`, `continue`, `Err` or `None`, a guard of a `match`, and the receiver of `then`.
//!
//! What the compiler evaluates (constants, lengths of arrays, patterns, `const fn`) and arguments of macros stay.

mod syntax;

use proc_macro2::Span;
use std::collections::BTreeMap;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, Item};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// What it is, without numbers of lines, which change often: a line of `xtask/mutants.txt` begins with it.
    pub name: String,
    /// Its places: files and lines, of which the first is 1.
    pub places: Vec<(String, usize)>,
}

/// The mutants so far. Their indexes are the numbers in the code.
#[derive(Default)]
pub struct Rewriter {
    pub mutants: Vec<Mutant>,
    /// Whether conditions are mutated, too.
    pub checks: bool,
    /// The crates that the next file belongs to: others have limits of their own. Empty, or a word of the names.
    pub group: &'static str,
    /// The first of the two mutants of a constant of a group.
    limits: BTreeMap<(&'static str, String), usize>,
}

impl Rewriter {
    /// Adds the limits that `file` defines: all constants of a `limits.rs`, and elsewhere those whose name ends with
    /// `_MAX`.
    ///
    /// # Errors
    /// The text is no Rust.
    pub fn add_limits(&mut self, file: &str, text: &str) -> Result<(), String> {
        let parsed = syn::parse_file(text).map_err(|e| format!("{file}: {e}"))?;
        for item in &parsed.items {
            let Item::Const(item) = item else { continue };
            let name = item.ident.to_string();
            let is_limit = file.ends_with("/limits.rs") || name.ends_with("_MAX");
            if !is_limit || !syntax::is_integer(&item.ty) {
                continue;
            }
            let place = (file.to_owned(), item.ident.span().start().line);
            let key = (self.group, name);
            if let Some(first) = self.limits.get(&key) {
                self.mutants[*first..][..2].iter_mut().for_each(|m| m.places.push(place.clone()));
                continue;
            }
            let of = [self.group, key.1.as_str()].join(" ");
            for change in ["is 1000 times larger", "is zero"] {
                let name = format!("limit {} {change}", of.trim_start());
                self.mutants.push(Mutant { name, places: vec![place.clone()] });
            }
            self.limits.insert(key, self.mutants.len() - 2);
        }
        Ok(())
    }

    /// Inserts calls into a file. `switch` is the path of the module that chooses a mutant.
    ///
    /// # Errors
    /// The text is no Rust.
    pub fn file(&mut self, file: &str, text: &str, switch: &str) -> Result<String, String> {
        let parsed = syn::parse_file(text).map_err(|e| format!("{file}: {e}"))?;
        let mut visitor = Visitor {
            rewriter: self,
            file,
            text,
            switch,
            function: String::new(),
            opened: 0,
            insertions: Vec::new(),
        };
        visitor.visit_file(&parsed);
        Ok(apply(text, visitor.insertions))
    }
}

/// Text to insert, where, and what decides among those for one place: outer calls open first and close last.
struct Insertion {
    at: usize,
    order: isize,
    text: String,
}

fn apply(text: &str, mut insertions: Vec<Insertion>) -> String {
    insertions.sort_by_key(|insertion| (insertion.at, insertion.order));
    let mut out = String::with_capacity(text.len() * 2);
    let mut from = 0;
    for insertion in insertions {
        out.push_str(&text[from..insertion.at]);
        out.push_str(&insertion.text);
        from = insertion.at;
    }
    out.push_str(&text[from..]);
    out
}

struct Visitor<'r> {
    rewriter: &'r mut Rewriter,
    file: &'r str,
    text: &'r str,
    switch: &'r str,
    /// The innermost function around the current expression.
    function: String,
    /// Calls inserted so far.
    opened: isize,
    insertions: Vec<Insertion>,
}

impl Visitor<'_> {
    /// Puts a call around the code at `span`.
    fn wrap(&mut self, span: Span, call: &str) {
        let range = span.byte_range();
        self.opened += 1;
        let open = format!("{}::mutated::{call}", self.switch);
        self.insertions.push(Insertion { at: range.start, order: self.opened, text: open });
        self.insertions.push(Insertion { at: range.end, order: -self.opened, text: ")".into() });
    }

    /// Mutates the use of a limit, if `name` is one.
    fn limit(&mut self, name: &str, span: Span) {
        let key = (self.rewriter.group, name.to_owned());
        let Some(&number) = self.rewriter.limits.get(&key) else { return };
        let place = (self.file.to_owned(), span.start().line);
        self.rewriter.mutants[number..][..2].iter_mut().for_each(|m| m.places.push(place.clone()));
        self.wrap(span, &format!("limit({number}, "));
    }

    /// Mutates a condition: `answer` is the one that refuses nothing.
    fn check(&mut self, condition: &Expr, answer: bool) {
        for part in syntax::conjuncts(condition) {
            if !self.rewriter.checks || matches!(part, Expr::Let(_)) {
                continue;
            }
            let span = part.span();
            let words: Vec<&str> = self.text[span.byte_range()].split_whitespace().collect();
            let base =
                format!("check {} {}: `{}` is {answer}", self.file, self.function, words.join(" "));
            let mutants = &mut self.rewriter.mutants;
            let mut name = base.clone();
            let mut count = 1;
            while mutants.iter().any(|mutant| mutant.name == name) {
                count += 1;
                name = format!("{base} #{count}");
            }
            let number = mutants.len();
            mutants.push(Mutant { name, places: vec![(self.file.to_owned(), span.start().line)] });
            self.wrap(span, &format!("check({number}, {answer}, "));
        }
    }

    fn in_function(
        &mut self,
        signature: &syn::Signature,
        attributes: &[syn::Attribute],
        visit: impl FnOnce(&mut Self),
    ) {
        if signature.constness.is_some() || syntax::is_of_tests(attributes) {
            return;
        }
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        visit(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.in_function(&item.sig, &item.attrs, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.in_function(&item.sig, &item.attrs, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.in_function(&item.sig, &item.attrs, |this| visit::visit_trait_item_fn(this, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !syntax::is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    // What the compiler evaluates.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some(name) = path.path.segments.last().map(|segment| segment.ident.to_string()) else {
            return;
        };
        // Paths through types are constants of traits.
        if path.qself.is_some() || path.path.segments.iter().any(|segment| segment.ident == "Self")
        {
            return;
        }
        self.limit(&name, path.span());
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        if let syn::Member::Named(name) = &field.member
            // Messages of peers have fields with such names, too.
            && (name.to_string().ends_with("_max")
                || self.text[field.base.span().byte_range()].ends_with("limits"))
        {
            self.limit(&name.to_string().to_uppercase(), field.span());
        }
        visit::visit_expr_field(self, field);
    }

    // What is assigned to stays a place.
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.visit_expr(&assign.right);
    }

    fn visit_expr_if(&mut self, check: &'ast syn::ExprIf) {
        if syntax::block_refuses(&check.then_branch) {
            self.check(&check.cond, false);
        } else if check.else_branch.as_ref().is_some_and(|(_, other)| syntax::refuses(other)) {
            self.check(&check.cond, true);
        }
        visit::visit_expr_if(self, check);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.check(guard, !syntax::refuses(&arm.body));
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        // Other types have methods of that name, too.
        let takes_closure = matches!(call.args.first(), Some(Expr::Closure(_)));
        if call.method == "then" && takes_closure || call.method == "then_some" {
            self.check(&call.receiver, true);
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests;
