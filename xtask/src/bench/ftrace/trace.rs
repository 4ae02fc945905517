//! Counts in a trace. Only lengths and a few numbers are looked at.

use std::path::Path;
use std::time::Duration;

/// What a trace has.
#[derive(Debug, Default)]
pub struct Trace {
    pub events: u64,
    /// Bytes of the packets with events.
    pub event_bytes: u64,
    /// Events that the kernel overwrote, of all CPUs.
    pub overruns: u64,
    /// From the request to start to the acknowledgement of all data sources.
    pub start: Duration,
}

/// Fields of `Trace`, `TracePacket`, `TracingServiceEvent`, `FtraceEventBundle`, `FtraceStats` and `FtraceCpuStats`.
const PACKET: u32 = 1;
const FTRACE_EVENTS: u32 = 1;
const TIMESTAMP: u32 = 8;
const FTRACE_STATS: u32 = 34;
const SERVICE_EVENT: u32 = 69;
const ALL_STARTED: u32 = 1;
const STARTED: u32 = 2;
const EVENT: u32 = 2;
const COMPACT: u32 = 4;
const SWITCH_TIMES: u32 = 1;
const WAKING_TIMES: u32 = 7;
const CPU_STATS: u32 = 2;
const OVERRUN: u32 = 3;

impl Trace {
    /// # Errors
    /// The file cannot be read, is no trace, or does not say when the session started.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut trace = Self::default();
        let (mut began, mut started) = (None, None);
        for (field, packet) in messages(&bytes)? {
            if field != PACKET {
                continue;
            }
            let time = number(packet, TIMESTAMP)?;
            for (field, message) in messages(packet)? {
                match field {
                    FTRACE_EVENTS => {
                        trace.event_bytes += packet.len() as u64;
                        trace.events += events(message)?;
                    }
                    // The last ones count.
                    FTRACE_STATS => trace.overruns = overruns(message)?,
                    SERVICE_EVENT if number(message, STARTED)?.is_some() => began = time,
                    SERVICE_EVENT if number(message, ALL_STARTED)?.is_some() => started = time,
                    _ => {}
                }
            }
        }
        let (Some(began), Some(started)) = (began, started) else {
            return Err(format!("{} does not say when it started", path.display()));
        };
        trace.start = Duration::from_nanos(started.saturating_sub(began));
        Ok(trace)
    }
}

fn events(bundle: &[u8]) -> Result<u64, String> {
    let mut count = 0;
    for (field, message) in messages(bundle)? {
        match field {
            EVENT => count += 1,
            COMPACT => {
                let columns = messages(message)?;
                let times =
                    columns.iter().filter(|(f, _)| matches!(*f, SWITCH_TIMES | WAKING_TIMES));
                // The last byte of a varint is below 128.
                let lens = times.map(|(_, times)| times.iter().filter(|byte| **byte < 128).count());
                count += lens.sum::<usize>() as u64;
            }
            _ => {}
        }
    }
    Ok(count)
}

fn overruns(stats: &[u8]) -> Result<u64, String> {
    let mut sum = 0;
    for (field, cpu) in messages(stats)? {
        if field == CPU_STATS {
            sum += number(cpu, OVERRUN)?.unwrap_or(0);
        }
    }
    Ok(sum)
}

/// A field: its number, and its bytes or its value.
type Field<'m> = (u32, Result<&'m [u8], u64>);

/// Takes the next field of a message.
fn field<'m>(rest: &mut &'m [u8]) -> Option<Field<'m>> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Err(varint(rest)?),
        kind => {
            let len = match kind {
                1 => 8,
                2 => varint(rest)?,
                5 => 4,
                _ => return None,
            };
            Ok(rest.split_off(..usize::try_from(len).ok()?)?)
        }
    };
    Some((u32::try_from(tag >> 3).ok()?, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = rest.split_off_first()?;
        value |= u64::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(value);
        }
    }
    None
}

fn fields(mut message: &[u8]) -> Result<Vec<Field<'_>>, String> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        fields.push(field(&mut message).ok_or("the trace has a message that breaks off")?);
    }
    Ok(fields)
}

/// The fields that are messages or bytes.
fn messages(message: &[u8]) -> Result<Vec<(u32, &[u8])>, String> {
    let fields = fields(message)?.into_iter();
    Ok(fields.filter_map(|(number, value)| Some((number, value.ok()?))).collect())
}

/// The value of a number, if the message has it.
fn number(message: &[u8], wanted: u32) -> Result<Option<u64>, String> {
    let mut fields = fields(message)?.into_iter().filter(|(number, _)| *number == wanted);
    Ok(fields.find_map(|(_, value)| value.err()))
}
