//! Converts nested messages between groups and length-delimited fields, without a schema, in one
//! pass and constant memory.
//!
//! ```text
//!  group             0b | fields ... | 0c        number 1, begin ... number 1, end
//!  length-delimited  0a | len | fields ...       number 1, and that many bytes
//! ```
//!
//! A group is cheaper to write: nothing is needed in advance or filled in later, so its parts can
//! be sent immediately. A length is cheaper to read, because a reader can skip or extract the
//! message. With [`groups_to_lengths`], the writer uses groups and the reader gets lengths.
//!
//! The input can have any number of pieces ([`Input`]). Everything except tags and lengths of
//! nested messages is copied unchanged. The output goes to the sink of the scope and does not
//! depend on the pieces: equal messages give equal bytes, if the sink's ranges are equal. A length
//! of more than one byte may be padded to four.
//!
//! No input can cause a panic, an endless loop or an unlimited use of stack: more than
//! [`DEPTH_MAX`] levels are an error.

mod input;
mod scan;

pub use input::{Input, Slices};

use crate::decode::limits::DEPTH_MAX;
use crate::encode::Scope;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::{tag, varint};
use input::{Source, Varint};
use scan::Next;

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(all(test, feature = "alloc"))]
mod tests;

/// Appends the message in `input` to `scope`, with each group, also an inner one, as a
/// length-delimited field of the same number.
///
/// Length-delimited fields of the input do not change: without a schema, their content is unknown.
///
/// ```
/// use protozero::{FixedSink, rewrite};
///
/// let mut buffer = [0; 64];
/// let mut stream = FixedSink::stream(&mut buffer);
/// let pieces = [&b"\x0b\x08"[..], b"\x05\x0c"]; // 1: group { 1: 5 }, in two pieces
/// rewrite::groups_to_lengths(rewrite::Slices::new(pieces), &mut stream.root())?;
/// assert_eq!(stream.finish()?, b"\x0a\x02\x08\x05");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ReadError`] if `input` is malformed: it is truncated, has an end tag without a begin tag,
/// has too many levels, or has any other error of a [`Reader`](crate::Reader). The offset is that
/// of the field, or of the group without an end. The fields before are written; discard the
/// message. Errors of the output are reported by the stream.
pub fn groups_to_lengths(input: impl Input, scope: &mut Scope<'_>) -> Result<(), ReadError> {
    Rewriter::new(input, true, |_: &[u32]| false).run(scope)
}

/// Appends the message in `input` to `scope`, with each nested message as a group of the same
/// number.
///
/// `is_message` decides which length-delimited fields are messages; others are strings, bytes or
/// packed fields. Its argument is the path of field numbers from the outermost message to the
/// field. Groups of the input remain groups, and the fields in them are converted.
///
/// ```
/// use protozero::{FixedSink, rewrite};
///
/// let mut buffer = [0; 64];
/// let mut stream = FixedSink::stream(&mut buffer);
/// let input = b"\x0a\x02\x08\x05\x12\x02hi"; // 1: { 1: 5 }  2: "hi"
/// rewrite::lengths_to_groups(&input[..], &mut stream.root(), |path| path == [1])?;
/// assert_eq!(stream.finish()?, b"\x0b\x08\x05\x0c\x12\x02hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`groups_to_lengths`]. A field that `is_message` accepts must be a valid message.
pub fn lengths_to_groups(
    input: impl Input,
    scope: &mut Scope<'_>,
    is_message: impl FnMut(&[u32]) -> bool,
) -> Result<(), ReadError> {
    Rewriter::new(input, false, is_message).run(scope)
}

/// The end of the current message.
#[derive(Clone, Copy)]
enum End {
    /// The end of the input.
    Input,
    /// The end tag of this number. The second value is the offset of the begin tag.
    Tag(u32, usize),
    /// This offset.
    At(usize),
}

struct Rewriter<I, P> {
    source: Source<I>,
    /// Convert to lengths; if false, to groups.
    lengths: bool,
    is_message: P,
    /// Numbers of the open messages, outermost first, and of the current field.
    path: [u32; DEPTH_MAX as usize + 1],
    depth: usize,
}

impl<I: Input, P: FnMut(&[u32]) -> bool> Rewriter<I, P> {
    fn new(input: I, lengths: bool, is_message: P) -> Self {
        let path = [0; DEPTH_MAX as usize + 1];
        Self { source: Source::new(input), lengths, is_message, path, depth: 0 }
    }

    fn run(mut self, scope: &mut Scope<'_>) -> Result<(), ReadError> {
        self.fields(scope, End::Input)
    }

    /// Rewrites the fields up to `end`.
    fn fields(&mut self, scope: &mut Scope<'_>, end: End) -> Result<(), ReadError> {
        // The innermost length limits all content, groups included.
        let outer = self.source.limit;
        if let End::At(at) = end {
            self.source.limit = at;
        }
        loop {
            let at = self.source.offset;
            let chunk = self.source.chunk();
            if chunk.is_empty() {
                return match end {
                    End::Input => Ok(()),
                    End::Tag(_, began) => Err(DecodeErrorKind::Truncated.at(began)),
                    End::At(to) if at == to => {
                        self.source.limit = outer;
                        Ok(())
                    }
                    End::At(_) => Err(DecodeErrorKind::Truncated.at(at)),
                };
            }
            let (run, next) = scan::copyable(chunk, !self.lengths);
            scope.piece(chunk.get(..run).unwrap_or_default());
            let is_all = run == chunk.len();
            let at = at + run;
            self.source.consume(run + next.tag_len());
            if is_all {
                continue;
            }
            // The tag or the value lies in several pieces.
            let (next, raw) = match next {
                Next::Incomplete => self.source.tag(at)?,
                next => (next, Varint::default()),
            };
            match next {
                Next::Incomplete => {}
                Next::Malformed(kind) => return Err(kind.at(at)),
                Next::Begin { number, .. } => self.group(scope, number, at)?,
                Next::End { number, .. } => {
                    return match end {
                        End::Tag(open, _) if open == number => Ok(()),
                        _ => Err(DecodeErrorKind::EndGroup.at(at)),
                    };
                }
                Next::Len { number } => self.len(scope, number, &raw, at)?,
                Next::Scalar { wire_type } => {
                    scope.piece(raw.as_bytes());
                    self.source.copy_scalar(scope, wire_type, at)?;
                }
            }
        }
    }

    /// Rewrites the group whose begin tag was read.
    fn group(&mut self, scope: &mut Scope<'_>, number: u32, at: usize) -> Result<(), ReadError> {
        self.enter(number, at)?;
        if self.lengths {
            let Some(mut nested) = scope.nested_by_number(number) else {
                return Err(DecodeErrorKind::FieldNumber.at(at));
            };
            self.fields(&mut nested, End::Tag(number, at))?;
        } else {
            put_tag(scope, number, tag::BEGIN_GROUP);
            self.fields(scope, End::Tag(number, at))?;
            put_tag(scope, number, tag::END_GROUP);
        }
        self.depth -= 1;
        Ok(())
    }

    /// Rewrites the length-delimited field whose tag was read.
    fn len(
        &mut self,
        scope: &mut Scope<'_>,
        number: u32,
        tag: &Varint,
        at: usize,
    ) -> Result<(), ReadError> {
        let len = self.source.varint(at)?;
        // The length of the input is unknown, so only `copy` can detect a length beyond its end.
        let to =
            usize::try_from(len.value).ok().and_then(|len| self.source.offset.checked_add(len));
        let to = to.filter(|to| *to <= self.source.limit);
        let to = to.ok_or(DecodeErrorKind::Truncated.at(at))?;
        if self.lengths || !self.asks_is_message(number) {
            scope.piece(tag.as_bytes());
            scope.piece(len.as_bytes());
            return self.source.copy(scope, to, at);
        }
        self.enter(number, at)?;
        put_tag(scope, number, tag::BEGIN_GROUP);
        self.fields(scope, End::At(to))?;
        put_tag(scope, number, tag::END_GROUP);
        self.depth -= 1;
        Ok(())
    }

    /// Asks `is_message` about the length-delimited field `number` of the current message.
    fn asks_is_message(&mut self, number: u32) -> bool {
        let Some(path) = self.path.get_mut(..=self.depth) else { return false };
        if let Some(last) = path.last_mut() {
            *last = number;
        }
        (self.is_message)(path)
    }

    fn enter(&mut self, number: u32, at: usize) -> Result<(), ReadError> {
        if self.depth >= DEPTH_MAX as usize {
            return Err(DecodeErrorKind::TooDeep.at(at));
        }
        if let Some(place) = self.path.get_mut(self.depth) {
            *place = number;
        }
        self.depth += 1;
        Ok(())
    }
}

fn put_tag(scope: &mut Scope<'_>, number: u32, wire_type: u32) {
    let mut bytes = [0; varint::LEN_MAX];
    let len = varint::encode(u64::from(tag::tag(number, wire_type)), &mut bytes);
    scope.piece(bytes.get(..len).unwrap_or_default());
}
