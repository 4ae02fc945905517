//! Greets until it is stopped: `cargo run --bin server`.

use hello_world::Hello;
use hello_world::hello::Greeter::server::GreeterServer;
use tonic::transport::Server;

#[tokio::main]
async fn main() -> Result<(), tonic::transport::Error> {
    let greeter = GreeterServer::new(Hello);
    Server::builder().add_service(greeter).serve(([127, 0, 0, 1], 50051).into()).await
}
