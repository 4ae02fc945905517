#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
#[pb(values(LARGE = 2147483648))]
struct Open(i32);
