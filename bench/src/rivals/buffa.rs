//! buffa: owned messages, and views that borrow.

use buffa::Message;

#[allow(clippy::all, unused)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/buffa/bench.mod.rs"));
}

objects!(|s: &str| s.to_owned(), |b: &[u8]| b.to_vec(), buffa::MessageField::some, r#type);
sums!(pb::EveryField, pb::TracePacket, pb::CommitDataRequest, r#type);

fn encode(m: &impl Message, mut to: &mut [u8]) -> usize {
    let capacity = to.len();
    m.encode(&mut to);
    capacity - to.len()
}

object_codec!(encode, |from| Message::decode_from_slice(from));

pub mod view {
    use super::pb;
    use buffa::MessageView;

    sums!(pb::EveryFieldView<'_>, pb::TracePacketView<'_>, pb::CommitDataRequestView<'_>, r#type);
    object_decoders!(|from| MessageView::decode_view(from));
}
