#[derive(protozero::Message)]
#[pb(crate = a)]
#[pb(crate = b)]
struct Order {
    #[pb(uint64, 1)]
    id: u64,
}
