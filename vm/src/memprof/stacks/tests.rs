//! Call stacks against a plain list of calls, and the work that samples take: frames that are
//! compared, walked, or gone up or down in the tree.

use std::sync::Arc;

use profiler::SourceMap;
use profiler::sampling::{CallId, CallTree, SplitMix64};

use super::StackCache;
use crate::code::{
    DataWord, Frame, Globals, LoadedProgram, Mode, OpaqueContext, Pc, Program, Word,
};
use crate::heap::Statics;
use crate::isa::Op;
use crate::module::{Function, Module};
use crate::verify::verify;

/// Words before those that calls return to.
const N_STUBS: usize = 8;
/// Words that calls return to.
const N_CALLS: usize = 40;
/// The word of the op that is sampled.
const SAMPLED: usize = N_STUBS + N_CALLS;

macro_rules! unused_handler {
    ($abi:literal) => {
        extern $abi fn unused(
            pc: Pc,
            _: *mut u64,
            _: *mut u64,
            _: *mut OpaqueContext,
            _: *mut Frame,
        ) -> Pc {
            pc
        }
    };
}

#[cfg(target_arch = "x86_64")]
unused_handler!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
unused_handler!("C");

fn program() -> Program {
    let mut code = Vec::new();
    Op::Ret {}.encode(&mut code);
    let main = Function {
        name: "main".into(),
        code,
        ..Function::default()
    };
    let module = Module {
        functions: vec![main],
        sources: SourceMap::new(),
        ..Module::default()
    };
    let data = DataWord { x: 0, y: 0 };
    Program::new(Arc::new(LoadedProgram {
        module: verify(module).expect("a function that returns verifies"),
        code: vec![Word { data }; SAMPLED + 1],
        functions: Box::default(),
        node_words: Vec::new(),
        contexts: Vec::new(),
        mode: Mode::Off,
        counts: false,
        callback_return: N_STUBS - 1,
        globals: Globals::default(),
        events_handler: unused,
        _statics: Statics::default(),
    }))
}

/// A control stack, and what a plain list knows of it.
struct Stack {
    program: Program,
    cache: StackCache,
    tree: CallTree,
    frames: Box<[Frame]>,
    /// The words that the open calls return to.
    calls: Vec<usize>,
    n_pushed: usize,
    n_popped: usize,
    n_met: usize,
    n_samples: usize,
}

impl Stack {
    fn new(max_depth: usize) -> Self {
        let program = program();
        let frame = Frame {
            pc: program.halt(),
            ints: std::ptr::null_mut(),
            refs: std::ptr::null_mut(),
        };
        Self {
            program,
            cache: StackCache::default(),
            tree: CallTree::new(),
            frames: vec![frame; max_depth + 1].into(),
            calls: Vec::new(),
            n_pushed: 0,
            n_popped: 0,
            n_met: 0,
            n_samples: 0,
        }
    }

    fn push(&mut self, call: usize) {
        self.calls.push(N_STUBS + call);
        self.frames[self.calls.len()].pc = &self.program.code[N_STUBS + call];
        self.n_pushed += 1;
    }

    fn pop(&mut self) {
        let frame = &self.frames[self.calls.len()];
        let is_caught = self.program.innermost_caught().cast_const() == frame;
        let pc = match is_caught {
            true => self.program.pop_caught(),
            false => frame.pc,
        };
        let call = self.calls.pop().expect("a call is open");
        assert_eq!(pc, &raw const self.program.code[call]);
        self.n_popped += 1;
        self.n_met += usize::from(is_caught);
    }

    /// An exception leaves all but so many calls.
    fn unwind(&mut self, depth: usize) {
        self.n_popped += self.calls.len() - depth;
        self.calls.truncate(depth);
        let sp = self.frames.as_mut_ptr().wrapping_add(depth + 1);
        self.program.drop_caught(sp);
    }

    fn sample(&mut self) -> CallId {
        let first = self.frames.as_mut_ptr();
        let pc = &raw const self.program.code[SAMPLED];
        // SAFETY: there is a frame for each open call, above one that returns to the first word.
        let wanted = unsafe {
            let sp = first.add(self.calls.len() + 1);
            self.cache
                .call_stack(&self.tree, &mut self.program, first, sp, pc)
        };
        let wanted = wanted.expect("there is memory");
        self.n_samples += 1;
        self.cache.found(&mut self.tree, &self.program, wanted)
    }

    /// Samples, and looks at all that comes of it.
    fn check(&mut self) {
        let id = self.sample();
        // A call is the word before the one it returns to; the op that allocates is its own.
        let calls = self.calls.iter().rev().map(|&call| call as u32 - 1);
        let expected: Vec<u32> = std::iter::once(SAMPLED as u32).chain(calls).collect();
        let sites = self.tree.stack(id).map(|call| self.tree.site(call));
        assert!(sites.eq(expected));
        for (frame, &call) in self.frames[1..].iter().zip(&self.calls) {
            // SAFETY: the frame is one of a call that is open.
            let pc = unsafe { self.program.return_pc(frame) };
            assert_eq!(pc, &raw const self.program.code[call]);
        }
    }

    /// The work of all samples was what has changed between them, and so much for each.
    fn assert_amortised(&self) {
        let n_steps = self.cache.n_steps;
        // 96 frames may be compared for nothing; in the tree, one stack in 32 is found at once.
        let at_each = 96 + 2 * 32;
        // A frame that is new is walked, looked for in the tree, and put there.
        let allowed = 3 * self.n_pushed + at_each * self.n_samples;
        assert!(n_steps <= allowed, "{n_steps} steps, {allowed} allowed");
        let allowed = self.n_samples + n_steps / 64;
        assert!(
            self.n_met <= allowed,
            "{} met, {allowed} allowed",
            self.n_met
        );
    }
}

/// The recursion of a `map` that is no tail call: all frames come, and each allocates as it goes.
fn come_and_go(depth: usize, n_times: usize, n_frames_per_sample: usize) -> Stack {
    let mut stack = Stack::new(depth);
    for _ in 0..n_times {
        while stack.calls.len() < depth {
            stack.push(0);
        }
        while !stack.calls.is_empty() {
            stack.pop();
            if stack.n_popped.is_multiple_of(n_frames_per_sample) {
                stack.sample();
            }
        }
    }
    assert!(stack.n_samples > 0);
    stack
}

#[test]
fn samples_of_a_recursion_that_comes_and_goes_cost_what_has_changed() {
    for (depth, n_times) in [(100, 3_000), (1_000, 300), (100_000, 4)] {
        for n_frames_per_sample in [33, 333, 3_333] {
            come_and_go(depth, n_times, n_frames_per_sample).assert_amortised();
        }
    }
}

#[test]
fn samples_far_below_calls_that_come_and_go_cost_no_more_than_near_them() {
    let mut stack = Stack::new(50_000 + 100);
    while stack.calls.len() < 50_000 {
        stack.push(stack.calls.len() % N_CALLS);
    }
    stack.sample();
    let before = (stack.cache.n_steps, stack.n_samples);
    for round in 0..1_000 {
        (0..100).for_each(|call| stack.push((call + round) % N_CALLS));
        stack.sample();
        (0..100).for_each(|_| stack.pop());
        stack.sample();
    }
    stack.assert_amortised();
    let n_steps = stack.cache.n_steps - before.0;
    let n_samples = stack.n_samples - before.1;
    assert!(n_steps < 300 * n_samples, "{n_steps} steps");
}

#[test]
fn random_stacks_are_those_of_a_plain_list_and_cost_what_has_changed() {
    const MAX_DEPTH: usize = 3_000;
    for seed in 0..3 {
        let mut random = SplitMix64(seed);
        let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
        let mut stack = Stack::new(MAX_DEPTH);
        for _ in 0..4_000 {
            let depth = stack.calls.len();
            // Now and then a long way, so that stacks are deep and much of them goes.
            let is_long = below(20) == 0;
            let n = 1 + below(if is_long { 1_000 } else { 30 });
            match below(8) {
                0..4 => {
                    let n_calls = 1 + below(3);
                    (0..n.min(MAX_DEPTH - depth)).for_each(|_| stack.push(below(n_calls)));
                }
                4..7 => (0..n.min(depth)).for_each(|_| stack.pop()),
                _ => stack.unwind(depth - below(n.min(depth) + 1)),
            }
            if below(3) == 0 {
                stack.check();
            }
        }
        assert!(stack.n_met > 0 && stack.n_samples > 1_000);
        stack.assert_amortised();
    }
}

#[test]
fn stacks_are_right_when_callers_are_told_in_another_way_while_returns_are_caught() {
    let mut stack = Stack::new(1_000);
    (0..1_000).for_each(|call| stack.push(call % N_CALLS));
    for has_lines in [true, false, true] {
        stack.cache.set_lines(has_lines);
        stack.check();
        (0..150).for_each(|_| stack.pop());
        stack.check();
    }
    // SAFETY: the frames are there.
    unsafe { stack.program.release_caught() };
    let pcs = stack.frames[1..].iter().zip(&stack.calls);
    for (frame, &call) in pcs {
        assert_eq!(frame.pc, &raw const stack.program.code[call]);
    }
}
