//! Probes: modules in which something happens before ops, to count them or to stop at them.

use profiler::{SourceId, SourceMapBuilder, SourceSeqId};
use vm::isa::{HostId, IWindow, Op, RWindow, Signature, SourceRef};
use vm::module::{HostImport, Module};

use crate::rewrite::rewrite;

/// A source for each op of one function; its count is how often the op was run.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The module whose function counts its ops.
    pub module: Module,
    /// The function's ops, by offset in the module as it was, with the source of each.
    pub sources: Vec<(u32, SourceId)>,
}

/// Lets a function count its ops in a count profile: each op is a source of its own, which is
/// entered and left before the op. The function's other profiling ops are dropped.
pub fn count_ops(module: &Module, function: u32) -> Counted {
    let mut module = module.clone();
    let mut sources = Vec::new();
    let mut builder = SourceMapBuilder::new();
    // The other sources keep their ids.
    let known = module.sources.sources.iter().skip(3);
    for source in known {
        let name = module.sources.names.get(source.name.index());
        let name = builder.add_name(name.map_or("?", String::as_str));
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    if let Some(function) = module.functions.get_mut(function as usize) {
        let rewritten = rewrite(function, |offset, op, out| {
            if matches!(op, Op::Enter { .. } | Op::Leave { .. }) {
                return;
            }
            let name = builder.add_name(&format!("{}+{offset:#x}", function.name));
            let id = builder.add_source(name, SourceSeqId::EMPTY);
            sources.push((offset, id));
            let source = SourceRef(id.0);
            out.push(Op::Enter {
                source: source.clone(),
            });
            out.push(Op::Leave { source });
            out.push(op);
        });
        *function = rewritten.function;
    }
    module.sources = builder.map().clone();
    Counted { module, sources }
}

/// A module that calls a host function before each op.
#[derive(Clone, Debug)]
pub struct Hooked {
    /// The module. No profiling op is left in it.
    pub module: Module,
    /// For each function, offsets in it and the offsets in the module as it was.
    pub origins: Vec<Vec<(u32, u32)>>,
}

impl Hooked {
    /// The offset in the module as it was of what stands at `offset` of a function.
    pub fn origin(&self, function: u32, offset: u32) -> Option<u32> {
        let origins = self.origins.get(function as usize)?;
        let after = origins.partition_point(|&(new, _)| new <= offset);
        Some(origins.get(after.checked_sub(1)?)?.1)
    }
}

/// Lets every function call the host function `host`, without arguments or results, before each
/// of its ops. Register 255 of each class does not survive that, so functions that use it do not
/// verify.
pub fn hook_ops(module: &Module, host: &str) -> Hooked {
    let mut module = module.clone();
    let id = module.hosts.len() as u32;
    module.hosts.push(HostImport {
        name: host.to_owned(),
        signature: Signature::default(),
    });
    let mut origins = Vec::with_capacity(module.functions.len());
    for function in &mut module.functions {
        let rewritten = rewrite(function, |offset, op, out| {
            let is_profiling = matches!(op, Op::Enter { .. } | Op::Leave { .. });
            // The call in place of the first Enter is where the function starts, and no loop.
            if !is_profiling || offset == 0 {
                out.push(Op::CallHost {
                    host: HostId(id),
                    ints: IWindow(u8::MAX),
                    refs: RWindow(u8::MAX),
                });
            }
            if !is_profiling {
                out.push(op);
            }
        });
        *function = rewritten.function;
        origins.push(rewritten.origins);
    }
    Hooked { module, origins }
}
