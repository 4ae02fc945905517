//! Says one name to the server: `cargo run --bin client -- Ada`.

use hello_world::hello::Greeter::client::GreeterClient;
use hello_world::hello::HelloRequest;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut greeter = GreeterClient::connect("http://127.0.0.1:50051").await?;
    let reply = greeter.say_hello(HelloRequest { name, ..HelloRequest::default() }).await?;
    println!("{}", reply.into_inner().message);
    Ok(())
}
