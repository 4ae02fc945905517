//! The services there are, as types.

use core::fmt;

use protozero::rt::MethodInfo;
use protozero::{DecodeContext, DecodeMemory};

use crate::limits::IPC_DECODED_BYTES_MAX;

/// A service: its name, its methods, its requests.
pub trait Port: 'static {
    /// A method with its arguments.
    type Request: fmt::Debug + Send + 'static;

    /// Its name in a bind, without a package.
    const NAME: &'static str;

    /// Its methods, in the order of the `.proto` file: a method's number is its place, from 1.
    const METHODS: &'static [MethodInfo];

    /// Reads the arguments of method `method_id`.
    ///
    /// # Errors
    /// When there is no such method, the arguments are not its request message, or the structs of that take more than
    /// [`IPC_DECODED_BYTES_MAX`].
    fn decode(method_id: u32, args: &[u8]) -> Result<Self::Request, Unroutable> {
        Self::decode_within(method_id, args, &DecodeMemory::new(IPC_DECODED_BYTES_MAX))
    }

    /// As [`decode`](Self::decode), with another limit for the structs. It has less left afterwards, also after an
    /// error.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    fn decode_within(
        method_id: u32,
        args: &[u8],
        growth: &DecodeMemory<'_>,
    ) -> Result<Self::Request, Unroutable>;

    /// The name of the method.
    fn method_name(request: &Self::Request) -> &'static str;

    /// The encoded arguments.
    fn encode(request: &Self::Request) -> Vec<u8>;

    /// Whether the host gives the descriptor that came last to this request. Others leave it for
    /// a later one, as upstream does.
    fn takes_descriptor(request: &Self::Request) -> bool;
}

/// There is no such method, or its arguments did not parse: the two are answered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unroutable;

/// What data flows through: registration of data sources, commits, commands
/// (`producer_port.proto`).
#[derive(Clone, Copy, Debug)]
pub enum ProducerPort {}

impl Port for ProducerPort {
    type Request = protos::producer_port::Request;

    const NAME: &'static str = protos::producer_port::NAME;
    const METHODS: &'static [MethodInfo] = protos::producer_port::METHODS;

    // Compiled where it is called: a client never decodes requests.
    #[inline]
    fn decode_within(
        method_id: u32,
        args: &[u8],
        growth: &DecodeMemory<'_>,
    ) -> Result<Self::Request, Unroutable> {
        let context = DecodeContext::new().with_growth(growth);
        Self::Request::decode_within(method_id, args, context).map_err(|_| Unroutable)
    }

    fn method_name(request: &Self::Request) -> &'static str {
        name(Self::METHODS, request.method_id())
    }

    #[inline]
    fn encode(request: &Self::Request) -> Vec<u8> {
        request.encode()
    }

    fn takes_descriptor(request: &Self::Request) -> bool {
        matches!(
            request,
            Self::Request::InitializeConnection(init) if init.producer_provided_shmem == Some(true)
        )
    }
}

/// Control: sessions, reading, queries (`consumer_port.proto`).
#[cfg(feature = "consumer")]
#[derive(Clone, Copy, Debug)]
pub enum ConsumerPort {}

#[cfg(feature = "consumer")]
impl Port for ConsumerPort {
    type Request = protos::consumer_port::Request;

    const NAME: &'static str = protos::consumer_port::NAME;
    const METHODS: &'static [MethodInfo] = protos::consumer_port::METHODS;

    // Compiled where it is called: a client never decodes requests.
    #[inline]
    fn decode_within(
        method_id: u32,
        args: &[u8],
        growth: &DecodeMemory<'_>,
    ) -> Result<Self::Request, Unroutable> {
        let context = DecodeContext::new().with_growth(growth);
        Self::Request::decode_within(method_id, args, context).map_err(|_| Unroutable)
    }

    fn method_name(request: &Self::Request) -> &'static str {
        name(Self::METHODS, request.method_id())
    }

    #[inline]
    fn encode(request: &Self::Request) -> Vec<u8> {
        request.encode()
    }

    fn takes_descriptor(request: &Self::Request) -> bool {
        match request {
            Self::Request::EnableTracing(enable) => {
                enable.trace_config.as_ref().is_some_and(|config| {
                    config.write_into_file == Some(true)
                        && config.output_path.as_deref().unwrap_or_default().is_empty()
                })
            }
            Self::Request::CloneSession(_) => true,
            _ => false,
        }
    }
}

/// Name of the method with our own number `id`.
fn name(methods: &'static [MethodInfo], id: u32) -> &'static str {
    methods.iter().find(|method| method.id == id).map_or("", |method| method.name)
}

#[cfg(all(test, feature = "consumer"))]
mod tests;
