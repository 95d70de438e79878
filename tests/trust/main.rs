//! What programs and embedders may do to a machine, and what it keeps all the same.

#[path = "../support/mod.rs"]
mod support;

mod callbacks;
mod interrupts;
mod invisible;
mod lines;
mod panics;
mod streams;
mod work;

use crate::support::lock::Lock;
use std::sync::Arc;

use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::{GcStress, Vm, VmConfig};

/// A function without parameters and results.
const PLAIN: Signature = Signature {
    int_params: 0,
    ref_params: 0,
    int_results: 0,
    ref_results: 0,
};

/// Standard hosts whose output goes nowhere, with a function `mark` that notes that it was called.
fn marking_hosts() -> (Hosts, Arc<Lock<bool>>) {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let mut hosts = Hosts::standard(io);
    let is_marked = Arc::new(Lock::new(false));
    let marked = is_marked.clone();
    hosts.offer("mark", PLAIN, move |_| {
        marked.set(true);
        Ok(())
    });
    (hosts, is_marked)
}

/// A machine for text with these hosts.
fn machine_with(text: &str, hosts: Hosts, mut config: VmConfig) -> Vm {
    if support::is_stressed() {
        config.heap.stress = GcStress::On;
    }
    Vm::new(support::verified(text), hosts, config).expect("a machine can be made")
}
