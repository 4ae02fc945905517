//! Rows of docs/coming-from.md about gRPC. protozero-codegen/tests/outside/coming compares both.

#[test]
fn clients_and_servers_are_at_the_paths_of_tonic_prost() {
    // row: `tonic-prost`, `tonic-prost-build`
    // `prost_names(true)` and `Build::grpc` in the build script.
    use tonic::transport::Channel;
    use wire::like_prost::hello::{Greeter, greeter_client, greeter_server};
    type Client = Greeter::client::GreeterClient<Channel>;
    let same: fn(Client) -> greeter_client::GreeterClient<Channel> = |client| client;
    fn served<T>(server: Greeter::server::GreeterServer<T>) -> greeter_server::GreeterServer<T> {
        server
    }
    // row: `()` for `google.protobuf.Empty`
    use wire::like_prost::awkward::names::clash_client::ClashClient;
    async fn nothing(client: &mut ClashClient<Channel>) -> Result<(), tonic::Status> {
        let answer: tonic::Response<()> = client.nothing(()).await?; // with `plain_types(true)`
        Ok(answer.into_inner())
    }
    // row: end
    let _ = (same, served::<()>, nothing);
}

#[test]
fn what_stands_beside_tonic_stays() {
    // row: `tonic-reflection`
    // `file_descriptor_set_path(..)` of `Build` in the build script. `register_encoded_file_descriptor_set(..)` reads
    // the bytes like this.
    let set = include_bytes!(concat!(env!("OUT_DIR"), "/set.bin"));
    let set: prost_types::FileDescriptorSet = prost::Message::decode(&set[..]).unwrap();
    let mut services = set.file.iter().flat_map(|file| &file.service);
    let greeter = services.find(|service| service.name() == "Greeter").unwrap();
    assert_eq!(greeter.method[0].input_type(), ".hello.HelloRequest");
    // row: `tonic-health`
    // Its server is one more for `add_service(..)`.
    let _ = tonic::transport::Server::builder()
        .add_service(wire::like_prost::hello::greeter_server::GreeterServer::new(Nobody));
    // row: `tonic-types`
    // A message as `google.rpc.Status`.
    use protozero::Message;
    use wire::awkward::names::Ask;
    let ask = Ask { text: "why".into(), ..Ask::default() };
    let code = tonic::Code::InvalidArgument;
    let status = tonic::Status::with_details(code, "no", ask.encode_to_vec().into());
    assert_eq!(Ask::decode(status.details()), Ok(ask));
    // row: end
}

struct Nobody;

#[tonic::async_trait]
impl wire::like_prost::hello::greeter_server::Greeter for Nobody {
    async fn say_hello(
        &self,
        _: tonic::Request<wire::like_prost::hello::HelloRequest>,
    ) -> Result<tonic::Response<wire::like_prost::hello::HelloReply>, tonic::Status> {
        Err(tonic::Status::unimplemented("nobody greets"))
    }
}
