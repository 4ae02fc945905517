//! Tests for both versions, as functions of the version.

mod clones;
mod fragments;
mod malicious;
mod overrides;
mod patching;
mod read_write;

pub use self::clones::*;
pub use self::fragments::*;
pub use self::malicious::*;
pub use self::overrides::*;
pub use self::patching::*;
pub use self::read_write::*;

use super::harness::{self, *};
use crate::buffer::{
    ChunkPatches, Identity, PacketRef, Patch, Policy, SequenceEnd, SequenceKey, TakePacket,
    TraceBuffer, Version,
};
use abi::ids::ChunkId;

fn ring(bytes: usize, version: Version) -> TraceBuffer {
    harness::buffer(bytes, Policy::Ring, version)
}
