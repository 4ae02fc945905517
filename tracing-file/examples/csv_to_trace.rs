//! Makes a trace of a CSV with the columns begin_ns, duration_ns, name, in the order of the begins:
//! `csv_to_trace spans.csv spans.pftrace`. Slices may overlap.

use std::error::Error;
use std::fs::{File, read_to_string};

use tracing_file::write::TraceFile;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(csv), Some(out)) = (args.next(), args.next()) else {
        return Err("usage: csv_to_trace CSV TRACE".into());
    };
    let mut trace = TraceFile::create(File::create(out)?)?;
    let spans = trace.lanes("spans");
    for line in read_to_string(csv)?.lines() {
        let mut columns = line.splitn(3, ',');
        let mut column = || columns.next().ok_or(format!("`{line}` has less than 3 columns"));
        let (begin, duration): (u64, u64) = (column()?.parse()?, column()?.parse()?);
        trace.slice(&spans, begin, duration, column()?).emit()?;
    }
    Ok(trace.finish()?)
}
