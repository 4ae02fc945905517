#[derive(protozero::Message)]
#[pb(crate = sdk::proto)]
struct Order {
    #[pb(uint64, 1)]
    id: u64,
    #[pb(oneof, 2)]
    paid: Option<Paid>,
    #[pb(unknown)]
    rest: sdk::proto::UnknownFields,
}
