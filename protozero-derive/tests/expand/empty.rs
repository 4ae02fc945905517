#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub struct Empty {}
