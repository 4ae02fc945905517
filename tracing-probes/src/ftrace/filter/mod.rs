//! Which records of its events a session keeps. The kernel records what all sessions of an instance want together:
//! texts, system calls and functions of one are no concern of the others.

mod functions;
#[cfg(test)]
mod tests;

pub(crate) use self::functions::Functions;

use protozero::wire::tag;

use super::config::{EventName, Graph, PrintFilter, Syscalls};
use super::event;
use super::mux::Active;
use super::table::Table;
use super::table::plan::{Integer, Number, Tag, What};

/// The number of the call, in the messages of `raw_syscalls`.
const CALL: Tag = Tag::of(1, tag::VARINT);
/// The events of `raw_syscalls`.
const CALL_EVENTS: [&str; 2] = ["sys_enter", "sys_exit"];
/// The events of function graph, with the tags of the depth and of the function.
const GRAPH_EVENTS: [(&str, Tag, Tag); 2] = [
    ("funcgraph_entry", Tag::of(1, tag::VARINT), Tag::of(2, tag::VARINT)),
    ("funcgraph_exit", Tag::of(2, tag::VARINT), Tag::of(3, tag::VARINT)),
];

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct RecordFilter {
    /// Id of `ftrace/print`, and where its text begins.
    texts: Option<(u16, usize, PrintFilter)>,
    /// System calls. `None`: the session keeps all.
    calls: Option<CallFilter>,
    /// Function graph. `None`: the session does not ask for it.
    graph: Option<GraphFilter>,
}

#[derive(Debug)]
struct CallFilter {
    /// Ids of both events, with the number of the call.
    events: [Option<(u16, Number)>; 2],
    syscalls: Syscalls,
}

#[derive(Debug, Default)]
struct GraphFilter {
    events: [Option<GraphEvent>; 2],
    /// 0: any.
    depth_max: u32,
    /// `None`: all that are recorded.
    functions: Option<Functions>,
}

#[derive(Clone, Copy, Debug)]
struct GraphEvent {
    id: u16,
    depth: Option<Number>,
    function: Option<Number>,
}

impl RecordFilter {
    /// What a session keeps that has started. What cannot be filtered is told in `failed`. `None`: it keeps all.
    pub(crate) fn new(
        table: &Table,
        active: &Active,
        print: &PrintFilter,
        graph: Option<&Graph>,
        failed: &mut Vec<String>,
    ) -> Option<Self> {
        let id_of = |group: &str, name: &str| {
            active.events.get(&EventName::new(group, name)).map(|of| of.id)
        };
        let mut texts = None;
        if !print.is_empty()
            && let Some(id) = id_of("ftrace", "print")
        {
            match table.print_text() {
                Some(offset) => texts = Some((id, usize::from(offset), print.clone())),
                None => failed.push("ftrace/print (unexpected format for filtering)".to_owned()),
            }
        }
        let calls = (active.syscalls != Syscalls::All).then(|| {
            let number = |name| {
                let id = id_of("raw_syscalls", name)?;
                Some((id, place(table, id, CALL)?))
            };
            CallFilter { events: CALL_EVENTS.map(number), syscalls: active.syscalls.clone() }
        });
        let graph = graph.map(|graph| {
            let event = |(name, depth, function)| {
                let id = id_of("ftrace", name)?;
                let [depth, function] = [depth, function].map(|tag| place(table, id, tag));
                Some(GraphEvent { id, depth, function })
            };
            let events = GRAPH_EVENTS.map(event);
            GraphFilter { events, depth_max: graph.depth_max, functions: None }
        });
        let filter = Self { texts, calls, graph };
        let is_all = filter.texts.is_none() && filter.calls.is_none() && filter.graph.is_none();
        (!is_all).then_some(filter)
    }

    /// From now on others record functions that this session did not ask for. Without function graph it keeps what it
    /// has.
    pub(crate) fn keep_functions(&mut self, functions: Functions) {
        if let Some(graph) = &mut self.graph {
            graph.functions = Some(functions);
        }
    }

    /// Does the session keep this record?
    pub(crate) fn keeps(&self, id: u16, record: &[u8]) -> bool {
        if let Some((print, offset, filter)) = &self.texts
            && *print == id
        {
            return record.get(*offset..).is_none_or(|text| filter.keeps(text));
        }
        if let Some(CallFilter { events, syscalls }) = &self.calls
            && let Some((_, number)) = events.iter().flatten().find(|(of, _)| *of == id)
        {
            return event::number(record, *number).is_some_and(|call| syscalls.contains(call));
        }
        self.graph.as_ref().is_none_or(|graph| graph.keeps(id, record))
    }
}

impl GraphFilter {
    fn keeps(&self, id: u16, record: &[u8]) -> bool {
        let Some(event) = self.events.iter().flatten().find(|event| event.id == id) else {
            return true;
        };
        let value = |number: Option<Number>| event::number(record, number?);
        // A depth of 0 is that of a function that no other of those recorded has called.
        let is_deep = self.depth_max > 0
            && value(event.depth)
                .is_some_and(|depth| depth.cast_unsigned() >= self.depth_max.into());
        let is_ours = self.functions.as_ref().is_none_or(|functions| {
            value(event.function).is_some_and(|address| functions.has(address.cast_unsigned()))
        });
        !is_deep && is_ours
    }
}

/// Where the integer of four or eight bytes is that becomes this field of the event's message.
fn place(table: &Table, id: u16, tag: Tag) -> Option<Number> {
    let step = table.plan(id)?.steps.iter().find(|step| step.tag == tag)?;
    let is_wide = match step.what {
        What::I64 | What::U64 | What::Address64 => true,
        What::I32 | What::U32 | What::Address32 => false,
        What::Within { from: Integer::I64 | Integer::U64, .. } => true,
        What::Within { from: Integer::I32 | Integer::U32, .. } => false,
        _ => return None,
    };
    Some(Number { offset: step.offset, is_wide })
}
