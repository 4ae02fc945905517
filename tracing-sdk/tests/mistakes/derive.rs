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

/// It would be in the trace.
#[derive(Annotate)]
enum Login {
    Anonymous,
    #[annotate(skip)]
    Password(String),
}

#[derive(Annotate)]
enum Cause {
    #[annotate(debug)]
    Other(u8),
}

#[derive(Annotate)]
#[annotate(skip)]
struct Secret(u64);

#[derive(Annotate)]
struct Pair(#[annotate(rename = "first")] u8, u8);

fn main() {}
