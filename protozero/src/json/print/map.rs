//! Maps, whose entries are printed in the order of their keys.
//!
//! The entries of a small map with texts as keys are sorted in an array. Of other maps it is found out first if they
//! are sorted, as most encoders write them; if not, their entries are collected and sorted. Of entries with one key,
//! the last counts.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Printer;
use super::entry::{Entry, EntryType, Key, next_tag, read_value};
use super::scalar;
use super::stop::{NextTag, Printed, Stop};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{Fields, Value as Wire};
use crate::dynamic::MEMORY_MAX;
use crate::dynamic::schema::Type;
use crate::error::DecodeErrorKind;
use crate::json::scan;
use crate::json::table::{Field, Table};

impl<'p> Printer<'p> {
    /// Prints a map, of which the tag of the first entry was read, and returns the tag behind it. Without `table`, it
    /// has no name.
    pub(super) fn map(
        &mut self,
        table: Option<&'p Table>,
        (field, of): (&'p Field, u32),
        fields: &mut Fields<'_>,
        level: u32,
        is_empty: &mut bool,
    ) -> NextTag {
        let Some(ty) = EntryType::new(&self.schema.json[of as usize]) else {
            fields.skip(field.tag).map_err(|_| fields.fail())?;
            return Ok(next_tag(fields)?);
        };
        // Decoders count an entry as a message.
        let level = level + 1;
        if level > DEPTH_MAX {
            return Err(DecodeErrorKind::TooDeep.at(0).into());
        }
        let map = Map { field, ty, level };
        if ty.key.ty == Type::String && !ty.value.closed && !self.is_careful {
            let mut behind = *fields;
            if let Some(entries) = Small::read(map, &mut behind)? {
                *fields = behind;
                self.small(table, map, &entries, is_empty)?;
                return Ok(entries.next);
            }
        }
        let (begin, was_empty, indent) = (*fields, *is_empty, self.indent);
        let len = self.out.len();
        if !self.is_careful || is_sorted(map, *fields)? {
            if let Some(next) = self.entries(table, map, fields, is_empty)? {
                return Ok(next);
            }
            self.spare = self.spare.checked_sub(self.out.len() - len).ok_or(Stop::Again)?;
            self.out.truncate(len);
            (*fields, *is_empty, self.indent) = (begin, was_empty, indent);
        }
        self.sorted(table, map, fields, is_empty)
    }

    /// Prints the entries as they come. None if they are not sorted, and what was printed is to be taken back.
    fn entries(
        &mut self,
        table: Option<&'p Table>,
        map: Map<'p>,
        fields: &mut Fields<'_>,
        is_empty: &mut bool,
    ) -> Result<Option<Option<u32>>, Box<Stop>> {
        let mut is_first = true;
        let mut last = None;
        loop {
            let bytes = fields.bytes().map_err(|_| fields.fail())?;
            let entry = map.ty.read(bytes)?.ok_or(Stop::Again)?;
            let key = Key::new(map.ty.key.ty, entry.key);
            if last.replace(key).is_some_and(|last| last >= key) {
                return Ok(None);
            }
            self.entry(table, map, &entry, is_empty, &mut is_first)?;
            let next = next_tag(fields)?;
            if next != Some(map.field.tag) {
                if !is_first {
                    self.close(b'}', false);
                }
                return Ok(Some(next));
            }
        }
    }

    /// Prints the entries of a small map.
    #[inline(always)]
    fn small(
        &mut self,
        table: Option<&'p Table>,
        Map { field, ty, level }: Map<'p>,
        map: &Small<'_>,
        is_empty: &mut bool,
    ) -> Printed {
        let mut is_first = true;
        for &(key, value) in map.entries.get(..map.len).unwrap_or_default() {
            if self.options.pretty {
                self.begin_entry(table, field, is_empty, &mut is_first)?;
                self.out.put_string(key);
                self.colon();
            } else {
                let mut before = b',';
                if core::mem::take(&mut is_first) {
                    before = b'{';
                    self.indent += 1;
                    if let Some(table) = table {
                        self.begin_field(table, field, is_empty)?;
                    }
                }
                self.out.put_quoted::<1, true>(&[before], 1, key);
            }
            self.value(ty.value, value, level)?;
        }
        self.close(b'}', false);
        Ok(())
    }

    /// Begins an entry; the first one behind the name of the map.
    #[inline]
    fn begin_entry(
        &mut self,
        table: Option<&'p Table>,
        field: &'p Field,
        is_empty: &mut bool,
        is_first: &mut bool,
    ) -> Printed {
        if *is_first {
            if let Some(table) = table {
                self.begin_field(table, field, is_empty)?;
            }
            self.open(b'{');
        }
        self.next(is_first)
    }

    /// Prints the entries in the order of their keys.
    fn sorted(
        &mut self,
        table: Option<&'p Table>,
        map: Map<'p>,
        fields: &mut Fields<'_>,
        is_empty: &mut bool,
    ) -> NextTag {
        let mut entries = Vec::new();
        let next = loop {
            let entry = map.read(fields)?;
            if size_of_val(&*entries) >= MEMORY_MAX {
                return Err(DecodeErrorKind::TooMuchMemory.at(0).into());
            }
            if entry.value.is_none_or(|value| self.is_known(map.ty.value, value)) {
                entries.push((Key::new(map.ty.key.ty, entry.key), entry));
            }
            let next = next_tag(fields)?;
            if next != Some(map.field.tag) {
                break next;
            }
        };
        entries.sort_by_key(|entry| entry.0);
        let mut is_first = true;
        for (at, (key, entry)) in entries.iter().enumerate() {
            if entries.get(at + 1).is_none_or(|next| next.0 != *key) {
                self.entry(table, map, entry, is_empty, &mut is_first)?;
            }
        }
        if !is_first {
            self.close(b'}', false);
        }
        Ok(next)
    }

    /// Prints the key and the value of an entry; before the first one, the name of the map.
    #[inline]
    fn entry(
        &mut self,
        table: Option<&'p Table>,
        Map { field, ty, level }: Map<'p>,
        entry: &Entry<'_>,
        is_empty: &mut bool,
        is_first: &mut bool,
    ) -> Printed {
        if ty.value.closed && !entry.value.is_none_or(|value| self.is_known(ty.value, value)) {
            return Ok(());
        }
        self.begin_entry(table, field, is_empty, is_first)?;
        match entry.key {
            Some(Wire::Len(text)) => self.value(ty.key, Wire::Len(text), 0)?,
            Some(wire) => scalar::key(ty.key.ty, wire, &mut self.out),
            None if ty.key.ty == Type::String => self.out.put(b"\"\""),
            None if ty.key.ty == Type::Bool => self.out.put(b"\"false\""),
            None => self.out.put(b"\"0\""),
        }
        self.colon();
        match entry.value {
            Some(value) => self.value(ty.value, value, level),
            None => self.absent(ty.value, level),
        }
    }
}

/// Most maps have no more entries.
const SMALL_MAX: usize = 8;

/// The entries of a small map with keys that are text, in the order of their keys: the keys and
/// the values.
struct Small<'b> {
    entries: [(&'b [u8], Wire<'b>); SMALL_MAX],
    len: usize,
    /// The tag behind the map.
    next: Option<u32>,
}

impl<'b> Small<'b> {
    /// Reads the entries, of which the tag of the first was read; none if there are more, two have one key, or an
    /// entry is not as encoders write it.
    #[inline]
    fn read(map: Map<'_>, fields: &mut Fields<'b>) -> Result<Option<Self>, Box<Stop>> {
        let mut all = Self { entries: [(&[], Wire::Varint(0)); SMALL_MAX], len: 0, next: None };
        loop {
            let mut entry = Fields::new(fields.bytes().map_err(|_| fields.fail())?);
            if next_tag(&mut entry)? != Some(map.ty.key.tag) {
                return Ok(None);
            }
            let key = entry.bytes().map_err(|_| entry.fail())?;
            let tag = map.ty.value.tag;
            if next_tag(&mut entry)? != Some(tag) {
                return Ok(None);
            }
            let value = read_value(&mut entry, tag)?;
            if next_tag(&mut entry)?.is_some() || !all.insert(key, value) {
                return Ok(None);
            }
            all.next = next_tag(fields)?;
            if all.next != Some(map.field.tag) {
                return Ok(Some(all));
            }
        }
    }

    /// False if there are too many, or the key is there.
    #[inline(always)]
    fn insert(&mut self, key: &'b [u8], value: Wire<'b>) -> bool {
        let mut at = self.len;
        if at == SMALL_MAX {
            return false;
        }
        while let Some(before) =
            at.checked_sub(1).and_then(|before| self.entries.get(before)).copied()
            && !scan::is_below(before.0, key)
        {
            if before.0 == key {
                return false;
            }
            if let Some(to) = self.entries.get_mut(at) {
                *to = before;
            }
            at -= 1;
        }
        if let Some(to) = self.entries.get_mut(at) {
            *to = (key, value);
        }
        self.len += 1;
        true
    }
}

/// A map that is printed.
#[derive(Clone, Copy)]
struct Map<'p> {
    field: &'p Field,
    ty: EntryType<'p>,
    level: u32,
}

impl Map<'_> {
    /// Reads the next entry, of which the tag was read.
    #[inline]
    fn read<'b>(&self, fields: &mut Fields<'b>) -> Result<Entry<'b>, Box<Stop>> {
        let bytes = fields.bytes().map_err(|_| fields.fail())?;
        self.ty.read(bytes)?.ok_or_else(|| Stop::Again.into())
    }
}

/// Whether the keys of a map go up, of which the tag of the first entry was read.
fn is_sorted(map: Map<'_>, mut fields: Fields<'_>) -> Result<bool, Box<Stop>> {
    let mut last = None;
    loop {
        let key = Key::new(map.ty.key.ty, map.read(&mut fields)?.key);
        if last.replace(key).is_some_and(|last| last >= key) {
            return Ok(false);
        }
        if next_tag(&mut fields)? != Some(map.field.tag) {
            return Ok(true);
        }
    }
}
