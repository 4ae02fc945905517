#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Order {
    #[pb(unknown)]
    rest: UnknownFields,
}
