#![doc = include_str!("../README.md")]

use std::fmt;
use std::marker::PhantomData;

use protozero::{DecodeError, DecodeErrorKind, DecodeOptions, Message, WriteError};
use tonic::codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

pub use tonic;

/// The codec of `application/grpc+proto`: sends messages `E` and receives messages `D`.
///
/// Generated clients and servers use it. By hand, it is for `tonic::client::Grpc` and `tonic::server::Grpc`.
///
/// A message that was received and is not valid is [`Status::internal`], as gRPC says, and so is one that cannot be
/// encoded (more than 2 GiB, or more levels than decoders accept). One that would take too much memory is
/// [`Status::resource_exhausted`]. tonic checks the size of messages before and after
/// this codec: `max_decoding_message_size`, 4 MiB unless the client or server says otherwise, and
/// `max_encoding_message_size`. Memory for the structs of a message is limited as in
/// [`Message::decode`]: a message of one megabyte may take 512 MiB. [`Codec::limits`] and [`CodecWithin`] have other
/// limits. Fields of type `Bytes` and `SharedStr` share the buffer of the connection: see
/// [`Message::decode_buf`].
pub struct Codec<E, D> {
    buffers: BufferSettings,
    limits: DecodeOptions,
    messages: PhantomData<fn(E) -> D>,
}

impl<E, D> Codec<E, D> {
    /// With other buffers than tonic's default.
    #[must_use]
    pub fn new(buffers: BufferSettings) -> Self {
        Self { buffers, limits: DecodeOptions::new(), messages: PhantomData }
    }

    /// With other limits for messages that are received: levels, and memory for their structs. A message that takes
    /// more memory is [`Status::resource_exhausted`], one with more levels [`Status::internal`].
    #[must_use]
    pub fn limits(self, limits: DecodeOptions) -> Self {
        Self { limits, ..self }
    }
}

impl<E, D> Default for Codec<E, D> {
    fn default() -> Self {
        Self::new(BufferSettings::default())
    }
}

impl<E, D> Clone for Codec<E, D> {
    fn clone(&self) -> Self {
        Self::new(self.buffers).limits(self.limits)
    }
}

impl<E, D> fmt::Debug for Codec<E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffers, limits, .. } = self;
        let mut f = f.debug_struct("Codec");
        f.field("buffers", buffers).field("limits", limits).finish_non_exhaustive()
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
        MessageDecoder { buffers: self.buffers, limits: self.limits, message: PhantomData }
    }
}

/// [`Codec`], with `MEMORY` bytes of memory for the structs of a message that is received, as
/// [`DecodeOptions::memory_max`] counts them. Generated code uses it if the generator was told a limit
/// (`Build::grpc_memory_max`). Its buffers are those of tonic's default; [`Codec::new`] with [`Codec::limits`] has
/// others.
pub struct CodecWithin<E, D, const MEMORY: usize>(Codec<E, D>);

impl<E, D, const MEMORY: usize> Default for CodecWithin<E, D, MEMORY> {
    fn default() -> Self {
        Self(Codec::default().limits(DecodeOptions::new().memory_max(MEMORY)))
    }
}

impl<E, D, const MEMORY: usize> Clone for CodecWithin<E, D, MEMORY> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E, D, const MEMORY: usize> fmt::Debug for CodecWithin<E, D, MEMORY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CodecWithin").field(&self.0).finish()
    }
}

impl<E, D, const MEMORY: usize> tonic::codec::Codec for CodecWithin<E, D, MEMORY>
where
    E: Message + Send + 'static,
    D: Message + Send + 'static,
{
    type Encode = E;
    type Decode = D;
    type Encoder = MessageEncoder<E>;
    type Decoder = MessageDecoder<D>;

    fn encoder(&mut self) -> Self::Encoder {
        self.0.encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        self.0.decoder()
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
    limits: DecodeOptions,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> Decoder for MessageDecoder<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, input: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        // Takes the message out of the buffer, without a copy.
        self.limits.decode_buf(input).map(Some).map_err(|error| not_received(&error))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.buffers
    }
}

impl<M> fmt::Debug for MessageDecoder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffers, limits, .. } = self;
        let mut f = f.debug_struct("MessageDecoder");
        f.field("buffers", buffers).field("limits", limits).finish_non_exhaustive()
    }
}

fn not_sent(error: &WriteError) -> Status {
    Status::internal(format!("the message cannot be encoded: {error}"))
}

fn not_received(error: &DecodeError) -> Status {
    let code = match error.kind {
        DecodeErrorKind::TooMuchMemory | DecodeErrorKind::TooLarge => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Status::new(code, format!("the message cannot be decoded: {error}"))
}
