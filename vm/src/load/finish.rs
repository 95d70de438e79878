//! What functions are entered with, once all code stands.

use std::ptr;

use profiler::{Node, SourceId};

use super::lower::is_source;
use super::plan::Plan;
use super::{Charge, LoadConfig};
use crate::code::{
    ExceptionHandler, FrameContexts, LoadedFunction, Mode, Word, base_source, signature_word,
};
use crate::verify::VerifiedModule;

/// Fills a function's entry in once its code stands at its final address.
pub(super) struct Finish<'a> {
    pub(super) module: &'a VerifiedModule,
    pub(super) config: LoadConfig<'a>,
    pub(super) code: &'a [Word],
    pub(super) index: usize,
    pub(super) word_of_op: &'a [usize],
    pub(super) contexts: &'a FrameContexts,
}

impl Finish<'_> {
    /// Fills the entry in.
    pub(super) fn function(&self, function: &mut LoadedFunction, plan: &Plan) {
        let source = &self.module.functions[self.index];
        let facts = &self.module.facts()[self.index];
        let base = base_source(self.module, self.index);
        function.entry = &self.code[function.start];
        function.entry_node = self.node(plan.entry_source.unwrap_or(base));
        function.count_node = match plan.entry_source {
            Some(opened) => self.node(opened),
            None => self.config.sink,
        };
        function.entry_source = plan.entry_source.unwrap_or(base);
        function.is_counted = is_source(plan.entry_source);
        if self.config.charge() == Charge::Fixed {
            function.nodes = facts
                .stacks
                .iter()
                .map(|stack| stack.and_then(|stack| facts.control_stacks.top(stack)))
                .map(|top| self.node(top.map_or(base, |(source, _)| source)))
                .collect();
        }
        function.signature_word = signature_word(source.signature);
        function.ref_registers = facts.ref_registers;
        for (range, stack) in source.handlers.iter().zip(&facts.handler_stacks) {
            // A range without a stack is never reached, and neither is its handler.
            let Some(stack) = *stack else { continue };
            let op_at = |offset: u32| facts.offsets.partition_point(|&op| op < offset);
            let opened = facts
                .control_stacks
                .top(stack)
                .map_or(base, |(source, _)| source);
            function.handlers.push(ExceptionHandler {
                start_op: op_at(range.start) as u32,
                end_op: op_at(range.end) as u32,
                target: &self.code[self.word_of_op[op_at(range.target)]],
                register: u8::MAX - range.register,
                node: match self.config.mode() {
                    Mode::Current => self.node(opened),
                    Mode::Off | Mode::Stack => ptr::null(),
                },
                open: match self.config.mode() {
                    Mode::Stack => self.contexts.way(stack),
                    Mode::Off | Mode::Current => ptr::null(),
                },
            });
        }
    }

    fn node(&self, source: SourceId) -> *const Node {
        match self.config.profile {
            Some(profile) => profile.node(source),
            None => self.config.sink,
        }
    }
}
