#[derive(Clone, Copy, PartialEq, Debug, Enumeration)]
enum Empty {}
