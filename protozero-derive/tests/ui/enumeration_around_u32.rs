#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
#[pb(values(ON = 1))]
struct Open(u32);
