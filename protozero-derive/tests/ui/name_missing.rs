#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Order {
    #[pb(uint64, 1, json = "number")]
    id: u64,
}
