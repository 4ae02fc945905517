#[derive(Clone, PartialEq, Debug, Default, Message)]
pub struct BufferConfig {
    /// Kept small: the golden file is for reading.
    #[pb(uint32, 1)]
    pub size_kb: Option<u32>,
    #[pb(enumeration, 4)]
    pub fill_policy: Option<FillPolicy>,
    #[pb(string, 5)]
    pub name: String,
    #[pb(bytes, 6)]
    pub blob: Option<Vec<u8>>,
    #[pb(uint64, 7, packed)]
    pub ids: Vec<u64>,
    #[pb(string, 8, repeated)]
    pub tags: ::std::vec::Vec<String>,
    #[pb(message, 9, boxed)]
    pub child: Option<Box<BufferConfig>>,
    #[pb(message, 12, repeated)]
    pub others: Vec<Other>,
    #[pb(oneof, 10, 11)]
    pub value: Option<BufferConfigValue>,
    #[pb(unknown)]
    pub unknown_fields: protozero::UnknownFields,
}
