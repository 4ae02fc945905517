#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
#[pb(values(ON = 1))]
enum Switch {
    Off,
    On,
}
