//! The embedding API: programs shared, objects held, functions called with Rust's types, and host
//! functions that call back.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod failed_heaps;
mod fuel;
mod hosts;
mod objects;
mod reentry;
mod sharing;

use vm::host::{HostIo, Hosts};
use vm::{GcStress, Vm, VmConfig};

/// The standard hosts without input, whose output goes nowhere.
fn quiet() -> Hosts {
    Hosts::standard(HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    ))
}

/// A machine for text with these hosts.
fn machine_with(text: &str, hosts: Hosts, mut config: VmConfig) -> Vm {
    if support::is_stressed() {
        config.heap.stress = GcStress::On;
    }
    Vm::new(support::verified(text), hosts, config).expect("a machine can be made")
}

/// A configuration whose every allocation collects.
fn stressed() -> VmConfig {
    let mut config = VmConfig::default();
    config.heap.stress = GcStress::On;
    config
}
