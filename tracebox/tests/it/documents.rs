//! The examples of the documents are valid, and every difference has its reason.

use std::path::Path;

use protos::TraceConfig;
use protozero::Message as _;
use protozero::dynamic::{DynamicMessage, Pool};

/// Blocks of text format in a document, each with the line it begins in.
fn examples(document: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if matches!(line.trim(), "```textproto" | "```pbtxt" | "```prototext") {
            let text = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
            found.push((at + 2, text.map(|line| format!("{line}\n")).collect()));
        }
    }
    found
}

#[test]
fn every_example_is_read_and_printed_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pool = Pool::decode(protos::FILE_DESCRIPTOR_SET).unwrap();
    let mut documents = vec![root.join("README.md")];
    for folder in ["docs", "protozero", "protozero/docs", "tracebox", "tracing-core", "protos"] {
        // Some crates have no documents.
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        documents.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut count = 0;
    for path in documents.iter().filter(|path| path.extension().is_some_and(|ext| ext == "md")) {
        for (line, text) in examples(&std::fs::read_to_string(path).unwrap()) {
            let place = format!("{}:{line}", path.display());
            // The convention of textproto files. Without that line the example is a config.
            let name = text.lines().find_map(|line| line.strip_prefix("# proto-message: "));
            let name = name.unwrap_or("perfetto.protos.TraceConfig");
            let message = pool.message(name.trim()).unwrap_or_else(|| panic!("{place}: {name}"));
            let read = DynamicMessage::from_text(message.clone(), &text)
                .unwrap_or_else(|errors| panic!("{place}\n{errors}"));
            assert!(!read.is_empty(), "{place}");
            let again = DynamicMessage::from_text(message.clone(), read.to_text()).unwrap();
            assert_eq!(again, read, "{place}");
            assert_eq!(DynamicMessage::decode(message, &read.encode()), Ok(read), "{place}");
            count += 1;
        }
    }
    assert!(count >= 2, "the documents have examples");
}

/// The configs to begin with can be recorded with our data sources, and pages name them.
#[test]
fn every_config_can_be_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let page = read(&root.join("docs/command-line.md"));
    let pool = Pool::decode(protos::FILE_DESCRIPTOR_SET).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("docs/configs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let message = pool.message("perfetto.protos.TraceConfig").unwrap();
        let config = DynamicMessage::from_text(message, read(&path))
            .unwrap_or_else(|errors| panic!("{name}\n{errors}"));
        let config = TraceConfig::decode(&config.encode()).unwrap();
        assert!(!config.data_sources.is_empty(), "{name}");
        for source in config.data_sources.iter().map(|source| source.config.as_ref().unwrap()) {
            assert!(tracing_probes::NAMES.contains(&source.name.as_deref().unwrap()), "{name}");
            assert!((source.target_buffer.unwrap_or(0) as usize) < config.buffers.len(), "{name}");
        }
        assert!(page.contains(&format!("(configs/{name})")), "{name}");
        count += 1;
    }
    assert_eq!(count, 2);
    // Without the comment that begins the file.
    let flight = read(&root.join("docs/configs/flight.pbtx"));
    let flight = &flight[flight.find("buffers").unwrap()..];
    assert!(page.contains(flight), "the page shows this config");
}

#[test]
fn every_difference_has_its_reason() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/differences.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut columns = 0;
    let mut count = 0;
    for (at, line) in text.lines().enumerate() {
        if !line.starts_with('|') {
            columns = 0;
            continue;
        }
        if line.starts_with("|---") {
            continue;
        }
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        // The first row of a table has its titles.
        columns = if columns == 0 { cells.len() } else { columns };
        assert_eq!(cells.len(), columns, "line {}: {line}", at + 1);
        assert!(cells.iter().all(|cell| !cell.is_empty()), "line {}: {line}", at + 1);
        count += 1;
    }
    assert!(count > 100, "{count}");
}
