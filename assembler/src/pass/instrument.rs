//! Puts `enter` at each function's entry and `leave` before each of its exits, and the same for
//! branches when they are profiled.
//!
//! Exits are returns, tail calls, and raises that no handler of the function itself covers. The
//! entry function gets no source: it runs under `<main>`. Nor does one that a builder declares
//! without. A jump out of a branch leaves it, too;
//! a conditional one does so in a block of its own, behind the function's end.

use vm::isa::{Op, SourceRef, Target};

use crate::AssembleOptions;
use crate::diagnostic::{Diagnostic, keep};
use crate::ir::*;

/// Instruments all functions.
pub(crate) fn run(program: &mut Program, options: &AssembleOptions) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for index in 0..program.functions.len() {
        let mut function = std::mem::take(&mut program.functions[index]);
        let is_entry = index == program.entry as usize;
        let own = match is_entry || function.is_unprofiled {
            true => None,
            false => Some(program.add_source(&function.name, function.location)),
        };
        let branches = branch_sources(program, &function, options.profile_branch);
        let branches = branches.unwrap_or_else(|error| {
            errors.push(error);
            Vec::new()
        });
        let mut instrument = Instrument {
            own,
            branches,
            errors: Vec::new(),
            exits: Vec::new(),
        };
        instrument.function(&mut function);
        let found = instrument.errors.into_iter();
        found.for_each(|error| keep(&mut errors, error));
        program.functions[index] = function;
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// A source for each branch of a function, or none.
fn branch_sources(
    program: &mut Program,
    function: &Function,
    is_wanted: bool,
) -> Result<Vec<u32>, Diagnostic> {
    let mut names: Vec<String> = Vec::new();
    let mut sources = Vec::new();
    for region in function.regions.iter().filter(|_| is_wanted) {
        let around = region
            .parent
            .map_or(&function.name, |parent| &names[parent as usize]);
        let name = format!("{around}.<{}>", region.name);
        if name.len() > MAX_NAME_BYTES {
            let message = format!(
                "the name of a branch has {} bytes with those around it; {MAX_NAME_BYTES} are \
                 the most",
                name.len()
            );
            return Err(Diagnostic::new(function.span, message));
        }
        sources.push(program.add_source(&name, region.location.or(function.location)));
        names.push(name);
    }
    Ok(sources)
}

struct Instrument {
    /// The function's own source.
    own: Option<u32>,
    /// The source of each branch region; empty when branches are not profiled.
    branches: Vec<u32>,
    errors: Vec<Diagnostic>,
    /// Blocks that leave branches on the way to a target.
    exits: Vec<Block>,
}

fn enter(source: u32) -> Action {
    Action::Op(Op::Enter {
        source: SourceRef(source),
    })
}

fn leave(source: u32) -> Action {
    Action::Op(Op::Leave {
        source: SourceRef(source),
    })
}

impl Instrument {
    fn function(&mut self, function: &mut Function) {
        let covering = function.covering_handlers();
        for position in 0..function.layout.len() {
            let block = function.layout[position];
            let is_covered = covering[block as usize].is_some();
            let instrs = std::mem::take(&mut function.blocks[block as usize].instrs);
            let region = function.blocks[block as usize].region;
            let instrs = self.block(function, instrs, region, is_covered);
            function.blocks[block as usize].instrs = instrs;
        }
        self.handlers(function);
        for block in std::mem::take(&mut self.exits) {
            function.blocks.push(block);
            function.layout.push(function.blocks.len() as u32 - 1);
        }
        if let Some(own) = self.own {
            // A block of its own, so that a loop back to the first op does not enter again.
            let instr = Instr {
                action: enter(own),
                location: function.location,
                span: function.span,
            };
            function.blocks.push(Block {
                instrs: vec![instr],
                region: None,
            });
            function.layout.insert(0, function.blocks.len() as u32 - 1);
        }
    }

    fn block(
        &mut self,
        function: &Function,
        instrs: Vec<Instr>,
        mut region: Option<u32>,
        is_covered: bool,
    ) -> Vec<Instr> {
        // An exit leaves the function's source, and seldom branches.
        let mut out = Vec::with_capacity(instrs.len() + 1);
        for instr in instrs {
            match &instr.action {
                Action::BeginBranch(index) => {
                    region = Some(*index);
                    let source = self.branches.get(*index as usize);
                    out.extend(source.map(|&source| instr.with(enter(source))));
                    continue;
                }
                Action::EndBranch => {
                    let Some(index) = region else { continue };
                    region = function.regions[index as usize].parent;
                    let source = self.branches.get(index as usize);
                    out.extend(source.map(|&source| instr.with(leave(source))));
                    continue;
                }
                action if is_exit(action, is_covered) => {
                    let leaves = self.leaves(function, region, None).unwrap_or_default();
                    let all = leaves.into_iter().chain(self.own);
                    out.extend(all.map(|source| instr.with(leave(source))));
                    out.push(instr);
                }
                Action::Op(op) if !self.branches.is_empty() && has_targets(op) => {
                    let jump = self.jump(function, &instr, op, region);
                    out.extend(jump);
                }
                _ => out.push(instr),
            }
        }
        out
    }

    /// A jump, with the branches left that the target is outside of.
    fn jump(
        &mut self,
        function: &Function,
        instr: &Instr,
        op: &Op,
        region: Option<u32>,
    ) -> Vec<Instr> {
        if let Op::Jmp { target } = op {
            let leaves = self.leaves_to(function, instr, region, target.0);
            let leaves = leaves.into_iter().map(|source| instr.with(leave(source)));
            return leaves.chain([instr.clone()]).collect();
        }
        let op = map_targets(op, |target| self.exit_to(function, instr, region, target));
        vec![instr.with(Action::Op(op))]
    }

    /// The target itself, or a block that leaves branches and goes there.
    fn exit_to(
        &mut self,
        function: &Function,
        instr: &Instr,
        region: Option<u32>,
        target: u32,
    ) -> u32 {
        let leaves = self.leaves_to(function, instr, region, target);
        if leaves.is_empty() {
            return target;
        }
        let jump = Action::Op(Op::Jmp {
            target: Target(target),
        });
        let actions = leaves.into_iter().map(leave).chain([jump]);
        let instrs = actions.map(|action| instr.with(action)).collect();
        self.exits.push(Block {
            instrs,
            region: None,
        });
        (function.blocks.len() + self.exits.len() - 1) as u32
    }

    /// The sources of the branches between a region and a target's region.
    fn leaves_to(
        &mut self,
        function: &Function,
        instr: &Instr,
        region: Option<u32>,
        target: u32,
    ) -> Vec<u32> {
        let outer = function
            .blocks
            .get(target as usize)
            .and_then(|block| block.region);
        self.leaves(function, region, outer).unwrap_or_else(|| {
            let error = Diagnostic::new(instr.span, "this jumps into the middle of a branch");
            let error = error.with_help("put the label before `.branch`");
            keep(&mut self.errors, error);
            Vec::new()
        })
    }

    /// The sources from `region` outwards to `outer`; `None` when that does not lie around it.
    fn leaves(
        &self,
        function: &Function,
        region: Option<u32>,
        outer: Option<u32>,
    ) -> Option<Vec<u32>> {
        let mut leaves = Vec::new();
        if self.branches.is_empty() {
            return Some(leaves);
        }
        let mut current = region;
        while current != outer {
            let index = current? as usize;
            leaves.push(self.branches[index]);
            current = function.regions[index].parent;
        }
        Some(leaves)
    }

    /// At a handler's start is open what is open at its range's start.
    fn handlers(&mut self, function: &mut Function) {
        for index in 0..function.handlers.len() {
            let handler = function.handlers[index];
            let region = function.blocks[handler.start as usize].region;
            let origin = Instr {
                action: Action::EndBranch,
                location: function.location,
                span: handler.span,
            };
            let target = self.exit_to(function, &origin, region, handler.target);
            function.handlers[index].target = target;
        }
    }
}

/// Whether the function is left.
fn is_exit(action: &Action, is_covered: bool) -> bool {
    match action {
        Action::Ret(_) | Action::TailCall(..) => true,
        // What neither falls through nor jumps raises.
        Action::Op(op) => !action.falls_through() && !is_covered && !has_targets(op),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::AssembleOptions;
    use crate::testing::check_ops;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        check_ops(
            text,
            &AssembleOptions {
                profile_branch: true,
                ..Default::default()
            },
            expected,
        );
    }

    #[test]
    fn every_exit_leaves() {
        check(
            "fun f(n: i, e: r) -> i {
                jeq n, 1, one
                jeq n, 2, two
                raise e
            one:
                ret 0
            two:
                tail_call f(n, e)
            }
            fun main() { ret }",
            expect![[r#"
                fun f(i, r) -> i {
                    enter s3
                    jeq_imm i0, 1, L0
                    jeq_imm i0, 2, L1
                    leave s3
                    raise r0
                L0:
                    leave s3
                    i0 = int 0
                    ret
                L1:
                    leave s3
                    tail_call f
                }
            "#]],
        );
    }

    #[test]
    fn a_raise_to_an_own_handler_is_no_exit() {
        check(
            "fun f(e: r) -> r {
                try caught(x) {
                    raise e
                }
            caught:
                match_fail
            }
            fun main() { ret }",
            expect![[r#"
                fun f(r) -> r {
                    .handle L0, L1, L1, r1
                    enter s3
                L0:
                    raise r0
                L1:
                    leave s3
                    match_fail
                }
            "#]],
        );
    }

    #[test]
    fn a_loop_to_the_first_op_enters_once() {
        check(
            "fun f(n: i) {
            again:
                n = add n, -1
                jne n, 0, again
                ret
            }
            fun main() { ret }",
            expect![[r#"
                fun f(i) {
                    enter s3
                L0:
                    i0 = add_imm i0, -1
                    jne_imm i0, 0, L0
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn branches_end_at_exits_and_at_jumps_out_of_them() {
        check(
            "fun f(n: i) -> i {
                .branch \"true\"
                jeq n, 1, out
                jeq n, 2, inside
                ret 1
            inside:
                n = add n, 1
                .end_branch
            out:
                ret n
            }
            fun main() { ret }",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    enter s4
                    jeq_imm i0, 1, L2
                    jeq_imm i0, 2, L0
                    leave s4
                    leave s3
                    i0 = int 1
                    ret
                L0:
                    i0 = add_imm i0, 1
                    leave s4
                L1:
                    leave s3
                    ret
                L2:
                    leave s4
                    jmp L1
                }
            "#]],
        );
    }

    #[test]
    fn a_branch_may_end_behind_a_conditional_jump() {
        check(
            "fun f() {
                .branch \"b\"
                c = 5
            loop:
                c = sub c, 1
                jgt c, 0, loop
                .end_branch
                ret
            }
            fun main() { ret }",
            expect![[r#"
                fun f() {
                    enter s3
                    enter s4
                    i0 = int 5
                L0:
                    i0 = add_imm i0, -1
                    jgt_imm i0, 0, L0
                    leave s4
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn a_handler_outside_of_a_branch_leaves_it() {
        check(
            "fun f(e: r) {
                .branch \"b\"
                try caught(x) {
                    raise e
                }
                .end_branch
            caught:
                ret
            }
            fun main() { ret }",
            expect![[r#"
                fun f(r) {
                    .handle L0, L1, L3, r1
                    enter s3
                    enter s4
                L0:
                    raise r0
                L1:
                    leave s4
                L2:
                    leave s3
                    ret
                L3:
                    leave s4
                    jmp L2
                }
            "#]],
        );
    }
}
