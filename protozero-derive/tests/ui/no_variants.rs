#[derive(Clone, PartialEq, Debug, Oneof)]
enum NoVariants {}
