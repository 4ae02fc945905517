//! Binding: the client learns the number of a service and of its methods.

use protozero::{ReadError, Reader, Value};

use super::wire;

/// Asks for a service by name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bind {
    /// `ProducerPort`, without a package.
    pub service_name: String,
}

/// Answer to [`Bind`]. Without success everything else is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BindReply {
    /// The service exists.
    pub success: bool,
    /// Its number on this connection.
    pub service_id: u32,
    /// Its methods. Their numbers come from here, never from a table of the client's own.
    pub methods: Vec<Method>,
}

/// A method of a service.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Method {
    /// Number, from 1.
    pub id: u32,
    /// Name.
    pub name: String,
}

impl Bind {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            if let (1, Value::Len(name)) = field {
                this.service_name = wire::text(name);
            }
        }
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        wire::put_bytes(out, 1, self.service_name.as_bytes());
    }
}

impl BindReply {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            match field {
                (1, Value::Varint(success)) => this.success = success != 0,
                (2, Value::Varint(id)) => this.service_id = u32::try_from(id).unwrap_or(0),
                (3, Value::Len(method)) => this.methods.push(Method::decode(method)?),
                _ => {}
            }
        }
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        // The reply to a refused bind is an empty message, without the success field.
        if !self.success {
            return;
        }
        wire::put_uint(out, 1, 1);
        wire::put_uint(out, 2, u64::from(self.service_id));
        let mut encoded = Vec::new();
        for method in &self.methods {
            encoded.clear();
            wire::put_uint(&mut encoded, 1, u64::from(method.id));
            wire::put_bytes(&mut encoded, 2, method.name.as_bytes());
            wire::put_bytes(out, 3, &encoded);
        }
    }
}

impl Method {
    fn decode(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            match field {
                // A number that is no u32 becomes 0, which clients skip.
                (1, Value::Varint(id)) => this.id = u32::try_from(id).unwrap_or(0),
                (2, Value::Len(name)) => this.name = wire::text(name),
                _ => {}
            }
        }
        Ok(this)
    }
}
