#![doc = include_str!("../README.md")]

use std::fmt;
use std::marker::PhantomData;

use protozero::{DecodeError, Message, WriteError};
use tonic::Status;
use tonic::codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder};

pub use tonic;

/// The codec of `application/grpc+proto`: sends messages `E` and receives messages `D`.
///
/// Generated clients and servers use it. By hand, it is for `tonic::client::Grpc` and `tonic::server::Grpc`.
///
/// A message that was received and is not valid is [`Status::internal`], as gRPC says, and so is one that cannot be
/// encoded (more than 2 GiB, or more levels than decoders accept). tonic checks the size of messages before and after
/// this codec: `max_decoding_message_size`, 4 MiB unless the client or server says otherwise, and
/// `max_encoding_message_size`. Memory for the structs of a message is limited as in
/// [`Message::decode`]. Fields of type `Bytes` and `SharedStr` share the buffer of the connection: see
/// [`Message::decode_buf`].
pub struct Codec<E, D> {
    buffers: BufferSettings,
    messages: PhantomData<fn(E) -> D>,
}

impl<E, D> Codec<E, D> {
    /// With other buffers than tonic's default.
    #[must_use]
    pub fn new(buffers: BufferSettings) -> Self {
        Self { buffers, messages: PhantomData }
    }
}

impl<E, D> Default for Codec<E, D> {
    fn default() -> Self {
        Self::new(BufferSettings::default())
    }
}

impl<E, D> Clone for Codec<E, D> {
    fn clone(&self) -> Self {
        Self::new(self.buffers)
    }
}

impl<E, D> fmt::Debug for Codec<E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

impl<E, D> tonic::codec::Codec for Codec<E, D>
where
    E: Message + Send + 'static,
    D: Message + Send + 'static,
{
    type Encode = E;
    type Decode = D;
    type Encoder = MessageEncoder<E>;
    type Decoder = MessageDecoder<D>;

    fn encoder(&mut self) -> Self::Encoder {
        MessageEncoder { buffers: self.buffers, message: PhantomData }
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder { buffers: self.buffers, message: PhantomData }
    }
}

/// The half of [`Codec`] that sends.
pub struct MessageEncoder<M> {
    buffers: BufferSettings,
    message: PhantomData<fn(M)>,
}

impl<M: Message> Encoder for MessageEncoder<M> {
    type Item = M;
    type Error = Status;

    fn encode(&mut self, message: M, output: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(output).map_err(|error| not_sent(&error))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.buffers
    }
}

impl<M> fmt::Debug for MessageEncoder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageEncoder").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

/// The half of [`Codec`] that receives.
pub struct MessageDecoder<M> {
    buffers: BufferSettings,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> Decoder for MessageDecoder<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, input: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        // Takes the message out of the buffer, without a copy.
        M::decode_buf(input).map(Some).map_err(|error| not_received(&error))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.buffers
    }
}

impl<M> fmt::Debug for MessageDecoder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageDecoder").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

fn not_sent(error: &WriteError) -> Status {
    Status::internal(format!("the message cannot be encoded: {error}"))
}

fn not_received(error: &DecodeError) -> Status {
    Status::internal(format!("the message cannot be decoded: {error}"))
}
