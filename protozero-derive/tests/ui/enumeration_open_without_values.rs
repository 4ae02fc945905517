#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
struct Open(i32);
