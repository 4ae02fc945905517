//! The server and the client over TCP.

use hello_world::Hello;
use hello_world::hello::Greeter::client::GreeterClient;
use hello_world::hello::Greeter::server::GreeterServer;
use hello_world::hello::HelloRequest;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Code;
use tonic::transport::Server;

fn request(name: &str) -> HelloRequest {
    HelloRequest { name: name.into(), ..HelloRequest::default() }
}

#[tokio::test]
async fn a_name_is_greeted_and_no_name_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(GreeterServer::new(Hello));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));

    let mut greeter = GreeterClient::connect(format!("http://{address}")).await.unwrap();
    let reply = greeter.say_hello(request("Ada")).await.unwrap();
    assert_eq!(reply.into_inner().message, "Hello Ada!");
    let status = greeter.say_hello(request("")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "a greeting needs a name");
}
