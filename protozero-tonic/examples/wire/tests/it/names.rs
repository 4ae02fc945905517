//! Names of services and methods that other names in the code could be taken for.

use protozero_types::google::protobuf;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};
use wire::awkward::names::{Answer, Ask, Clash, Context, Empty, PingSvc};
use wire::far::away;
use wire::{Loose, Rootless, again};

use crate::served::channel;

struct Here;

type Answered = Result<Response<Answer>, Status>;

fn answer(by: &str, request: Request<Ask>) -> Answered {
    let text = format!("{by} {}", request.into_inner().text);
    Ok(Response::new(Answer { text, ..Answer::default() }))
}

#[tonic::async_trait]
impl Clash::server::Clash for Here {
    async fn connect_(&self, request: Request<Ask>) -> Answered {
        answer("connect", request)
    }

    async fn new_(&self, request: Request<Ask>) -> Answered {
        answer("new", request)
    }

    type TypeStream = BoxStream<Answer>;

    async fn r#type(&self, request: Request<Ask>) -> Result<Response<Self::TypeStream>, Status> {
        let one = answer("type", request).map(Response::into_inner);
        Ok(Response::new(Box::pin(tokio_stream::iter([one]))))
    }

    async fn tell(&self, request: Request<Ask>) -> Answered {
        answer("Tell", request)
    }

    async fn tell_(&self, request: Request<Ask>) -> Answered {
        answer("tell", request)
    }

    async fn nothing(
        &self,
        request: Request<protobuf::Empty>,
    ) -> Result<Response<protobuf::Empty>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn far(&self, request: Request<away::Ask>) -> Result<Response<away::Ask_Inner>, Status> {
        request.into_inner().inner.map(Response::new).ok_or_else(|| Status::not_found("no inner"))
    }

    async fn old(&self, request: Request<Ask>) -> Answered {
        answer("old", request)
    }

    async fn clone_(&self, request: Request<Ask>) -> Answered {
        answer("clone", request)
    }

    async fn into_(&self, request: Request<Ask>) -> Answered {
        answer("into", request)
    }
}

#[tonic::async_trait]
impl Context::server::Context_ for Here {
    async fn service(&self, request: Request<Ask>) -> Answered {
        answer("service", request)
    }
}

#[tonic::async_trait]
impl PingSvc::server::PingSvc for Here {
    type PingStream = BoxStream<Answer>;

    async fn ping(
        &self,
        request: Request<Streaming<Ask>>,
    ) -> Result<Response<Self::PingStream>, Status> {
        let asks = request.into_inner();
        let one =
            |ask: Result<Ask, Status>| answer("ping", Request::new(ask?)).map(Response::into_inner);
        Ok(Response::new(Box::pin(tokio_stream::StreamExt::map(asks, one))))
    }
}

#[tonic::async_trait]
impl Rootless::server::Rootless for Here {
    async fn take(&self, request: Request<Loose>) -> Result<Response<Loose>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

impl Empty::server::Empty for Here {}

fn ask() -> Ask {
    Ask { text: "you".into(), ..Ask::default() }
}

#[tokio::test]
async fn each_method_is_called_by_its_name() {
    let mut client =
        Clash::client::ClashClient::new(channel(Clash::server::ClashServer::new(Here)).await);
    assert_eq!(client.connect_(ask()).await.unwrap().into_inner().text, "connect you");
    assert_eq!(client.new_(ask()).await.unwrap().into_inner().text, "new you");
    let mut types = client.r#type(ask()).await.unwrap().into_inner();
    assert_eq!(types.message().await.unwrap().unwrap().text, "type you");
    assert_eq!(client.tell(ask()).await.unwrap().into_inner().text, "Tell you");
    assert_eq!(client.tell_(ask()).await.unwrap().into_inner().text, "tell you");
    client.nothing(protobuf::Empty::default()).await.unwrap();
    let inner = away::Ask_Inner { text: "far".into(), ..away::Ask_Inner::default() };
    let far = away::Ask { inner: Some(inner.clone()), ..away::Ask::default() };
    assert_eq!(client.far(far).await.unwrap().into_inner(), inner);
    #[allow(deprecated)]
    let old = client.old(ask()).await.unwrap();
    assert_eq!(old.into_inner().text, "old you");
    assert_eq!(client.clone_(ask()).await.unwrap().into_inner().text, "clone you");
    assert_eq!(client.clone().into_(ask()).await.unwrap().into_inner().text, "into you");
}

#[tokio::test]
async fn each_service_is_called_by_its_name() {
    let server = Context::server::Context_Server::new(Here);
    let mut client = Context::client::Context_Client::new(channel(server).await);
    assert_eq!(client.service(ask()).await.unwrap().into_inner().text, "service you");

    let mut client = PingSvc::client::PingSvcClient::new(
        channel(PingSvc::server::PingSvcServer::new(Here)).await,
    );
    let mut pings = client.ping(tokio_stream::iter([ask(), ask()])).await.unwrap().into_inner();
    assert_eq!(pings.message().await.unwrap().unwrap().text, "ping you");

    let channel = channel(Rootless::server::RootlessServer::new(Here)).await;
    let loose = Loose { two: b"2".into(), ..Loose::default() };
    let mut client = Rootless::client::RootlessClient::new(channel.clone());
    assert_eq!(client.take(loose.clone()).await.unwrap().into_inner(), loose);
    let mut client = again::Rootless::client::RootlessClient::new(channel);
    let loose = again::Loose { two: b"2".into(), ..again::Loose::default() };
    assert_eq!(client.take(loose.clone()).await.unwrap().into_inner(), loose);
}

#[test]
fn names_of_services_are_whole() {
    assert_eq!(Clash::server::SERVICE_NAME, "awkward.names.Clash");
    assert_eq!(Context::server::SERVICE_NAME, "awkward.names.Context");
    assert_eq!(PingSvc::server::SERVICE_NAME, "awkward.names.PingSvc");
    assert_eq!(Rootless::server::SERVICE_NAME, "Rootless");
    assert_eq!(Empty::server::SERVICE_NAME, "awkward.names.Empty");
    let _ = Empty::server::EmptyServer::new(Here);
}
