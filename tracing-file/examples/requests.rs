//! Requests that overlap, with arrows from the thread that takes a request to the one that answers:
//! `requests out.pftrace`.

use std::error::Error;
use std::fs::File;

use tracing_file::write::{Priority, TraceFile, TrackSpec};

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).ok_or("usage: requests TRACE")?;
    let mut trace = TraceFile::create(File::create(out)?)?;
    let server = trace.process(100, "server");
    let acceptor = trace.thread(100, 100, "acceptor");
    let workers = [trace.thread(100, 101, "worker 1"), trace.thread(100, 102, "worker 2")];
    let requests = trace.lanes(TrackSpec::new("requests").under(&server));
    let mut running = Vec::new();
    for id in 0..20_u64 {
        let begin = id * 1_000;
        let flow = trace.flow();
        let request = trace.begin(&requests, begin, "GET").category("http").arg("id", id).open();
        trace.instant(&acceptor, begin, "accept").flow(flow);
        running.push((begin + 1_500, request, flow));
        // The two workers are busy for two requests each.
        if running.len() == 2 {
            for (worker, (at, request, flow)) in workers.iter().zip(running.drain(..)) {
                trace.slice(worker, at, 800, "answer").category("http").end_flow(flow);
                trace.log(worker, at + 800, Priority::Info, "answered").source_location(
                    "server.rs",
                    "answer",
                    7,
                );
                trace.end(request, at + 900).arg("status", 200);
            }
        }
    }
    Ok(trace.finish()?)
}
