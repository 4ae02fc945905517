#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Mixed {
    #[pb(unknown)]
    unknown_fields: UnknownFields,
    #[pb(oneof, 9, 2, 5)]
    pick: Option<Pick>,
    #[pb(string, 7)]
    text: Option<String>,
    #[pb(uint32, 1)]
    number: u32,
    #[pb(oneof, 4, 3)]
    other: Option<Other>,
}
