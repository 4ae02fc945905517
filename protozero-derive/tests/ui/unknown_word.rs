#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(drop_unknown)]
struct Order {
    #[pb(string, 1, utf8)]
    note: String,
}
