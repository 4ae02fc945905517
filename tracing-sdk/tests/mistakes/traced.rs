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

async fn get() -> u64 {
    5
}

#[traced(NET)]
fn future() -> impl Future<Output = u64> {
    get()
}

#[traced(NET, ret)]
fn boxed() -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(get())
}

type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T>>>;

#[traced(NET)]
fn aliased() -> BoxFuture<u64> {
    Box::pin(get())
}

fn main() {}
