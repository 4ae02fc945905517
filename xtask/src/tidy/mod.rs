//! What no compiler checks: layers, cycles between files, sizes, the list of unsafe code, licences, file names, words,
//! paths.
//!
//! Each check adds findings of the form `file:line: what, and what to do`. One finding is a failure.

mod cycles;
mod edges;
mod examples;
mod layers;
mod modules;
mod paths;
mod sizes;
mod skips;
mod tables;
mod test_docs;
mod text;
mod unsafe_ledger;
mod words;

use self::text::{Findings, Text, tracked};
use crate::ctx::{Ctx, Outcome};

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let texts = tracked(ctx)?;
    let mut findings = Findings::default();
    layers::check(&texts, &mut findings);
    edges::check(ctx, &mut findings)?;
    modules::check(&texts, &mut findings);
    tables::check(&texts, &mut findings);
    cycles::check(&texts, &mut findings)?;
    sizes::check(ctx, &texts, &mut findings)?;
    unsafe_ledger::check(ctx, &texts, &mut findings)?;
    words::check(&texts, &mut findings);
    test_docs::check(&texts, &mut findings);
    skips::check(&texts, &mut findings);
    paths::check(ctx, &texts, &mut findings);
    examples::check(&texts, &mut findings)?;
    report_generated(ctx, &texts);
    for finding in &findings.0 {
        ctx.log(finding);
    }
    match findings.0.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings")),
    }
}

/// Reports the size of the generated code, so that a change of the generator is noticed.
fn report_generated(ctx: &Ctx, texts: &[Text]) {
    let mut lines = 0;
    for text in texts.iter().filter(|t| t.path.starts_with("protos/src/gen/")) {
        lines += text.code.lines().filter(|l| !l.trim().is_empty()).count();
    }
    let mut fields = 0;
    for text in texts.iter().filter(|t| t.path.ends_with(".proto") && t.path.starts_with("protos/"))
    {
        let is_field = |l: &&str| l.contains(" = ") && l.contains(';') && !l.starts_with("//");
        fields += text.text.lines().map(str::trim).filter(is_field).count();
    }
    if let Some(tenths) = (lines * 10).checked_div(fields) {
        ctx.log(format_args!(
            "generated: {lines} lines of code for {fields} fields and values, {}.{} each",
            tenths / 10,
            tenths % 10
        ));
    }
}
