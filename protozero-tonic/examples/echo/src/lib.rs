//! An echo in all four kinds of streaming.

include!(concat!(env!("OUT_DIR"), "/mod.rs"));

use example::echo::v1::Echo::server::Echo;
use example::echo::v1::{Payload, RepeatRequest, Total};
use tokio_stream::StreamExt;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

/// How often a payload is repeated at most.
pub const TIMES_MAX: u32 = 1000;

/// Sends back what it gets.
pub struct Repeater;

#[tonic::async_trait]
impl Echo for Repeater {
    async fn once(&self, request: Request<Payload>) -> Result<Response<Payload>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type RepeatStream = BoxStream<Payload>;

    /// More than [`TIMES_MAX`] payloads end with an error behind the last one.
    async fn repeat(
        &self,
        request: Request<RepeatRequest>,
    ) -> Result<Response<Self::RepeatStream>, Status> {
        let RepeatRequest { payload, times, .. } = request.into_inner();
        let payload = payload.ok_or_else(|| Status::invalid_argument("there is no payload"))?;
        let all = (0..times.min(TIMES_MAX)).map(move |_| Ok(payload.clone()));
        let rest = (times > TIMES_MAX).then(|| Err(Status::resource_exhausted("too often")));
        Ok(Response::new(Box::pin(tokio_stream::iter(all.chain(rest)))))
    }

    async fn count(&self, request: Request<Streaming<Payload>>) -> Result<Response<Total>, Status> {
        let mut payloads = request.into_inner();
        let mut total = Total::default();
        while let Some(payload) = payloads.message().await? {
            total.payloads += 1;
            total.bytes += payload.data.len() as u64;
        }
        Ok(Response::new(total))
    }

    type ChatStream = BoxStream<Payload>;

    async fn chat(
        &self,
        request: Request<Streaming<Payload>>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        let answers = request.into_inner().map(|payload| {
            let mut payload = payload?;
            payload.text.insert_str(0, "echo: ");
            Ok(payload)
        });
        Ok(Response::new(Box::pin(answers)))
    }
}
