//! Questions about Rust's grammar.

use syn::{Attribute, BinOp, Block, Expr, Stmt, Type};

/// The operands of `a && b && c`; of anything else, itself.
pub fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) && has_let(condition) => {
            let mut parts = conjuncts(&binary.left);
            parts.extend(conjuncts(&binary.right));
            parts
        }
        other => vec![other],
    }
}

/// Whether a chain of conditions binds a name, so that it cannot be an argument.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            has_let(&binary.left) || has_let(&binary.right)
        }
        _ => false,
    }
}

/// Whether the last statement leaves the function or the loop, or is an error or nothing.
pub fn block_refuses(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Expr(last, _)) => refuses(last),
        _ => false,
    }
}

/// The same of an expression.
pub fn refuses(expression: &Expr) -> bool {
    match expression {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Block(block) => block_refuses(&block.block),
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Err")),
        Expr::Path(path) => path.path.is_ident("None"),
        Expr::Lit(literal) => matches!(&literal.lit, syn::Lit::Bool(answer) if !answer.value),
        _ => false,
    }
}

/// An integer of Rust.
pub fn is_integer(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    ["u8", "u16", "u32", "u64", "usize", "i32", "i64"].iter().any(|name| path.path.is_ident(name))
}

/// Whether an item is only there when tests are built.
pub fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
        }
        other => other.path().is_ident("test"),
    })
}
