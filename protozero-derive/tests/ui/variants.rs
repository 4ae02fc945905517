#[derive(Clone, PartialEq, Debug, Oneof)]
enum Variants {
    None(u32),
    #[pb(uint32, 1)]
    Unit,
    #[pb(uint32, 2)]
    Pair(u32, u32),
    #[pb(uint32, 3)]
    Named { value: u32 },
    #[pb(uint32, 4, repeated)]
    Repeated(Vec<u32>),
    #[pb(oneof, 5)]
    Inner(Variants),
    #[pb(uint32, 6)]
    First(u32),
    #[pb(string, 6)]
    Second(String),
    #[pb(message, 7)]
    Unboxed(Box<Other>),
    #[pb(bool, 8)]
    Wrong(u8),
}
