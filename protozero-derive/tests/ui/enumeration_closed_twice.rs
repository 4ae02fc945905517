#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
enum Closed {
    #[default]
    DarkBlue = 0,
    #[pb(name = "DARK_BLUE")]
    Navy = 1,
}
