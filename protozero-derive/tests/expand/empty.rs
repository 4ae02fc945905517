#[derive(Clone, PartialEq, Debug, Default, Message)]
pub struct Empty {}
