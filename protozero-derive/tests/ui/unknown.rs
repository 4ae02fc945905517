#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Order {
    #[pb(uint64, 1)]
    id: u64,
}
