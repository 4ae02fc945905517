#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Numbers {
    #[pb(uint32, 0)]
    zero: Option<u32>,
    #[pb(uint32, 536870912)]
    too_large: Option<u32>,
    #[pb(uint32, 19000)]
    reserved: Option<u32>,
    #[pb(uint32, -1)]
    negative: Option<u32>,
    #[pb(uint32, 3)]
    first: Option<u32>,
    #[pb(string, 3)]
    second: Option<String>,
    #[pb(oneof, 4, 3)]
    third: Option<E>,
}
