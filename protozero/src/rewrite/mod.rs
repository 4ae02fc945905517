//! Between groups and lengths: the two framings of a nested message, turned into each other without
//! a schema, in one pass and constant memory.
//!
//! ```text
//!  group             0b | fields ... | 0c        number 1, begin ... number 1, end
//!  length-delimited  0a | len | fields ...       number 1, as many bytes
//! ```
//!
//! A group is the cheaper of the two to write: nothing has to be known beforehand or filled in
//! later, so it can leave piece by piece. A length is cheaper to read, since a reader can skip the
//! message or cut it out. [`groups_to_lengths`] lets a writer have the one and a reader the other.
//!
//! The input may lie in any number of pieces ([`Input`]); all that is not framing is copied verbatim.
//! The output goes to whatever sink the scope belongs to, and how the input was cut does not show in it:
//! the same message gives the same bytes, as long as the sink's ranges are the same. A length of more than
//! one byte may be padded to four.
//!
//! Nothing an input holds makes this panic, loop or use more than a bounded piece of stack: messages
//! nest [`DEPTH_MAX`] deep or are an error.

mod input;
mod scan;

pub use input::{Input, Slices};

use crate::decode::limits::DEPTH_MAX;
use crate::encode::Scope;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::{tag, varint};
use input::{Source, Varint};
use scan::Stop;

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(all(test, feature = "alloc"))]
mod tests;

/// Appends the message in `input` to `scope`, each group as a length-delimited field of the same
/// number, also those inside groups.
///
/// What is length-delimited already stays as it is: without a schema nobody knows whether it is a
/// message.
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
/// [`DecodeError`] where `input` is no message: cut short, an end tag without its begin, a group in a
/// group too deep, and whatever else a [`Reader`](crate::Reader) refuses. The offset is that of the
/// field, or of a group that never ends. What came before is written by then; the message is to be
/// thrown away. That the *output* failed is said by the stream, as always.
pub fn groups_to_lengths(input: impl Input, scope: &mut Scope<'_>) -> Result<(), DecodeError> {
    Rewriter::new(input, true, |_: &[u32]| false).run(scope)
}

/// Appends the message in `input` to `scope`, each nested message as a group of the same number.
///
/// Which length-delimited fields are messages and not strings, bytes or packed runs, `is_message`
/// says: it gets the field numbers that lead to the field from the outermost message, its own last.
/// Groups of the input stay groups, and what is inside is looked at, too.
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
/// As [`groups_to_lengths`]; also where something `is_message` took for a message is none.
pub fn lengths_to_groups(
    input: impl Input,
    scope: &mut Scope<'_>,
    is_message: impl FnMut(&[u32]) -> bool,
) -> Result<(), DecodeError> {
    Rewriter::new(input, false, is_message).run(scope)
}

/// Where the message being rewritten ends.
#[derive(Clone, Copy)]
enum End {
    /// With the input.
    Input,
    /// At the end tag of this number; the group began at that offset.
    Tag(u32, usize),
    /// At this offset.
    At(usize),
}

struct Rewriter<I, P> {
    source: Source<I>,
    /// To lengths, or else to groups.
    lengths: bool,
    is_message: P,
    /// Numbers of the open messages, outermost first; one more for the field at hand.
    path: [u32; DEPTH_MAX as usize + 1],
    depth: usize,
}

impl<I: Input, P: FnMut(&[u32]) -> bool> Rewriter<I, P> {
    fn new(input: I, lengths: bool, is_message: P) -> Self {
        let path = [0; DEPTH_MAX as usize + 1];
        Self { source: Source::new(input), lengths, is_message, path, depth: 0 }
    }

    fn run(mut self, scope: &mut Scope<'_>) -> Result<(), DecodeError> {
        self.fields(scope, End::Input)
    }

    /// Rewrites fields up to `end`.
    fn fields(&mut self, scope: &mut Scope<'_>, end: End) -> Result<(), DecodeError> {
        // The innermost length bounds everything inside, groups as well.
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
            let (run, stop) = scan::run(chunk, !self.lengths);
            scope.piece(chunk.get(..run).unwrap_or_default());
            let is_all = run == chunk.len();
            let at = at + run;
            self.source.consume(run + stop.tag_len());
            if is_all {
                continue;
            }
            // A tag that lies in several pieces, or whose field does and is copied.
            let (stop, raw) = match stop {
                Stop::Cut => self.source.tag(at)?,
                stop => (stop, Varint::default()),
            };
            match stop {
                Stop::Cut => {}
                Stop::Bad(kind) => return Err(kind.at(at)),
                Stop::Begin { number, .. } => self.group(scope, number, at)?,
                Stop::End { number, .. } => {
                    return match end {
                        End::Tag(open, _) if open == number => Ok(()),
                        _ => Err(DecodeErrorKind::EndGroup.at(at)),
                    };
                }
                Stop::Len { number } => self.len(scope, number, &raw, at)?,
                Stop::Scalar { wire_type } => {
                    scope.piece(raw.as_bytes());
                    self.source.copy_scalar(scope, wire_type, at)?;
                }
            }
        }
    }

    /// Rewrites the group whose begin tag was read.
    fn group(&mut self, scope: &mut Scope<'_>, number: u32, at: usize) -> Result<(), DecodeError> {
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
    ) -> Result<(), DecodeError> {
        let len = self.source.varint(at)?;
        // A length past the end of the input is found out there: where that is, nobody knows yet.
        let to =
            usize::try_from(len.value).ok().and_then(|len| self.source.offset.checked_add(len));
        let to = to.filter(|to| *to <= self.source.limit);
        let to = to.ok_or(DecodeErrorKind::Truncated.at(at))?;
        if self.lengths || !self.enters(number) {
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

    /// Is the length-delimited field `number` of the open message a message?
    fn enters(&mut self, number: u32) -> bool {
        let Some(path) = self.path.get_mut(..=self.depth) else { return false };
        if let Some(last) = path.last_mut() {
            *last = number;
        }
        (self.is_message)(path)
    }

    fn enter(&mut self, number: u32, at: usize) -> Result<(), DecodeError> {
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
