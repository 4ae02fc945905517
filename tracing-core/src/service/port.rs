//! The requests of the two ports, as the generated method tables decode them.

/// A request of a producer. Placeholder until `protos::producer_port::Request` is generated.
#[derive(Debug, Clone)]
pub enum ProducerRequest {}

/// A request of a consumer. Placeholder until `protos::consumer_port::Request` is generated.
#[derive(Debug, Clone)]
pub enum ConsumerRequest {}
