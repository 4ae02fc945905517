#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "shop.Order", skip_unknown, name = "shop.Order")]
struct Order {
    #[pb(uint64, 1)]
    id: u64,
}
