//! Parts of the configs that this program makes.

use protos::{DataSourceConfig, TraceConfigBufferConfig, TraceConfigDataSource};

/// Name of the data source for events of the kernel.
pub(crate) const FTRACE: &str = "linux.ftrace";

/// The config of a data source without settings of its own.
pub(crate) fn named(name: &str) -> DataSourceConfig {
    DataSourceConfig { name: Some(name.to_owned()), ..DataSourceConfig::default() }
}

/// The entry of a trace config for a data source.
pub(crate) fn source(config: DataSourceConfig) -> TraceConfigDataSource {
    TraceConfigDataSource { config: Some(config), ..TraceConfigDataSource::default() }
}

/// A ring of `size_kb` KiB.
pub(super) fn buffer(size_kb: u32) -> TraceConfigBufferConfig {
    TraceConfigBufferConfig { size_kb: Some(size_kb), ..TraceConfigBufferConfig::default() }
}
