//! Calling: a method is invoked with its encoded arguments and answered any number of times.
//!
//! The outcomes and their bytes (`host_impl.cc`); a client tests `success`, never its presence:
//!
//! | outcome | reply | sent even if none is wanted |
//! |---|---|---|
//! | done | `32 06 08 01 10 00 1a 00` | no |
//! | done, more to come | the same with `10 01` | no |
//! | no such service or method, arguments that do not parse | `32 02 08 00` | yes |
//! | rejected by the service | `32 02 10 00` | no |

use protozero::{ReadError, Reader, Value};

use super::wire;

/// Calls a method.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Invoke<'a> {
    /// From the bind reply.
    pub service_id: u32,
    /// From the bind reply.
    pub method_id: u32,
    /// The encoded request message; absent and empty are the same.
    pub args: &'a [u8],
    /// No reply is wanted.
    pub drop_reply: bool,
}

/// Answers a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvokeReply<'a> {
    /// The call succeeded.
    Succeeded {
        /// Another reply to the same call follows.
        has_more: bool,
        /// The encoded response message.
        reply: &'a [u8],
    },
    /// The service or the method does not exist.
    Unroutable,
    /// The service rejected the call.
    Rejected,
}

impl<'a> Invoke<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            match field {
                // Numbers that are no u32 become 0, which no service and no method has.
                (1, Value::Varint(id)) => this.service_id = u32::try_from(id).unwrap_or(0),
                (2, Value::Varint(id)) => this.method_id = u32::try_from(id).unwrap_or(0),
                (3, Value::Len(args)) => this.args = args,
                (4, Value::Varint(drop)) => this.drop_reply = drop != 0,
                _ => {}
            }
        }
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        wire::put_uint(out, 1, u64::from(self.service_id));
        wire::put_uint(out, 2, u64::from(self.method_id));
        wire::put_bytes(out, 3, self.args);
        wire::put_uint(out, 4, u64::from(self.drop_reply));
    }
}

impl<'a> InvokeReply<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let (mut success, mut more, mut body) = (None, false, &[][..]);
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            match field {
                (1, Value::Varint(ok)) => success = Some(ok != 0),
                (2, Value::Varint(has_more)) => more = has_more != 0,
                (3, Value::Len(reply)) => body = reply,
                _ => {}
            }
        }
        Ok(match success {
            Some(true) => Self::Succeeded { has_more: more, reply: body },
            Some(false) => Self::Unroutable,
            None => Self::Rejected,
        })
    }

    /// Appends all but the response message, which comes last, and returns its length.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Succeeded { has_more, reply } => {
                wire::put_uint(out, 1, 1);
                wire::put_uint(out, 2, u64::from(*has_more));
                wire::put_head(out, 3, reply.len());
                return reply.len();
            }
            Self::Unroutable => wire::put_uint(out, 1, 0),
            Self::Rejected => wire::put_uint(out, 2, 0),
        }
        0
    }
}
