#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
#[pb(name = "a.Open", values(ON = 1, ON = 2))]
struct Open(i32);
