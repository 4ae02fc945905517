//! The services there are, as types.

use core::fmt;

use bytes::Bytes;
use protozero::rt::MethodInfo;

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
    /// When there is no such method, or the arguments are not its request message.
    fn decode(method_id: u32, args: &[u8]) -> Result<Self::Request, Unroutable>;

    /// The name of the method.
    fn method_name(request: &Self::Request) -> &'static str;

    /// The encoded arguments.
    fn encode(request: &Self::Request) -> Bytes;

    /// Whether the host gives the descriptor that came last to this request. Others leave it for
    /// a later one, as upstream does.
    fn takes_descriptor(request: &Self::Request) -> bool;
}

/// There is no such method, or its arguments did not parse: the two are answered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unroutable;
