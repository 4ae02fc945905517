//! Names of the constants of an enum.

use super::ident::{Taken, pascal, raw};
use super::prost;
use crate::model::Enumeration;

/// The names of the schema.
pub(super) fn as_declared(e: &Enumeration) -> Vec<String> {
    // Names that an associated constant could shadow or clash with.
    let taken = ["NAME", "VALUES", "CLOSED", "name", "from_name", "from_i32", "to_i32"];
    let mut taken = Taken::new(&taken);
    e.values.iter().map(|v| raw(&taken.take(v.name.clone())).to_string()).collect()
}

/// In camel case, without the name of the enum in front. Of two that would be equal, the one with the higher number
/// gets an underscore. In proto3 and the editions, most such enums are invalid: see the checks of the parser.
pub(super) fn short(e: &Enumeration, like_prost: bool) -> Vec<String> {
    let of = e.path.parts.last().map_or("", String::as_str);
    let mut order: Vec<usize> = (0..e.values.len()).collect();
    order.sort_by_key(|at| (e.values[*at].number, &e.values[*at].name));
    let mut taken = Taken::new(&[]);
    let mut names = vec![String::new(); e.values.len()];
    for at in order {
        let name = &e.values[at].name;
        names[at] = taken.take(match like_prost {
            true => prost::value(of, name),
            false => pascal(without(of, name).unwrap_or(name)),
        });
    }
    names.iter().map(|name| raw(name).to_string()).collect()
}

/// `SHIPPED` for the enum `OrderStatus` and the value `ORDER_STATUS_SHIPPED`. None if the value has another prefix, or
/// if what remains is no name.
fn without<'n>(of: &str, name: &'n str) -> Option<&'n str> {
    let mut rest = name;
    for letter in of.chars().filter(|c| *c != '_') {
        rest = rest.trim_start_matches('_');
        let first = rest.chars().next().filter(|c| c.eq_ignore_ascii_case(&letter))?;
        rest = rest.get(first.len_utf8()..)?;
    }
    let rest = rest.strip_prefix('_')?.trim_start_matches('_');
    rest.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(rest)
}
