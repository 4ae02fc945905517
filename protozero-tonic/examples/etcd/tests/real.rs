//! Our clients and a real etcd: single calls, a transaction, a watch, a lease, and errors.
//!
//! The program `etcd` is in Debian's package `etcd-server`.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use etcd::etcdserverpb::KV::client::KVClient;
use etcd::etcdserverpb::Lease::client::LeaseClient;
use etcd::etcdserverpb::Watch::client::WatchClient;
use etcd::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, PutRequest, RangeRequest, RequestOp,
    RequestOp_RequestOneof, TxnRequest, WatchCreateRequest, WatchRequest,
    WatchRequest_RequestUnionOneof,
};
use etcd::mvccpb::Event_EventType;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// A running etcd, with data of its own.
struct Etcd {
    child: Child,
    url: String,
    _data: tempfile::TempDir,
}

impl Etcd {
    /// Another program may take a port between our choice and its start: then etcd ends, and others are tried.
    fn start() -> Self {
        (0..10).find_map(|_| Self::try_start()).expect("etcd does not start; see its log above")
    }

    fn try_start() -> Option<Self> {
        let data = tempfile::tempdir().unwrap();
        let [url, peers] = [(); 2].map(|()| {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", free.local_addr().unwrap())
        });
        let mut child = Command::new("etcd")
            .arg("--data-dir")
            .arg(data.path())
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stderr(Stdio::piped())
            .spawn()
            .expect("no program `etcd`: apt-get install etcd-server");
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok);
        let ready = lines.by_ref().inspect(|line| println!("{line}"));
        let ready = ready.into_iter().any(|line| line.contains("ready to serve client requests"));
        if !ready {
            child.wait().unwrap();
            return None;
        }
        // A pipe that nobody reads would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, url, _data: data })
    }

    async fn channel(&self) -> Channel {
        Endpoint::new(self.url.clone()).unwrap().connect().await.unwrap()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn put(key: &str, value: &str) -> PutRequest {
    PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() }
}

fn get(key: &str) -> RangeRequest {
    RangeRequest { key: key.into(), ..RangeRequest::default() }
}

#[tokio::test]
async fn keys_are_put_and_read() {
    let etcd = Etcd::start();
    let mut kv = KVClient::new(etcd.channel().await);
    kv.put(put("color", "red")).await.unwrap();
    let again = PutRequest { prev_kv: true, ..put("color", "blue") };
    let old = kv.put(again).await.unwrap().into_inner().prev_kv.unwrap();
    assert_eq!(old.value, b"red");
    let found = kv.range(get("color")).await.unwrap().into_inner();
    assert_eq!((found.count, found.kvs[0].value.as_slice()), (1, b"blue".as_slice()));
    assert_eq!(found.kvs[0].version, 2);

    let put = RequestOp_RequestOneof::RequestPut(put("shape", "round"));
    let all =
        RequestOp_RequestOneof::RequestRange(RangeRequest { range_end: vec![0], ..get("\0") });
    let op = |request| RequestOp { request: Some(request), ..RequestOp::default() };
    let both = TxnRequest { success: vec![op(put), op(all)], ..TxnRequest::default() };
    let done = kv.txn(both).await.unwrap().into_inner();
    assert!(done.succeeded);
    assert_eq!(done.responses.len(), 2);

    let nothing = kv.put(PutRequest::default()).await.unwrap_err();
    assert_eq!(nothing.code(), Code::InvalidArgument, "{nothing}");
    assert!(nothing.message().contains("key is not provided"), "{nothing}");
}

#[tokio::test]
async fn changes_come_on_a_stream() {
    let etcd = Etcd::start();
    let mut kv = KVClient::new(etcd.channel().await);
    let mut observer = WatchClient::new(etcd.channel().await);
    let create = WatchCreateRequest { key: "color".into(), ..WatchCreateRequest::default() };
    let create = WatchRequest_RequestUnionOneof::CreateRequest(create);
    let create = WatchRequest { request_union: Some(create), ..WatchRequest::default() };
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel();
    ask.send(create).unwrap();
    let asked = tokio_stream::wrappers::UnboundedReceiverStream::new(asked);
    let mut changes = observer.watch(asked).await.unwrap().into_inner();
    assert!(changes.message().await.unwrap().unwrap().created);
    for value in ["red", "green"] {
        kv.put(put("color", value)).await.unwrap();
        let change = changes.message().await.unwrap().unwrap();
        let event = &change.events[0];
        assert_eq!(event.r#type, Event_EventType::Put);
        assert_eq!(event.kv.as_ref().unwrap().value, value.as_bytes());
    }
}

#[tokio::test]
async fn a_lease_is_kept_alive() {
    let etcd = Etcd::start();
    let mut leases = LeaseClient::new(etcd.channel().await);
    let grant = LeaseGrantRequest { TTL: 600, ..LeaseGrantRequest::default() };
    let granted = leases.lease_grant(grant).await.unwrap().into_inner();
    let keep = LeaseKeepAliveRequest { ID: granted.ID, ..LeaseKeepAliveRequest::default() };
    let kept = tokio_stream::iter([keep.clone(), keep]);
    let mut kept = leases.lease_keep_alive(kept).await.unwrap().into_inner();
    for _ in 0..2 {
        let answer = kept.message().await.unwrap().unwrap();
        assert_eq!((answer.ID, answer.TTL), (granted.ID, 600));
    }
}
