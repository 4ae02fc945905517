//! prost.

use prost::Message;

#[allow(clippy::all)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/prost/bench.rs"));
}

objects!(|s: &str| s.to_owned(), |b: &[u8]| b.to_vec(), Some, r#type);
sums!(pb::EveryField, pb::TracePacket, pb::CommitDataRequest, r#type);

fn encode(m: &impl Message, mut to: &mut [u8]) -> usize {
    let capacity = to.len();
    m.encode(&mut to).expect("the buffer is large enough");
    capacity - to.len()
}

object_codec!(encode, |from| Message::decode(from));
