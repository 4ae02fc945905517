//! `cargo xtask codegen [--check | --time]`: generates `protos/src/gen/**/*.rs` from `protos/perfetto/**/*.proto`, the
//! well-known types in `protozero-types/src/gen`, and the table of ftrace's events in `tracing-probes`.
//!
//! Generated files are committed, so that a build needs no generator. They must always equal the generator's output,
//! and these folders must contain no other files.

mod ftrace;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::times;
use protozero_codegen::{ApiKinds, Config, Source, descriptor_set, generate, rows};

pub use self::ftrace::PATH as FTRACE_EVENTS;

const COMMAND: &str = "cargo xtask codegen";

/// The folder of the code.
const GEN: &str = "protos/src/gen";

/// The folder of the well-known types' code, and that of their files.
const TYPES: &str = "protozero-types/src/gen";
const WELL_KNOWN: &str = "protozero-codegen/src/wellknown";

/// Those of these files that have code.
const WELL_KNOWN_FILES: [&str; 10] = [
    "any",
    "api",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
];

/// Messages that are two numbers and no more, so that they are `Copy` and `Ord`, and a literal names all of them.
const TIMES: [&str; 2] = ["google.protobuf.Duration", "google.protobuf.Timestamp"];

/// The whole schema as a descriptor set.
const SET: &str = "protos/src/gen/schema.binpb";

/// Contents of files by their path below a folder.
type Files = BTreeMap<String, Vec<u8>>;

/// Fields with configs and descriptors, which clients and the service pass on.
const SHARED: [&str; 8] = [
    "AttachResponse.trace_config",
    "ChangeTraceConfigRequest.trace_config",
    "EnableTracingRequest.trace_config",
    "GetAsyncCommandResponse.SetupDataSource.config",
    "GetAsyncCommandResponse.StartDataSource.config",
    "RegisterDataSourceRequest.data_source_descriptor",
    "TracingServiceState.DataSource.ds_descriptor",
    "UpdateDataSourceRequest.data_source_descriptor",
];

/// Areas of the schema: a path prefix and a feature of `protos`. The longest prefix decides. Files without an area are
/// always compiled.
const AREAS: &[(&str, &str)] = &[
    ("perfetto/config/android/", "configs"),
    ("perfetto/config/chrome/", "configs"),
    ("perfetto/config/etw/", "configs"),
    ("perfetto/config/gpu/", "configs"),
    ("perfetto/config/inode_file/", "linux"),
    ("perfetto/config/linux/", "linux"),
    ("perfetto/config/power/", "configs"),
    ("perfetto/config/profiling/", "configs"),
    ("perfetto/config/qnx/", "configs"),
    ("perfetto/config/statsd/", "configs"),
    ("perfetto/config/test_config.proto", "configs"),
    ("perfetto/common/perf_events.proto", "perf"),
    ("perfetto/config/stress_test_config.proto", "full"),
    ("perfetto/config/protovm/", "service"),
    ("perfetto/protovm/", "protovm"),
    ("perfetto/ipc/relay_port.proto", "full"),
    ("perfetto/ipc/wire_protocol.proto", "full"),
    ("perfetto/common/ftrace_descriptor.proto", "linux"),
    ("perfetto/common/sys_stats_counters.proto", "linux"),
    ("perfetto/config/ftrace/", "linux"),
    ("perfetto/config/process_stats/", "linux"),
    ("perfetto/config/sys_stats/", "linux"),
    ("perfetto/config/system_info/", "linux"),
    ("perfetto/trace/ps/", "linux"),
    ("perfetto/trace/sys_stats/", "linux"),
    ("perfetto/trace/system_info/", "linux"),
    ("perfetto/common/loss_ledger.proto", "consumer"),
    ("perfetto/common/observable_events.proto", "consumer"),
    ("perfetto/common/trace_attributes.proto", "consumer"),
    ("perfetto/common/trace_stats.proto", "consumer"),
    ("perfetto/common/tracing_service_capabilities.proto", "consumer"),
    ("perfetto/common/tracing_service_state.proto", "consumer"),
    ("perfetto/common/user_account.proto", "consumer"),
    ("perfetto/config/trace_config.proto", "consumer"),
    ("perfetto/config/priority_boost/", "boost"),
    ("perfetto/ipc/consumer_port.proto", "consumer"),
    ("perfetto/trace/ui_state.proto", "consumer"),
    ("perfetto/common/descriptor.proto", "service"),
    ("perfetto/common/system_info.proto", "service"),
    ("perfetto/trace/extension_descriptor.proto", "service"),
    ("perfetto/trace/perfetto/", "service"),
    ("perfetto/trace/remote_clock_sync.proto", "service"),
    ("perfetto/trace/trace_uuid.proto", "service"),
    ("perfetto/trace/trigger.proto", "service"),
    ("perfetto/trace/android/", "android"),
    ("perfetto/trace/statsd/", "android"),
    ("perfetto/trace/track_event/pixel_modem.proto", "android"),
    ("perfetto/trace/chrome/", "chrome"),
    ("perfetto/trace/chrome/chrome_trigger.proto", "service"),
    ("perfetto/trace/track_event/chrome_", "chrome"),
    ("perfetto/trace/translation/", "chrome"),
    ("perfetto/trace/ftrace/", "ftrace"),
    ("perfetto/trace/ftrace/ftrace_event_bundle.proto", "linux"),
    ("perfetto/trace/ftrace/ftrace_stats.proto", "linux"),
    ("perfetto/common/gpu_counter_descriptor.proto", "gpu"),
    ("perfetto/trace/gpu/", "gpu"),
    ("perfetto/trace/system_info/gpu_info.proto", "gpu"),
    ("perfetto/common/android_energy_consumer_descriptor.proto", "power"),
    ("perfetto/trace/power/", "power"),
    ("perfetto/trace/power/battery_counters.proto", "linux"),
    ("perfetto/trace/memory_graph.proto", "profiling"),
    ("perfetto/trace/profiling/", "profiling"),
    ("perfetto/trace/profiling/inline_callstack.proto", ""),
    ("perfetto/trace/profiling/profile_common.proto", ""),
    ("perfetto/trace/etw/", "system"),
    ("perfetto/trace/filesystem/", "linux"),
    ("perfetto/trace/generic_kernel/", "system"),
    ("perfetto/trace/linux/", "linux"),
];

/// Runs the command with the arguments after its name.
///
/// # Errors
/// One line that says what is wrong, or one per file with `--check`.
pub fn run(args: &[String]) -> Result<(), String> {
    let root = root();
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        [flag] if flag == "--time" => return time(&root),
        _ => return Err(format!("usage: {COMMAND} [--check | --time]")),
    };
    let wanted = wanted(&root)?;
    let present = present(&root)?;
    if check { compare(&wanted, &present) } else { write(&root, &wanted, &present) }
}

/// Prints the wall time and the CPU time of the generator in seconds, without files: the best of five runs.
fn time(root: &Path) -> Result<(), String> {
    let config = config(root)?;
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        let (cpu, began) = (times::cpu_of_self_s()?, std::time::Instant::now());
        generate(&config).map_err(|e| format!("protos/{e}"))?;
        let wall = began.elapsed().as_secs_f64();
        best = (best.0.min(wall), best.1.min(times::cpu_of_self_s()? - cpu));
    }
    println!("{:.3} {:.3}", best.0, best.1);
    Ok(())
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The generated files that are there, and all others in the folder of the code.
fn present(root: &Path) -> Result<Files, String> {
    let mut present = Files::new();
    for folder in [GEN, TYPES] {
        let found = read_all(&root.join(folder), &["rs", "binpb"])?;
        present.extend(found.into_iter().map(|(path, bytes)| (format!("{folder}/{path}"), bytes)));
    }
    match fs::read(root.join(ftrace::PATH)) {
        Ok(bytes) => drop(present.insert(ftrace::PATH.into(), bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(format!("{}: {e}", ftrace::PATH)),
    }
    Ok(present)
}

/// The files that there must be, by their path below the root.
fn wanted(root: &Path) -> Result<Files, String> {
    let config = config(root)?;
    let files = generate(&config).map_err(|e| format!("protos/{e}"))?;
    let mut wanted: Files =
        files.into_iter().map(|f| (format!("{GEN}/{}", f.path), f.text.into_bytes())).collect();
    let set = descriptor_set(&config.sources).map_err(|e| format!("protos/{e}"))?;
    wanted.insert(SET.into(), set);
    let types = generate(&well_known(root)?).map_err(|e| e.to_string())?;
    wanted.extend(types.into_iter().map(|f| (format!("{TYPES}/{}", f.path), f.text.into_bytes())));
    let rows = rows(&config.sources).map_err(|e| format!("protos/{e}"))?;
    wanted.insert(ftrace::PATH.into(), ftrace::table(&rows, COMMAND)?.into_bytes());
    Ok(wanted)
}

/// The schema of the repository and the options of the generator.
fn config(root: &Path) -> Result<Config, String> {
    let sources = read_all(&root.join("protos/perfetto"), &["proto"])?.into_iter().map(|file| {
        let path = format!("perfetto/{}", file.0);
        let text = String::from_utf8(file.1).map_err(|e| format!("protos/{path}: {e}"))?;
        Ok(Source { path, text })
    });
    let sources = sources.collect::<Result<_, String>>()?;
    Ok(Config {
        sources,
        api_kinds: ApiKinds::ALL,
        command: COMMAND.into(),
        source_prefix: "protos/".into(),
        root: "crate".into(),
        flat: vec!["perfetto.protos".into()],
        open_enums: true,
        text_feature: Some("text".into()),
        reader_feature: Some("readers".into()),
        features: AREAS.iter().map(|(path, area)| ((*path).into(), (*area).into())).collect(),
        compact: true,
        // It comes for every few chunks.
        not_compact: vec!["perfetto.protos.CommitDataRequest".into()],
        shared: SHARED.iter().map(|name| format!("perfetto.protos.{name}")).collect(),
        ..Config::default()
    })
}

/// The well-known types.
fn well_known(root: &Path) -> Result<Config, String> {
    let source = |name: &&str| {
        let file = root.join(format!("{WELL_KNOWN}/{name}.proto"));
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(Source { path: format!("google/protobuf/{name}.proto"), text })
    };
    Ok(Config {
        sources: WELL_KNOWN_FILES.iter().map(source).collect::<Result<_, String>>()?,
        api_kinds: ApiKinds { service: false, ..ApiKinds::ALL },
        command: COMMAND.into(),
        root: "crate".into(),
        generate_well_known: true,
        // These types are older than all programs that use them here, and no field was ever added to the two.
        drop_unknown_fields: TIMES.map(Into::into).into(),
        eq_and_hash: vec![".".into()],
        message_attributes: TIMES
            .map(|name| (name.into(), "#[derive(Copy, PartialOrd, Ord)]".into()))
            .into(),
        ..Config::default()
    })
}

/// All files with one of these extensions below `folder`. A missing folder counts as empty.
fn read_all(folder: &Path, extensions: &[&str]) -> Result<Files, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(format!("{}: {e}", dir.display())),
        };
        for entry in entries {
            let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let below = path.strip_prefix(folder).unwrap_or(&path);
                found.insert(below.to_string_lossy().replace('\\', "/"), bytes);
            }
        }
    }
    Ok(found)
}

fn compare(wanted: &Files, present: &Files) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (path, bytes) in wanted {
        match present.get(path) {
            None => wrong.push(format!("{path} is missing")),
            Some(is) if is != bytes => wrong.push(format!("{path} is stale")),
            Some(_) => {}
        }
    }
    for path in present.keys().filter(|path| !wanted.contains_key(*path)) {
        wrong.push(format!("{path} comes from no .proto"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.push(format!("run `{COMMAND}`"));
    Err(wrong.join("\n"))
}

fn write(root: &Path, wanted: &Files, present: &Files) -> Result<(), String> {
    let fail = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let (mut written, mut removed) = (0, 0);
    for (path, bytes) in wanted.iter().filter(|(path, is)| present.get(*path) != Some(*is)) {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| fail(parent, e))?;
        }
        fs::write(&path, bytes).map_err(|e| fail(&path, e))?;
        written += 1;
    }
    for path in present.keys().filter(|path| !wanted.contains_key(*path)) {
        let path = root.join(path);
        fs::remove_file(&path).map_err(|e| fail(&path, e))?;
        removed += 1;
    }
    println!("codegen: {} files, {written} written, {removed} removed", wanted.len());
    Ok(())
}

#[cfg(test)]
mod tests;
