#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(values(OFF = 0, ON = 1, BELOW = -1))]
pub struct Switch(i32);
