//! A result of the wrong type: the compiler names the place of the result, and not the attribute.
use tracing_sdk::{categories, traced};

categories! {
    NET = "net";
}

#[traced(NET)]
async fn text() -> String {
    ""
}

#[traced(NET, err)]
fn number() -> Result<u32, String> {
    Err(5)
}

fn main() {}
