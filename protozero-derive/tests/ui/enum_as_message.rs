#[derive(Clone, PartialEq, Debug, Message)]
enum NotAStruct {
    #[pb(uint32, 1)]
    A(u32),
}
