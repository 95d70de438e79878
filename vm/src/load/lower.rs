//! Words for all functions, and the distances between them.

use std::ptr;

use profiler::{Node, SourceId};

use super::contexts::frame_contexts;
use super::elided::is_tail_call;
use super::finish::Finish;
use super::plan::{Leaves, Plan};
use super::select::by_mode;
use super::statics::{first_globals, make_statics};
use super::{LoadConfig, LoadError};
use crate::code::*;
use crate::heap::{HeaderSource, Statics, Value};
use crate::interp::handlers::{branch, call, mode};
use crate::interp::slow;
use crate::isa::{Effects, Op};
use crate::module::Module;
use crate::verify::{ControlStackId, FunctionFacts, VerifiedModule};

/// Lowers all functions of a module, and makes its constants.
pub(crate) fn lower(
    module: VerifiedModule,
    config: LoadConfig<'_>,
) -> Result<LoadedProgram, LoadError> {
    let count = module.functions.len() as u32;
    let mut functions: Box<[_]> = (0..count).map(LoadedFunction::unloaded).collect();
    let addresses: Vec<*const LoadedFunction> = functions.iter().map(ptr::from_ref).collect();
    let mut statics = Statics::default();
    let constants = make_statics(&module, &addresses, &mut statics);
    let constants = constants.map_err(LoadError::OutOfMemory)?;
    let globals = first_globals(&module, &constants);
    let plans: Vec<Plan> = module
        .functions
        .iter()
        .zip(module.facts())
        .map(|(function, facts)| {
            let leaves = match config.mode() {
                Mode::Off => Leaves::Dropped,
                Mode::Current => Leaves::KeptForNodes,
                Mode::Stack => Leaves::KeptForContexts,
            };
            Plan::new(
                function,
                facts,
                leaves != Leaves::Dropped || config.counts(),
                leaves,
                |source| config.charged(source),
            )
        })
        .collect();
    let entry_sources: Vec<_> = plans.iter().map(|plan| plan.entry_source).collect();
    let sink = NodeWord {
        callee: config.sink,
        caller: config.sink,
    };
    let (mut code, mut node_words) = stubs(config, sink);
    let callback_return = CALLBACK + 1 + config.is_profiled() as usize;
    let mut call_fixups = Vec::new();
    let mut contexts = Vec::with_capacity(plans.len());
    let mut entries = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let base_source = base_source(&module, index);
        let facts = &module.facts()[index];
        let frame_contexts = frame_contexts(facts, config, base_source, plan.entry_source);
        let mut lowering = Lowering {
            module: &module,
            facts,
            plan,
            config,
            statics: &constants,
            functions: &addresses,
            entry_sources: &entry_sources,
            function: index,
            base_source,
            start: code.len(),
            code: &mut code,
            op_of_word: Vec::new(),
            word_of_op: vec![usize::MAX; module.facts()[index].ops.len() + 1],
            jump_fixups: Vec::new(),
            call_fixups: &mut call_fixups,
            contexts: &frame_contexts,
            node_words: &mut node_words,
            current_op: 0,
        };
        lowering.lower_function();
        // Jumps are distances of 32 bits.
        if lowering.code.len() > i32::MAX as usize / size_of::<Word>() {
            return Err(LoadError::TooLarge);
        }
        let Lowering {
            start,
            op_of_word,
            word_of_op,
            ..
        } = lowering;
        let function = &mut functions[index];
        function.start = start;
        function.op_of_word = op_of_word;
        entries.push(word_of_op);
        contexts.push(frame_contexts);
    }
    for (word, callee) in call_fixups {
        set_distance(&mut code, word, functions[callee].start);
    }
    for (index, word_of_op) in entries.iter().enumerate() {
        let finish = Finish {
            module: &module,
            config,
            code: &code,
            index,
            word_of_op,
            contexts: &contexts[index],
        };
        finish.function(&mut functions[index], &plans[index]);
    }
    Ok(LoadedProgram {
        module,
        code,
        functions,
        node_words,
        contexts,
        mode: config.mode(),
        counts: config.counts(),
        callback_return,
        globals,
        events_handler: slow::handle_events,
        _statics: statics,
    })
}

/// How many words stand before the functions.
const STUB_WORDS: usize = 8;

/// The words before the functions, and which of them hold nodes; see `stubs.rs`.
fn stubs(config: LoadConfig<'_>, sink: NodeWord) -> (Vec<Word>, Vec<u32>) {
    let data = Word {
        data: DataWord { x: 0, y: 0 },
    };
    let call = by_mode!(call::call_closure, config.mode(), config.counts());
    let mut code = vec![
        Word { nodes: sink },
        op_word(call::halt, [0; 4], 0),
        Word { nodes: sink },
        op_word(slow::barrier, [0; 4], 0),
        op_word(call, [0; 4], 0),
    ];
    debug_assert_eq!(code.len(), CALLBACK + 1);
    let mut node_words = Vec::new();
    if config.is_profiled() {
        node_words.push(code.len() as u32);
        code.push(match config.mode() {
            // A context that a call of a closure remembers.
            Mode::Stack => data,
            Mode::Off | Mode::Current => {
                node_words.push(BARRIER as u32 - 1);
                Word { nodes: sink }
            }
        });
    }
    code.push(op_word(slow::callback_returned, [0; 4], 0));
    // Functions start at the same place with any profile, so that its cost can be compared: where
    // words lie in cache lines makes a difference of a fifth to some loops.
    code.resize(STUB_WORDS, data);
    (code, node_words)
}

pub(super) fn op_word(handler: Handler, [a, b, c, d]: [u8; 4], e: i32) -> Word {
    Word {
        op: OpWord {
            handler,
            a,
            b,
            c,
            d,
            e,
        },
    }
}

/// Makes the jump in `word` go to the word `target`.
fn set_distance(code: &mut [Word], word: usize, target: usize) {
    let distance = (target as isize - word as isize) * size_of::<Word>() as isize;
    code[word].op.e = distance as i32;
}

/// The state of one function's lowering.
pub(super) struct Lowering<'a> {
    pub(super) module: &'a Module,
    pub(super) facts: &'a FunctionFacts,
    pub(super) plan: &'a Plan,
    pub(super) config: LoadConfig<'a>,
    pub(super) statics: &'a [Value],
    pub(super) functions: &'a [*const LoadedFunction],
    entry_sources: &'a [Option<SourceId>],
    function: usize,
    base_source: SourceId,
    start: usize,
    code: &'a mut Vec<Word>,
    op_of_word: Vec<u32>,
    word_of_op: Vec<usize>,
    /// Words whose jump goes to an op.
    jump_fixups: Vec<(usize, usize)>,
    /// Words whose jump goes to a function.
    call_fixups: &'a mut Vec<(usize, usize)>,
    /// The ways to contexts that words point to.
    pub(super) contexts: &'a FrameContexts,
    /// The words that hold nodes.
    node_words: &'a mut Vec<u32>,
    /// The op that words are written for.
    pub(super) current_op: usize,
}

/// What a profiled call enters.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    /// What the call does.
    pub(super) mode: Mode,
    /// The source to open.
    pub(super) source: SourceId,
    /// Its node, in current style.
    pub(super) node: *const Node,
    /// The node that is current again after the call, in current style.
    pub(super) caller: *const Node,
    /// Whether the call is counted.
    pub(super) is_counted: bool,
}

impl<'a> Lowering<'a> {
    fn lower_function(&mut self) {
        let plan = self.plan;
        let mut position = 0;
        while let Some(&op) = plan.kept.get(position) {
            self.current_op = op;
            self.word_of_op[op] = self.code.len();
            if self.config.counts_fuel && self.starts_fuel_block(position) {
                self.emit_fuel(position);
            }
            let first_word = self.op_of_word.len();
            position += match self.config.fuses.then(|| self.fuse(position)).flatten() {
                Some(fused) => {
                    // Only the last op of a run calls, jumps or returns, so that is where the
                    // machine stands at these words if anybody asks.
                    let last = self.op_of(position + fused - 1) as u32;
                    self.op_of_word[first_word..].fill(last);
                    fused
                }
                None => {
                    self.select(&self.facts.ops[op]);
                    1
                }
            };
        }
        // Dropped ops are where the next kept op is.
        let mut next = self.code.len();
        for word in self.word_of_op.iter_mut().rev() {
            if *word == usize::MAX {
                *word = next;
            }
            next = *word;
        }
        for (word, op) in std::mem::take(&mut self.jump_fixups) {
            set_distance(self.code, word, self.word_of_op[op]);
        }
    }

    /// The index of the kept op at a position.
    pub(super) fn op_of(&self, position: usize) -> usize {
        self.plan.kept[position]
    }

    fn kept_op(&self, position: usize) -> Option<&Op> {
        self.plan.kept.get(position).map(|&op| &self.facts.ops[op])
    }

    fn starts_fuel_block(&self, position: usize) -> bool {
        let follows_jump = position
            .checked_sub(1)
            .and_then(|before| self.kept_op(before));
        let is_after_jump = follows_jump.is_none_or(may_leave);
        is_after_jump || !self.plan.may_follow(self.plan.kept[position])
    }

    /// Pays for the block at `position`. Enter and Leave cost nothing and are not where fuel ends:
    /// a program does not see which of them a profile keeps.
    fn emit_fuel(&mut self, position: usize) {
        let rest = position + 1..self.plan.kept.len();
        let rest = rest.take_while(|&position| !self.starts_fuel_block(position));
        let ops = std::iter::once(position).chain(rest);
        let ops = ops.map(|position| self.op_of(position));
        let mut paid = ops.filter(|&op| !is_profiling(&self.facts.ops[op]));
        if let Some(first) = paid.next() {
            let cost = 1 + paid.count();
            self.current_op = first;
            self.emit(branch::fuel, [0; 4], cost as i32);
            self.current_op = self.op_of(position);
        }
    }

    /// The `N` kept ops from `position` on, when they may be fused.
    pub(super) fn fusible<const N: usize>(&self, position: usize) -> Option<[&'a Op; N]> {
        let ops = self.plan.kept.get(position..position + N)?;
        let follow = ops[1..].iter().all(|&op| self.plan.may_follow(op));
        // The word that counts a frame which is given up stands right before the tail call.
        let has_tail_call =
            self.elided().is_some() && ops.iter().any(|&op| is_tail_call(&self.facts.ops[op]));
        let splits_fuel = self.config.counts_fuel
            && (position + 1..position + N).any(|after| self.starts_fuel_block(after));
        (follow && !splits_fuel && !has_tail_call)
            .then(|| std::array::from_fn(|index| &self.facts.ops[ops[index]]))
    }

    pub(super) fn emit(&mut self, handler: Handler, operands: [u8; 4], e: i32) {
        self.code.push(op_word(handler, operands, e));
        self.op_of_word.push(self.current_op as u32);
    }

    pub(super) fn emit_data(&mut self, x: u64, y: u64) {
        self.push_data(Word {
            data: DataWord { x, y },
        });
    }

    pub(super) fn emit_nodes(&mut self, callee: *const Node, caller: *const Node) {
        self.node_words.push(self.code.len() as u32);
        self.push_data(Word {
            nodes: NodeWord { callee, caller },
        });
    }

    pub(super) fn push_data(&mut self, word: Word) {
        self.code.push(word);
        self.op_of_word.push(self.current_op as u32);
    }

    /// A word whose jump goes to the op at an offset.
    pub(super) fn emit_jump(&mut self, handler: Handler, operands: [u8; 4], target: u32) {
        let op = self
            .facts
            .op_at(target)
            .expect("the verifier has checked targets");
        self.jump_fixups.push((self.code.len(), op));
        self.emit(handler, operands, 0);
    }

    /// A word whose jump goes to a function.
    pub(super) fn emit_call(&mut self, handler: Handler, operands: [u8; 4], callee: u32) {
        self.call_fixups.push((self.code.len(), callee as usize));
        self.emit(handler, operands, 0);
    }

    /// Whether a jump to this offset goes backward, or nowhere.
    pub(super) fn is_back(&self, target: u32) -> bool {
        target <= self.facts.offsets[self.current_op]
    }

    /// The node of a source of the profile that is taken.
    pub(super) fn node(&self, source: SourceId) -> *const Node {
        match self.config.profile {
            Some(profile) => profile.node(source),
            None => self.config.sink,
        }
    }

    /// The node that is current under a local control stack.
    pub(super) fn node_of(&self, stack: ControlStackId) -> *const Node {
        let top = self.facts.control_stacks.top(stack);
        self.node(top.map_or(self.base_source, |(source, _)| source))
    }

    /// The node that is current at the op that is lowered.
    pub(super) fn current_node(&self) -> *const Node {
        let stack = self.facts.stacks[self.current_op].expect("only reached ops are lowered");
        self.node_of(stack)
    }

    /// Whether calls do something for a profile.
    pub(super) fn is_profiled(&self) -> bool {
        self.config.is_profiled()
    }

    /// The source that is current at the op that is lowered, as the upper half of the operand of an
    /// allocation; 0 when headers do not hold it.
    pub(super) fn header_source(&self) -> i32 {
        if !self.config.has_census {
            return 0;
        }
        let stack = self.facts.stacks[self.current_op].expect("only reached ops are lowered");
        let top = self.facts.control_stacks.top(stack);
        let source = top.map_or(self.base_source, |(source, _)| source);
        HeaderSource::new(source.index()).operand() as i32
    }

    /// The source that the function opens first, or that it is charged to if it opens none.
    pub(super) fn own_source(&self) -> SourceId {
        self.entry_sources[self.function].unwrap_or(self.base_source)
    }

    /// What a direct call enters.
    pub(super) fn callee(&self, callee: u32) -> Callee {
        let caller = self.current_node();
        let opened = self.entry_sources[callee as usize];
        let source = opened.unwrap_or_else(|| base_source(self.module, callee as usize));
        let node = self.node(source);
        let mode = match self.config.mode() {
            // A function that calls itself stays current.
            Mode::Current if node == caller => Mode::Off,
            mode => mode,
        };
        let is_counted = self.config.counts() && is_source(opened);
        Callee {
            mode,
            source,
            node,
            caller,
            is_counted,
        }
    }

    /// What the tail call of op `exit` enters. The Leaves before it were dropped, so in current
    /// style what they close is still published.
    pub(super) fn tail_callee(&self, callee: u32, exit: usize) -> Callee {
        let called = self.callee(callee);
        let leaves = self.plan.leaves_before(self.facts, exit);
        let published = leaves.and_then(|first| self.facts.stacks[first]);
        let is_published = published.is_some_and(|stack| self.node_of(stack) == called.node);
        let mode = match self.config.mode() {
            Mode::Current if is_published => Mode::Off,
            mode => mode,
        };
        Callee {
            mode,
            caller: called.node,
            ..called
        }
    }

    /// The word behind a profiled call.
    pub(super) fn emit_callee(&mut self, callee: Callee) {
        match self.config.mode() {
            Mode::Stack => self.emit_context(callee.source),
            _ => self.emit_nodes(callee.node, callee.caller),
        }
    }

    /// A word that names a source to open, or none for a closure's, and remembers a context.
    pub(super) fn emit_context(&mut self, source: SourceId) {
        self.node_words.push(self.code.len() as u32);
        self.emit_data(source.0 as u64, 0);
    }
}

/// Whether a function opens a source that counts entries.
pub(super) fn is_source(opened: Option<SourceId>) -> bool {
    opened.is_some_and(|source| source != SourceId::CALLER)
}

/// Whether the op is there for profiles only.
fn is_profiling(op: &Op) -> bool {
    op.opcode().info().effects.has(Effects::PROFILES)
}

/// Whether control may go elsewhere than to the next op.
fn may_leave(op: &Op) -> bool {
    let info = op.opcode().info();
    !info.falls_through || info.has_targets()
}
