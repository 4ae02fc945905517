#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "pkg.Shade")]
pub enum Shade {
    #[default]
    DarkBlue,
    #[pb(name = "SHADE_LIGHT")]
    Light = 5,
}
