#[derive(Clone, PartialEq, Debug, Oneof)]
struct NotAnEnum {
    #[pb(uint32, 1)]
    a: u32,
}
