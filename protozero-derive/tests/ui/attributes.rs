#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Attributes {
    none: Option<u32>,
    #[pb()]
    empty: Option<u32>,
    #[pb(u32, 1)]
    rust_name: Option<u32>,
    #[pb(varint, 2)]
    no_such_kind: Option<u32>,
    #[pb(uint32)]
    no_number: Option<u32>,
    #[pb(uint32, "3")]
    text_number: Option<u32>,
    #[pb(uint32, 4, optional)]
    no_such_flag: Option<u32>,
    #[pb(uint32, 5, packed, packed)]
    flag_twice: Vec<u32>,
    #[pb(uint32, 6 = 7)]
    trailing: Option<u32>,
    #[pb(uint32, 8)]
    #[pb(uint32, 9)]
    two: Option<u32>,
    #[pb(oneof)]
    no_numbers: Option<E>,
    #[pb]
    bare: Option<u32>,
}
