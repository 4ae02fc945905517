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
