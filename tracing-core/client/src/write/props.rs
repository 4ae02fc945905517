//! Random packets through random pages, read back by a naive service, against what was written.

use proptest::prelude::*;
use protos::producer_port::Request;
use protozero::encode::Scope;
use protozero::rt;
use protozero::sink::HeapSink;

use super::{
    Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker, Park, ServiceSupport, TraceWriter,
};
use abi::ids::BufferId;
use abi::map::SortedMap;
use abi::shm::{ChunkFlags, ChunkHeader, Layout, PageSize, Region, Smb};
use abi::sync::{Arc, Mutex, lock};
use abi::time::BootTime;

/// A chunk as the service keeps it.
struct Stored {
    header: ChunkHeader,
    payload: Vec<u8>,
    flags: ChunkFlags,
}

/// The simplest service there can be: keeps every chunk, patches it, and joins fragments at the end.
#[derive(Default)]
pub(super) struct Reader {
    chunks: SortedMap<(u16, u32), Stored>,
    pub(super) flushes: Vec<u64>,
    pub(super) requests: Vec<Request>,
}

impl Reader {
    /// Does what the arbiter asks for now.
    pub(super) fn drain(&mut self, arbiter: &Arbiter) {
        while let Some(outgoing) = arbiter.poll_request(BootTime::from_ns(0)) {
            self.take(arbiter.smb(), &outgoing.request);
            self.requests.push(outgoing.request);
            if let Some(done) = outgoing.on_reply {
                done();
            }
        }
    }

    fn take(&mut self, smb: &Smb, request: &Request) {
        let Request::CommitData(commit) = request else { return };
        for entry in &commit.chunks_to_move {
            let (header, payload) = match &entry.data {
                Some(data) => (ChunkHeader::from_bytes(data).unwrap(), data[8..].to_vec()),
                None => {
                    let mut payload = Vec::new();
                    let (page, chunk) = (entry.page.unwrap(), entry.chunk.unwrap());
                    let mut reader = smb.reader().expect("one thread reads at a time");
                    let header = reader.read_chunk(page as usize, chunk as usize, &mut payload);
                    (header.expect("a committed chunk is complete"), payload)
                }
            };
            let stored = Stored { header, payload, flags: header.packets.flags() };
            let old = self.chunks.insert((header.writer.get(), header.chunk.get()), stored);
            assert!(old.is_none(), "one chunk came twice");
        }
        for entry in &commit.chunks_to_patch {
            let key = (entry.writer_id.unwrap() as u16, entry.chunk_id.unwrap());
            let chunk = self.chunks.get_mut(&key).expect("patches follow their chunk");
            for patch in &entry.patches {
                let at = patch.offset.unwrap() as usize;
                chunk.payload[at..at + 4].copy_from_slice(patch.data.as_ref().unwrap());
            }
            if entry.has_more_patches != Some(true) {
                chunk.flags = chunk.flags.without(ChunkFlags::NEEDS_PATCHING);
            }
        }
        self.flushes.extend(commit.flush_request_id);
    }

    /// The packets of `writer`, in order; `None` stands for one that was given up.
    pub(super) fn packets(&self, writer: u16) -> Vec<Option<Vec<u8>>> {
        let mut packets = Vec::new();
        let mut open: Option<Vec<u8>> = None;
        let mut next = None;
        for ((_, id), chunk) in self.chunks.range((writer, 0)..=(writer, u32::MAX)) {
            assert!(next.is_none_or(|next| next == *id), "chunk {id} follows its predecessor");
            next = Some(id + 1);
            assert!(!chunk.flags.contains(ChunkFlags::NEEDS_PATCHING), "chunk {id} is patched");
            let count = chunk.header.packets.count();
            let mut rest = chunk.payload.as_slice();
            for idx in 0..count {
                let (mut len, mut shift) = (0usize, 0);
                loop {
                    let byte = rest[0];
                    rest = &rest[1..];
                    len |= usize::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte & 0x80 == 0 {
                        break;
                    }
                }
                let continues = idx == 0 && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV);
                assert_eq!(continues, open.is_some(), "chunk {id}, fragment {idx}");
                let mut packet = open.take().unwrap_or_default();
                if len == 0x0fff_ffff {
                    packets.push(None);
                    continue;
                }
                packet.extend_from_slice(&rest[..len]);
                rest = &rest[len..];
                if idx + 1 == count && chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                    open = Some(packet);
                } else if len > 0 || !packet.is_empty() {
                    packets.push(Some(packet));
                }
            }
        }
        assert!(open.is_none(), "the last packet is whole");
        packets
    }
}

/// A stalled writer does the service's work itself.
pub(super) struct ServeWhileParked {
    pub(super) arbiter: Mutex<Option<Arbiter>>,
    pub(super) reader: Mutex<Reader>,
}

impl Park for ServeWhileParked {
    fn park(&self, _time: core::time::Duration) {
        let arbiter = lock(&self.arbiter).clone().unwrap();
        lock(&self.reader).drain(&arbiter);
    }

    fn give_up(&self) {
        panic!("nothing was freed");
    }
}

/// An arbiter and what waits for it, which own each other until this is dropped.
pub(super) struct World(Arbiter, Arc<ServeWhileParked>);

impl core::ops::Deref for World {
    type Target = Arbiter;

    fn deref(&self) -> &Arbiter {
        &self.0
    }
}

impl Drop for World {
    fn drop(&mut self) {
        *lock(&self.1.arbiter) = None;
    }
}

pub(super) fn world(
    pages: usize,
    page_bytes: usize,
    options: ArbiterOptions,
) -> (World, Arc<ServeWhileParked>) {
    let region = Region::heap(pages * page_bytes);
    let smb = Smb::new(region, PageSize::new(page_bytes).unwrap()).unwrap();
    let park = Arc::new(ServeWhileParked {
        arbiter: Mutex::new(None),
        reader: Mutex::new(Reader::default()),
    });
    let arbiter = Arbiter::new(smb, options, Arc::new(NoWaker), park.clone());
    *lock(&park.arbiter) = Some(arbiter.clone());
    (World(arbiter, park.clone()), park)
}

/// What to write: a tree of fields.
#[derive(Clone, Debug)]
enum Node {
    Number(u64),
    Bytes(usize),
    Message(Vec<Node>),
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Node::Number),
        (0u64..200).prop_map(Node::Number),
        (0usize..40).prop_map(Node::Bytes),
        (100usize..140).prop_map(Node::Bytes),
        (0usize..9000).prop_map(Node::Bytes),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop::collection::vec(inner, 0..6).prop_map(Node::Message)
    })
}

fn write(scope: &mut Scope<'_>, nodes: &[Node]) {
    for node in nodes {
        match node {
            Node::Number(value) => rt::uint64::<7>(scope, *value),
            Node::Bytes(len) => {
                let bytes: Vec<u8> = (0..*len).map(|i| (i * 7) as u8).collect();
                rt::bytes::<900>(scope, &bytes);
            }
            Node::Message(children) => write(&mut scope.nested::<3>(), children),
        }
    }
}

/// Writes a packet of numbers alone, if it can be a short one.
fn write_short(writer: &mut TraceWriter, nodes: &[Node]) -> bool {
    let is_number = |node: &Node| matches!(node, Node::Number(_));
    if !nodes.iter().all(is_number) {
        return false;
    }
    let Some(mut packet) = writer.new_short_packet(1 + 11 * nodes.len()) else { return false };
    for node in nodes {
        if let Node::Number(value) = node {
            packet.varint::<7>(*value);
        }
    }
    packet.end();
    true
}

/// Field by field, lengths ignored: how something was cut must not show.
fn normal(bytes: &[u8], messages: bool) -> Vec<(u32, Vec<u8>)> {
    let mut reader = protozero::Reader::new(bytes);
    let mut fields = Vec::new();
    while let Some(field) = reader.next_field().expect("well-formed") {
        let value = match field.value {
            protozero::Value::Len(body) if field.number == 3 && messages => {
                format!("{:?}", normal(body, true)).into_bytes()
            }
            protozero::Value::Len(body) => body.to_vec(),
            other => format!("{other:?}").into_bytes(),
        };
        fields.push((field.number, value));
    }
    fields
}

fn expected(nodes: &[Node]) -> Vec<(u32, Vec<u8>)> {
    let mut stream = HeapSink::stream();
    write(&mut stream.root(), nodes);
    normal(&stream.finish().unwrap(), true)
}

pub(super) struct Root<'w>(pub(super) Scope<'w>);

impl<'w> rt::Writer<'w> for Root<'w> {
    const NAME: &'static str = "test";
    fn from_scope(scope: Scope<'w>) -> Self {
        Self(scope)
    }
    fn scope_mut(&mut self) -> &mut Scope<'w> {
        &mut self.0
    }
}

fn check(pages: usize, page_bytes: usize, options: ArbiterOptions, packets: &[(bool, Vec<Node>)]) {
    let (arbiter, park) = world(pages, page_bytes, options);
    let mut writers: Vec<TraceWriter> = (0..2)
        .map(|_| arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Stall))
        .collect();
    for (second, nodes) in packets {
        let writer = &mut writers[usize::from(*second)];
        if !write_short(writer, nodes) {
            let mut root: Root<'_> = writer.new_packet_as();
            write(&mut root.0, nodes);
        }
    }
    let ids: Vec<u16> = writers.iter().map(|writer| writer.id().get()).collect();
    drop(writers);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    check_arrived(&reader, &ids, packets);
}

fn check_startup(options: ArbiterOptions, before: usize, packets: &[(bool, Vec<Node>)]) {
    // All that is written before the service comes has to fit, because nothing waits.
    let smb = Smb::new(Region::heap(8 << 20), PageSize::new(1 << 16).unwrap()).unwrap();
    let park = Arc::new(ServeWhileParked {
        arbiter: Mutex::new(None),
        reader: Mutex::new(Reader::default()),
    });
    let arbiter = Arbiter::unattached(smb, options, Arc::new(NoWaker), park);
    let reservations = [arbiter.reserve().unwrap(), arbiter.reserve().unwrap()];
    let mut writers =
        reservations.map(|it| arbiter.create_writer(it, BufferExhaustedPolicy::Stall));
    let mut reader = Reader::default();
    for (at, (second, nodes)) in packets.iter().enumerate() {
        let mut root: Root<'_> = writers[usize::from(*second)].new_packet_as();
        if at == before {
            arbiter.attach(options.service);
            arbiter.bind(reservations[1], BufferId::new(2));
            reader.drain(&arbiter);
        }
        write(&mut root.0, nodes);
    }
    if packets.len() <= before {
        arbiter.attach(options.service);
        arbiter.bind(reservations[1], BufferId::new(2));
    }
    arbiter.bind(reservations[0], BufferId::new(1));
    let ids = writers.each_ref().map(|writer| writer.id().get());
    drop(writers);
    reader.drain(&arbiter);
    check_arrived(&reader, &ids, packets);
}

fn check_arrived(reader: &Reader, ids: &[u16], packets: &[(bool, Vec<Node>)]) {
    for (idx, id) in ids.iter().enumerate() {
        let sent = packets.iter().filter(|(second, _)| usize::from(*second) == idx);
        let mut sent: Vec<_> = sent.map(|(_, nodes)| expected(nodes)).collect();
        let came: Vec<_> = reader
            .packets(*id)
            .into_iter()
            .map(|packet| normal(&packet.expect("nothing is given up when stalling"), true))
            .collect();
        if let Some(first) = sent.first_mut() {
            first.insert(0, (87, b"Varint(1)".to_vec()));
        }
        // An empty packet is an empty fragment, which a reader skips.
        sent.retain(|packet| !packet.is_empty());
        assert_eq!(came, sent);
    }
}

fn options() -> impl Strategy<Value = ArbiterOptions> {
    (0usize..5, any::<bool>(), any::<bool>()).prop_map(|(layout, direct_patching, by_value)| {
        ArbiterOptions {
            layout: Layout::ALL[layout],
            service: ServiceSupport { direct_patching, by_value },
            scrape_on_flush: false,
            batch_commits_ms: 0,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// As the next one, but the service comes after some packets.
    #[test]
    fn what_is_written_before_the_service_arrives(
        options in options(),
        before in 0usize..12,
        packets in prop::collection::vec((any::<bool>(), prop::collection::vec(node(), 0..6)), 1..12),
    ) {
        check_startup(options, before, &packets);
    }

    #[test]
    fn what_is_written_arrives(
        // A writer asks for a chunk before it gives its own away: two writers need three.
        pages in 3usize..6,
        page_unit in 1usize..=8,
        options in options(),
        packets in prop::collection::vec((any::<bool>(), prop::collection::vec(node(), 0..6)), 1..12),
    ) {
        check(pages, page_unit * 4096, options, &packets);
    }
}
