//! What goes over the wire: between both implementations, at limits, as errors, of methods without a body, and with
//! awkward names.

mod between;
mod limits;
mod names;
mod refused;
mod rows;
mod served;
mod stubs;
