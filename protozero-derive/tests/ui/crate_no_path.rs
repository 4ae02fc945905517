#[derive(protozero::Message)]
#[pb(crate = "sdk::proto")]
struct Order {
    #[pb(uint64, 1)]
    id: u64,
}
