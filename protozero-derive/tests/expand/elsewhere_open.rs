#[derive(protozero::Enumeration)]
#[pb(crate = sdk::proto, name = "pkg.Mode", values(OFF = 0, ON = 1))]
struct Mode(i32);
