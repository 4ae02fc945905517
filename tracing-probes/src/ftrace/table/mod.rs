//! The events of this kernel, by the id that begins their records.
//!
//! ```text
//! by_id   [0, 0, .., 3, ..]      a slot for each id up to the highest; 0 is none
//!                    │
//! events  [.., .., Event]  <──  by_name, sorted
//! ```
//!
//! A table belongs to one root of tracefs or one of its instances. It begins with the few events of the schema that any
//! session may need. Other events and probes come when a config asks for them. The formats of a session's events are
//! read again when it is set up: modules and probes come and go, and the kernel gives the id of one that went to
//! another. An event whose id another event has now is forgotten; the same event with the same format stays as it is.

use std::borrow::Cow;

use super::compact::{Layout, Switch, Waking};
use super::event::COMMON_PID;
use super::format::Format;
use super::schema;

pub(super) mod choice;
mod convert;
mod field_ids;
pub(super) mod kind;
mod make;
pub(super) mod plan;
pub(super) mod plans;
mod sched;

pub(crate) use self::field_ids::FieldIds;
pub(crate) use self::make::Options;
pub(crate) use self::sched::Unfit;

use self::plan::{Plan, What};
use self::plans::Plans;

/// Events, and how their records become messages.
#[derive(Debug)]
pub(crate) struct Table {
    options: Options,
    /// `None` until a format was read.
    common: Option<Common>,
    /// Indices into `events`, plus one.
    by_id: Vec<u16>,
    /// Indices into `events`, by group and name.
    by_name: Vec<u16>,
    /// `None` are those that were forgotten.
    events: Vec<Option<Event>>,
    /// Indices of these, to be taken again.
    free: Vec<u16>,
    switch: Result<Switch, Unfit>,
    waking: Result<Waking, Unfit>,
}

/// An event of this kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// What its records begin with. Never 0.
    pub(crate) id: u16,
    pub(crate) group: Cow<'static, str>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) origin: Origin,
    /// How a record becomes a message, unless the origin has another plan for the session.
    pub(crate) plan: Plan,
}

/// Where the message of an event comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The schema has it.
    Schema,
    /// It has a number of its own, and the descriptor of its plan says what the fields are. `legacy` is the plan of a
    /// session with the encoding of older readers.
    Generic { legacy: Box<Plan> },
    /// A kprobe, whose message has a type that the session chooses. [`Probe`] is the index.
    Kprobe { plans: Box<[Plan; 3]> },
}

/// What a kprobe marks, `KprobeEvent.KprobeType` less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Begin,
    End,
    Instant,
}

/// Where the fields are that all events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Common {
    /// Offset of the thread, an `i32`; events of a hypervisor have none.
    pub(crate) pid: Option<u16>,
    /// Offset of the flags, a `u8`.
    pub(crate) flags: Option<u16>,
}

/// Of every kernel that was seen; for a table without a format.
const COMMON: Common = Common { pid: Some(4), flags: Some(2) };

/// Why an event is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddError {
    /// There is no format: the kernel does not have the event.
    Missing,
    /// The format has no name, no id or no common field.
    Format,
    /// All numbers of generic events are taken.
    Numbers,
}

impl std::fmt::Display for AddError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "the kernel has no such event",
            Self::Format => "its format has no name, no id or no common field",
            Self::Numbers => "too many events without a schema were recorded; restart the program",
        })
    }
}

impl Table {
    /// All events of the schema that have a format. `read` gives the text of `events/GROUP/NAME/format`.
    pub(crate) fn new(
        options: Options,
        read: &mut dyn FnMut(&str, &str) -> Option<Vec<u8>>,
    ) -> Self {
        Self::of(options, schema::EVENTS.iter(), read)
    }

    /// Those that a session may need beside the events that it asks for, which it adds. There are hundreds of others,
    /// and reading all formats takes half of the time of a start.
    pub(crate) fn shared(
        options: Options,
        read: &mut dyn FnMut(&str, &str) -> Option<Vec<u8>>,
    ) -> Self {
        let shared = [PRINT, (sched::GROUP, sched::SWITCH), (sched::GROUP, sched::WAKING)];
        let events = shared.into_iter().filter_map(|(group, name)| schema::find(group, name));
        Self::of(options, events, read)
    }

    fn of(
        options: Options,
        events: impl Iterator<Item = &'static schema::Event>,
        read: &mut dyn FnMut(&str, &str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut table = Self::empty(options);
        for event in events {
            let text = read(event.group(), event.name());
            if let Some(format) = text.as_deref().and_then(Format::parse) {
                table.learn(&format);
                let _ = table.add_known(event, &format);
            }
        }
        // Programs write markers on kernels whose format cannot be read, too.
        if table.find(PRINT.0, PRINT.1).is_none()
            && let Some(format) = Format::parse(PRINT_FORMAT)
            && table.event(format.id).is_none()
            && let Some(event) = schema::find(PRINT.0, PRINT.1)
        {
            let _ = table.add_known(event, &format);
        }
        table
    }

    fn empty(options: Options) -> Self {
        Self {
            options,
            common: None,
            by_id: Vec::new(),
            by_name: Vec::new(),
            events: Vec::new(),
            free: Vec::new(),
            switch: Err(NO_SWITCH),
            waking: Err(NO_WAKING),
        }
    }

    /// Takes the format of an event as it is now, `None` if there is none; returns the id. What is known of the event
    /// changes only if the format says something else than before.
    ///
    /// # Errors
    /// The event cannot be recorded, and is forgotten.
    pub(crate) fn add(
        &mut self,
        group: &str,
        name: &str,
        format: Option<&[u8]>,
        ids: &mut FieldIds,
    ) -> Result<u16, AddError> {
        let added = self.try_add(group, name, format, ids);
        if added.is_err() {
            self.forget(group, name);
        }
        added
    }

    fn try_add(
        &mut self,
        group: &str,
        name: &str,
        format: Option<&[u8]>,
        ids: &mut FieldIds,
    ) -> Result<u16, AddError> {
        let format = Format::parse(format.ok_or(AddError::Missing)?).ok_or(AddError::Format)?;
        self.learn(&format);
        if let Some(event) = schema::find(group, name) {
            return self.add_known(event, &format).map(|()| format.id).ok_or(AddError::Format);
        }
        let generic = make::generic(group, name, &format, &self.options).ok_or(AddError::Format)?;
        let number = ids.of(group, &generic.descriptor).ok_or(AddError::Numbers)?;
        let descriptor = field_ids::describe(group, number, &generic.descriptor);
        let (plan, legacy) = generic.with(number, descriptor).ok_or(AddError::Numbers)?;
        let origin = Origin::Generic { legacy: legacy.into() };
        let (group, name) = (group.to_owned().into(), name.to_owned().into());
        let added = self.insert(Event { id: format.id, group, name, origin, plan });
        added.map(|()| format.id).ok_or(AddError::Format)
    }

    /// The same for a kprobe. `group` is that of our kprobes, and `name` goes into the trace.
    ///
    /// # Errors
    /// The event cannot be recorded, and is forgotten.
    pub(crate) fn add_kprobe(
        &mut self,
        group: &str,
        name: &str,
        format: Option<&[u8]>,
    ) -> Result<u16, AddError> {
        let parsed = format.map(|text| Format::parse(text).ok_or(AddError::Format));
        let plans = parsed.unwrap_or(Err(AddError::Missing)).and_then(|format| {
            let plan = |probe| make::kprobe(name, probe as u8 + 1, &format);
            let plans = (plan(Probe::Begin), plan(Probe::End), plan(Probe::Instant));
            let (Some(begin), Some(end), Some(instant)) = plans else {
                return Err(AddError::Format);
            };
            Ok((format.id, [begin, end, instant]))
        });
        match plans {
            Ok((id, plans)) => {
                let (group, name) = (group.to_owned().into(), name.to_owned().into());
                let plan = plans[Probe::Instant as usize].clone();
                let origin = Origin::Kprobe { plans: plans.into() };
                let added = self.insert(Event { id, group, name, origin, plan });
                added.map(|()| id).ok_or(AddError::Format)
            }
            Err(e) => {
                self.forget(group, name);
                Err(e)
            }
        }
    }

    /// Removes an event that the kernel does not have any more.
    pub(crate) fn forget(&mut self, group: &str, name: &str) {
        if let Ok(at) = self.place(group, name) {
            self.remove(self.by_name[at]);
        }
    }

    /// How a record with this id becomes a message. For a generic event this is its encoding with a descriptor, for a
    /// kprobe an instant.
    #[inline]
    pub(crate) fn plan(&self, id: u16) -> Option<&Plan> {
        self.event(id).map(|event| &event.plan)
    }

    /// The event with this id.
    #[inline]
    pub(crate) fn event(&self, id: u16) -> Option<&Event> {
        self.by_index(self.by_id.get(usize::from(id))?.checked_sub(1)?)
    }

    /// The event with this group and name.
    pub(crate) fn find(&self, group: &str, name: &str) -> Option<&Event> {
        self.by_index(self.by_name[self.place(group, name).ok()?])
    }

    /// The event with this name in the first group that has one, by the bytes of the groups' names.
    #[cfg(test)]
    pub(crate) fn find_name(&self, name: &str) -> Option<&Event> {
        self.events().find(|event| event.name == name)
    }

    /// The events of a group, by name.
    #[cfg(test)]
    pub(crate) fn group(&self, group: &str) -> impl Iterator<Item = &Event> {
        self.events().filter(move |event| event.group == group)
    }

    /// All events, by group and name.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.by_name.iter().filter_map(|index| self.by_index(*index))
    }

    /// How records of all events become messages, one by one.
    pub(crate) fn plans(&self) -> Plans {
        let mut plans = Plans::new(self.common().pid.unwrap_or(COMMON_PID), None);
        self.events().for_each(|event| plans.insert(event.id, event.plan.clone()));
        plans
    }

    /// Where the fields are that all events have.
    pub(crate) fn common(&self) -> Common {
        self.common.unwrap_or(COMMON)
    }

    /// Where compact sched finds its fields.
    ///
    /// # Errors
    /// Why events of the scheduler must be written one by one.
    pub(crate) fn compact_sched(&self) -> Result<Layout, Unfit> {
        Ok(Layout { switch: self.switch?, waking: self.waking? })
    }

    /// Where the text of `ftrace/print` begins, which goes to the end of the record; `None` if it is something else.
    pub(crate) fn print_text(&self) -> Option<u16> {
        let steps = &self.find(PRINT.0, PRINT.1)?.plan.steps;
        steps.iter().find(|step| step.what == What::TextToEnd).map(|step| step.offset)
    }

    /// Notes where common fields are, from the first format that has the thread, or else from the first one.
    fn learn(&mut self, format: &Format<'_>) {
        let offset = |name, len| {
            let field = format.common.iter().find(|f| f.name == name && f.len == len)?;
            Some(field.offset)
        };
        if self.common.is_none_or(|common| common.pid.is_none()) {
            let pid = offset("common_pid", 4);
            let flags = offset("common_flags", 1);
            if self.common.is_none() || pid.is_some() {
                self.common = Some(Common { pid, flags });
            }
        }
    }

    fn add_known(&mut self, event: &'static schema::Event, format: &Format<'_>) -> Option<()> {
        let plan = make::known(event, format, &self.options)?;
        let (group, name) = (event.group().into(), event.name().into());
        self.insert(Event { id: format.id, group, name, origin: Origin::Schema, plan })?;
        match (event.group(), event.name()) {
            (sched::GROUP, sched::SWITCH) => self.switch = sched::switch(format),
            (sched::GROUP, sched::WAKING) => self.waking = sched::waking(format),
            _ => {}
        }
        Some(())
    }

    /// Puts an event into the table, instead of one with the same name or the same id.
    fn insert(&mut self, event: Event) -> Option<()> {
        if self.find(&event.group, &event.name) == Some(&event) {
            return Some(());
        }
        self.forget(&event.group, &event.name);
        let id = usize::from(event.id);
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, 0);
        }
        if let Some(taken) = self.by_id[id].checked_sub(1) {
            self.remove(taken);
        }
        // There are as many ids as indices.
        let index = match self.free.pop() {
            Some(index) => index,
            None => u16::try_from(self.events.len()).ok()?,
        };
        self.by_id[id] = index.checked_add(1)?;
        let (Ok(at) | Err(at)) = self.place(&event.group, &event.name);
        self.by_name.insert(at, index);
        match self.events.get_mut(usize::from(index)) {
            Some(place) => *place = Some(event),
            None => self.events.push(Some(event)),
        }
        Some(())
    }

    fn remove(&mut self, index: u16) {
        self.by_name.retain(|other| *other != index);
        let Some(event) = self.events.get_mut(usize::from(index)).and_then(Option::take) else {
            return;
        };
        self.free.push(index);
        if let Some(slot) = self.by_id.get_mut(usize::from(event.id)) {
            *slot = 0;
        }
        match (&*event.group, &*event.name) {
            (sched::GROUP, sched::SWITCH) => self.switch = Err(NO_SWITCH),
            (sched::GROUP, sched::WAKING) => self.waking = Err(NO_WAKING),
            _ => {}
        }
    }

    #[inline]
    fn by_index(&self, index: u16) -> Option<&Event> {
        self.events.get(usize::from(index))?.as_ref()
    }

    /// Where this event is in `by_name`, or where it belongs.
    fn place(&self, group: &str, name: &str) -> Result<usize, usize> {
        self.by_name.binary_search_by(|index| {
            let event = self.by_index(*index);
            event.map_or(("", ""), |event| (&*event.group, &*event.name)).cmp(&(group, name))
        })
    }
}

const NO_SWITCH: Unfit = Unfit::Missing { event: sched::SWITCH };
const NO_WAKING: Unfit = Unfit::Missing { event: sched::WAKING };

/// The marker that programs write themselves.
const PRINT: (&str, &str) = ("ftrace", "print");

/// Its format on every 64-bit kernel; a table without it could not show markers.
const PRINT_FORMAT: &[u8] = b"name: print
ID: 5
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;
";

#[cfg(test)]
mod tests;
