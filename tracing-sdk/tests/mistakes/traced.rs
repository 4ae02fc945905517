//! `#[traced]` where it cannot be, and with arguments that it does not have.
use tracing_sdk::{categories, traced};

categories! {
    NET = "net";
}

#[traced(NET)]
struct Request;

#[traced]
fn without_category() {}

#[traced(NET)]
const fn constant() {}

#[traced(NET, arg(id))]
fn unknown_argument(id: u64) {}

trait Fetch {
    #[traced(NET)]
    fn fetch(&self);
}

fn main() {}
