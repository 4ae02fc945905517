//! The code of the schema, and what the server does.

include!(concat!(env!("OUT_DIR"), "/mod.rs"));

use hello::Greeter::server::Greeter;
use hello::{HelloReply, HelloRequest};
use tonic::{Request, Response, Status};

/// Greets everybody who says a name.
pub struct Hello;

#[tonic::async_trait]
impl Greeter for Hello {
    async fn say_hello(
        &self,
        request: Request<HelloRequest>,
    ) -> Result<Response<HelloReply>, Status> {
        let HelloRequest { name, .. } = request.into_inner();
        if name.is_empty() {
            return Err(Status::invalid_argument("a greeting needs a name"));
        }
        let message = format!("Hello {name}!");
        Ok(Response::new(HelloReply { message, ..HelloReply::default() }))
    }
}
