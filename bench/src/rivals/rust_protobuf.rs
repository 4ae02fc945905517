//! rust-protobuf 3.

use protobuf3::{CodedOutputStream, Message, MessageField};

#[allow(clippy::all, unused)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/rust_protobuf/included.rs"));
}

objects!(|s: &str| s.to_owned(), |b: &[u8]| b.to_vec(), MessageField::some, type_);
sums!(pb::EveryField, pb::TracePacket, pb::CommitDataRequest, type_);

fn encode(m: &impl Message, to: &mut [u8]) -> usize {
    let len = m.compute_size() as usize;
    let mut stream = CodedOutputStream::bytes(&mut to[..len]);
    m.write_to_with_cached_sizes(&mut stream).expect("the buffer is large enough");
    stream.flush().expect("the buffer is large enough");
    len
}

object_codec!(encode, |from| Message::parse_from_bytes(from));
