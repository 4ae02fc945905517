//! The examples run to their ends.

#[cfg(all(feature = "derive", feature = "json", feature = "std"))]
#[path = "../examples/agent.rs"]
mod agent;
#[path = "../examples/exchange.rs"]
mod exchange;
#[path = "../examples/firmware.rs"]
mod firmware;

#[test]
fn examples_run() {
    #[cfg(all(feature = "derive", feature = "json", feature = "std"))]
    agent::main().unwrap();
    exchange::main().unwrap();
    firmware::main().unwrap();
}
