//! Types that cannot be annotations by themselves.
use tracing_sdk::Annotate;

#[derive(Annotate)]
union Bits {
    int: u32,
    float: f32,
}

#[derive(Annotate)]
struct Request {
    #[annotate(hide)]
    id: u64,
}

struct Part;

#[derive(Annotate)]
struct Whole {
    part: Part,
}

fn main() {}
