#[derive(Clone, PartialEq, Debug, Oneof)]
pub enum BufferConfigValue {
    #[pb(sint64, 10)]
    Number(i64),
    #[pb(message, 11, boxed)]
    Nested(Box<BufferConfig>),
}
