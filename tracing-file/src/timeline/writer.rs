//! Reads a trace as often as its order needs, and writes its lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;

use super::details;
use super::json;
use super::labels::Labels;
use super::nesting::Nesting;
use super::options::{Format, Options};
use super::row::{Hashes, Key, Row, RowKind};
use super::survey::Survey;
use super::text::TextLines;
use super::work::{PassBytes, Work, WorkLimits};
pub use crate::limits::PASSES_MAX;
use crate::limits::{EVENT_NAME_BYTES_MAX, FITTING_MAX, OPEN_BYTES_MAX};
use crate::packets::{CountedInput, ReadError};
use crate::read::{Event, EventKind, Problem, SequenceId, TraceReader};

/// Bytes of a name and its categories from which on a filter looks at them once, not for each event that has them.
const LONG_NAME_BYTES: usize = 1024;

/// What was written, and what was not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Lines that were written.
    pub lines: u64,
    /// Events of the trace, those that are not shown included.
    pub events: u64,
    /// How often each problem was found. Events of error severity are left out.
    pub problems: BTreeMap<Problem, u64>,
    /// The first error of the file. Everything that could be read is written.
    pub error: Option<ReadError>,
    /// How often the trace was read for its rows.
    pub passes: u32,
    /// Slices whose begin found no memory: their durations are missing, and the depth of those within them is too low.
    pub unpaired: u64,
}

/// Why a timeline ends early. What was written is right.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[non_exhaustive]
pub enum TimelineError {
    /// The output takes no more.
    Output(io::Error),
    /// The input cannot be read from its beginning.
    Seek(io::Error),
    /// After [`PASSES_MAX`] readings there are events left.
    TooManyPasses,
    /// The trace names long texts, or unpacks to much, far out of proportion to its length.
    TooMuchWork,
}

impl fmt::Debug for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "cannot write: {error}"),
            Self::Seek(error) => write!(f, "cannot read from the beginning: {error}"),
            Self::TooManyPasses => write!(
                f,
                "not all events are shown: to put them in order, the trace would be read more than {PASSES_MAX} times; \
                 choose a shorter time or fewer tracks"
            ),
            Self::TooMuchWork => f.write_str(
                "not all events are shown: their texts, or what compressed packets unpack to, are far too long for \
                 this file; choose a shorter time, fewer tracks or fewer lines",
            ),
        }
    }
}

impl std::error::Error for TimelineError {}

/// Writes a line for each event of the trace in `input` to `out`, which needs a buffer of its own.
///
/// # Errors
/// See [`TimelineError`]. What is wrong in the trace is in the [`Summary`].
pub fn write(
    input: &mut (impl Read + Seek),
    out: &mut impl Write,
    options: &Options,
) -> Result<Summary, TimelineError> {
    write_within(input, out, options, WorkLimits::default())
}

/// As [`write()`], with limits of its own.
pub(super) fn write_within(
    input: &mut (impl Read + Seek),
    out: &mut impl Write,
    options: &Options,
    limits: WorkLimits,
) -> Result<Summary, TimelineError> {
    input.seek(SeekFrom::Start(0)).map_err(TimelineError::Seek)?;
    let mut whole = CountedInput { input: &mut *input, bytes: 0 };
    let survey = Survey::new(&mut whole);
    // A file that grows meanwhile is read as far as it was known.
    let bytes = whole.bytes;
    let work = Work::new(limits, bytes);
    let mut timeline = Timeline::new(&survey, options, out, work);
    for passes in 1..=PASSES_MAX {
        input.seek(SeekFrom::Start(0)).map_err(TimelineError::Seek)?;
        if timeline.pass((&mut *input).take(bytes))? {
            let (lines, unpaired) = (timeline.lines, timeline.nesting.refused);
            let Survey { earliest, problems, error, .. } = survey;
            let events = earliest.events();
            return Ok(Summary { lines, events, problems, error, passes, unpaired });
        }
    }
    Err(TimelineError::TooManyPasses)
}

/// As much of a name as is kept, which is more than is shown.
fn kept(name: &str) -> &str {
    name.get(..name.floor_char_boundary(EVENT_NAME_BYTES_MAX)).unwrap_or_default()
}

struct Timeline<'t, W> {
    survey: &'t Survey,
    options: &'t Options,
    out: &'t mut W,
    labels: Labels,
    nesting: Nesting,
    text: TextLines,
    /// Times that are shown, of the trace's clock.
    range_ns: RangeInclusive<u64>,
    rows: Vec<Row>,
    rows_bytes: usize,
    /// The last row that was written or passed over.
    last: Option<Key>,
    /// Rows behind this one found no memory, and need another pass.
    bound: Option<Key>,
    /// Sequences that lost packets, and had no event since.
    losses: BTreeSet<SequenceId>,
    lines: u64,
    work: Work,
    /// Whether long names and categories fit the filter. A counter's name is that of its track.
    fitting: BTreeMap<(Option<u64>, Option<u64>, u64), bool>,
}

impl<'t, W: Write> Timeline<'t, W> {
    fn new(survey: &'t Survey, options: &'t Options, out: &'t mut W, work: Work) -> Self {
        let shift = if options.is_absolute { 0 } else { survey.start_ns };
        let (from, to) = (options.filter.from_ns, options.filter.to_ns.unwrap_or(u64::MAX));
        let has_colours = options.format == Format::ColouredText;
        Self {
            survey,
            options,
            out,
            labels: Labels::new(&survey.tracks),
            nesting: Nesting::new(OPEN_BYTES_MAX),
            text: TextLines::new(has_colours),
            range_ns: from.saturating_add(shift)..=to.saturating_add(shift),
            rows: Vec::new(),
            rows_bytes: 0,
            last: None,
            bound: None,
            losses: BTreeSet::new(),
            lines: 0,
            work,
            fitting: BTreeMap::new(),
        }
    }

    /// Reads the trace once. Returns whether all rows are written.
    fn pass(&mut self, input: impl Read) -> Result<bool, TimelineError> {
        let mut reader = TraceReader::new(input);
        let (mut events, mut error) = (0, None);
        self.losses.clear();
        while reader.next_readable_packet(&mut error) {
            self.losses.extend(reader.loss());
            let (read, unpacked) = (reader.packets.bytes_read(), reader.packets.bytes_unpacked());
            self.work.set_pass(PassBytes { read, unpacked });
            if let Some(event) = reader.event() {
                events += 1;
                self.add(&event);
                if self.rows_bytes > self.options.rows_bytes_max {
                    self.make_room(events)?;
                }
            }
            if self.is_over() {
                return Ok(true);
            }
            self.check_work()?;
        }
        self.work.end_pass();
        for sequence in std::mem::take(&mut self.losses) {
            // Behind all packets. No row is read after these, so that they all are written at once.
            let key = Key { ts_ns: self.survey.end_ns, packet: u64::MAX, is_event: false };
            self.add_loss(sequence, 0, key);
        }
        self.rows.sort_unstable_by_key(|row| row.key);
        self.write_rows(self.rows.len())?;
        Ok(self.bound.take().is_none() || self.is_over())
    }

    fn check_work(&self) -> Result<(), TimelineError> {
        self.work.is_within_limits().then_some(()).ok_or(TimelineError::TooMuchWork)
    }

    fn is_over(&self) -> bool {
        self.lines >= self.options.lines_max
    }

    fn add(&mut self, event: &Event<'_>) {
        let sequence = SequenceId { machine: event.machine(), id: event.sequence() };
        let (ts_ns, packet) = (event.timestamp_ns(), event.place().packet);
        if self.losses.remove(&sequence) && self.is_wanted(sequence.machine, event.track_uuid()) {
            self.add_loss(sequence, event.track_uuid(), Key { ts_ns, packet, is_event: false });
        }
        let key = Key { ts_ns, packet, is_event: true };
        if self.is_to_be_kept(key) && self.is_wanted(sequence.machine, event.track_uuid()) {
            let row = self.row(event, key);
            let is_slice = matches!(row.kind, RowKind::Begin | RowKind::End);
            if row.is_shown() || is_slice {
                self.push(row);
            }
        }
    }

    /// The row of packets that are missing before the event with this place.
    fn add_loss(&mut self, sequence: SequenceId, track: u64, key: Key) {
        let (machine, sequence) = (sequence.machine, sequence.id);
        if self.is_to_be_kept(key) {
            self.push(Row {
                key,
                machine,
                sequence,
                track,
                kind: RowKind::Lost,
                is_in_range: key.ts_ns >= *self.range_ns.start(),
                is_named: true,
                name: None,
                categories: "".into(),
                details: "".into(),
                hashes: Hashes::default(),
            });
        }
    }

    fn is_to_be_kept(&self, key: Key) -> bool {
        key.ts_ns <= *self.range_ns.end()
            && self.last.is_none_or(|last| key > last)
            && self.bound.is_none_or(|bound| key <= bound)
    }

    /// Whether events of a track are shown.
    fn is_wanted(&mut self, machine: u32, track: u64) -> bool {
        let filter = &self.options.filter;
        if !filter.is_for_tracks() {
            return true;
        }
        let label = self.labels.of(&self.survey.tracks, machine, track);
        if label.shown.len() > LONG_NAME_BYTES {
            self.work.add_text(label.shown.len() as u64);
        }
        filter.track_fits(label, track)
    }

    fn row(&mut self, event: &Event<'_>, key: Key) -> Row {
        let (machine, track) = (event.machine(), event.track_uuid());
        let kind = match event.kind() {
            EventKind::SliceBegin => RowKind::Begin,
            EventKind::SliceEnd => RowKind::End,
            EventKind::Instant if event.log_message().is_some() => RowKind::Log,
            EventKind::Instant => RowKind::Instant,
            EventKind::Counter(value) => RowKind::Counter(value),
            EventKind::State => RowKind::State,
            EventKind::Legacy(phase) => RowKind::Legacy(phase),
        };
        let is_json = self.options.format == Format::Json;
        let name = event.name();
        let is_named = self.names_fit(event, name.as_deref());
        let is_in_range = key.ts_ns >= *self.range_ns.start();
        // An end is shown if its begin has the name, which is not known here.
        let has_details = is_in_range && (is_named || kind == RowKind::End);
        let is_slice = matches!(kind, RowKind::Begin | RowKind::End);
        let has_texts = has_details || is_slice;
        let hashes = if is_slice { Hashes::of(event) } else { Hashes::default() };
        let Self { labels, survey, .. } = self;
        Row {
            key,
            machine,
            sequence: event.sequence(),
            track,
            kind,
            is_in_range,
            is_named,
            name: name.filter(|_| has_texts).map(|name| kept(&name).into()),
            categories: if has_texts { details::categories(event, is_json) } else { String::new() }
                .into(),
            details: if has_details {
                details::details(event, is_json, &survey.tracks, labels).into()
            } else {
                "".into()
            },
            hashes,
        }
    }

    /// Whether the name of an event and its categories fit the filter. Long ones are looked at once.
    fn names_fit(&mut self, event: &Event<'_>, name: Option<&str>) -> bool {
        let filter = &self.options.filter;
        if filter.names.is_empty() && filter.categories.is_empty() {
            return true;
        }
        let (machine, track) = (event.machine(), event.track_uuid());
        let is_counter = matches!(event.kind(), EventKind::Counter(_));
        let name = match is_counter {
            true => self.labels.of(&self.survey.tracks, machine, track).name(),
            false => name,
        };
        let bytes = name.map_or(0, str::len)
            + event.categories().map(|category| category.len()).sum::<usize>();
        if bytes <= LONG_NAME_BYTES {
            return filter.names_fit(name, event.categories());
        }
        let own = if is_counter { track } else { 0 };
        let key = (event.name_hash(), event.categories_hash(), own);
        if let Some(fits) = self.fitting.get(&key) {
            return *fits;
        }
        self.work.add_text(bytes as u64);
        let fits = filter.names_fit(name, event.categories());
        if self.fitting.len() >= FITTING_MAX {
            self.fitting.clear();
        }
        self.fitting.insert(key, fits);
        fits
    }

    fn push(&mut self, row: Row) {
        self.work.add_text(row.text_bytes() as u64);
        self.rows_bytes += row.bytes();
        self.rows.push(row);
    }

    /// Writes the rows that nothing can precede after `events` events. If that is not enough, the latest half goes.
    fn make_room(&mut self, events: u64) -> Result<(), TimelineError> {
        self.rows.sort_unstable_by_key(|row| row.key);
        let earliest = self.survey.earliest.behind(events);
        self.write_rows(self.rows.partition_point(|row| row.key.ts_ns <= earliest))?;
        let (mut bytes, mut count) = (0, 0);
        for row in &self.rows {
            bytes += row.bytes();
            if count > 0 && bytes > self.options.rows_bytes_max / 2 {
                self.bound = self.rows.get(count - 1).map(|row| row.key);
                self.rows.truncate(count);
                break;
            }
            (self.rows_bytes, count) = (bytes, count + 1);
        }
        Ok(())
    }

    /// Writes the first `count` rows.
    fn write_rows(&mut self, count: usize) -> Result<(), TimelineError> {
        let later = self.rows.split_off(count.min(self.rows.len()));
        let mut rows = std::mem::replace(&mut self.rows, later);
        self.rows_bytes = self.rows.iter().map(Row::bytes).sum();
        let notes = self.nesting.annotate(&mut rows);
        if self.options.format != Format::Json {
            let lines_max = usize::try_from(self.options.lines_max - self.lines);
            let shown = rows.iter().filter(|row| row.is_shown());
            for row in shown.take(lines_max.unwrap_or(usize::MAX)) {
                self.work.add_text(std::mem::take(&mut self.labels.made_bytes));
                self.check_work()?;
                self.text.fit(self.labels.of(&self.survey.tracks, row.machine, row.track));
            }
        }
        let mut line = String::new();
        for (row, note) in rows.iter().zip(notes) {
            self.last = Some(row.key);
            if !row.is_shown() || self.is_over() {
                continue;
            }
            let begin = note.begin.and_then(|at| rows.get(at as usize));
            let label = self.labels.of(&self.survey.tracks, row.machine, row.track);
            let since_start_ns = i128::from(row.key.ts_ns) - i128::from(self.survey.start_ns);
            let is_absolute = self.options.is_absolute;
            let shown_ns = if is_absolute { row.key.ts_ns.into() } else { since_start_ns };
            line.clear();
            match self.options.format {
                Format::Json => json::push(&mut line, since_start_ns, row, begin, note, label),
                _ => self.text.push(&mut line, shown_ns, row, begin, note, label),
            }
            self.work.add_text(line.len() as u64 + std::mem::take(&mut self.labels.made_bytes));
            self.check_work()?;
            self.out.write_all(line.as_bytes()).map_err(TimelineError::Output)?;
            self.lines += 1;
        }
        self.nesting.keep_texts(&mut rows);
        Ok(())
    }
}
