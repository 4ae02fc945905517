//! The requests of the two ports, as the generated method tables decode them.

pub use protos::consumer_port::Request as ConsumerRequest;
pub use protos::producer_port::Request as ProducerRequest;
