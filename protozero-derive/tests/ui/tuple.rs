#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Tuple(#[pb(uint32, 1)] Option<u32>);
