//! Live intervals. Each instruction has two positions, one where it reads and the next where it
//! writes; so has the start of each block.

use super::Code;
use crate::ir::*;

/// How many steps the walks from uses to definitions may take, for each position of the function
/// and in any case. Variables that are left then count as alive everywhere, so that the time is
/// linear; only functions with thousands of variables alive over thousands of blocks come there.
const STEPS_PER_POSITION: usize = 64;
const MIN_STEPS: usize = 1_000_000;

/// Where a variable is alive: both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Range {
    const NONE: Self = Self {
        start: u32::MAX,
        end: 0,
    };

    fn add(&mut self, position: u32) {
        self.start = self.start.min(position);
        self.end = self.end.max(position);
    }

    fn is_none(self) -> bool {
        self.start > self.end
    }
}

/// The intervals of a function's variables.
pub(super) struct Ranges {
    pub(super) of: Vec<Range>,
    /// By block, the position of its start.
    pub(super) block_starts: Vec<u32>,
    block_ends: Vec<u32>,
    /// Variables other than parameters that are alive where the function begins.
    pub(super) live_at_entry: Vec<u32>,
    end: u32,
}

/// A variable and a block: it is used there before it is defined, or it is defined there.
type Places = Vec<(u32, u32)>;

impl Ranges {
    /// The intervals of all variables.
    pub(super) fn of(code: &Code) -> Self {
        let n_blocks = code.function.blocks.len();
        let mut ranges = Self {
            of: vec![Range::NONE; code.vars.len()],
            block_starts: vec![0; n_blocks],
            block_ends: vec![0; n_blocks],
            live_at_entry: Vec::new(),
            end: 0,
        };
        let (mut uses, mut defs) = ranges.within_blocks(code);
        uses.sort_unstable();
        defs.sort_unstable();
        ranges.across_blocks(code, &uses, &defs);
        for (range, info) in ranges.of.iter_mut().zip(&code.vars) {
            if info.param.is_some() {
                range.add(0);
            }
        }
        for (handler, &var) in code.function.handlers.iter().zip(&code.handlers) {
            if let Some(&start) = ranges.block_starts.get(handler.target as usize) {
                ranges.of[var as usize].add(start);
                ranges.of[var as usize].add(start + 1);
            }
        }
        if let Some(frame) = &code.frame {
            ranges.of[frame.var as usize] = Range {
                start: 0,
                end: ranges.end,
            };
        }
        ranges
    }

    /// The variables that are used at all.
    pub(super) fn used(&self) -> impl Iterator<Item = u32> {
        let all = self.of.iter().enumerate();
        all.filter(|(_, range)| !range.is_none())
            .map(|(var, _)| var as u32)
    }

    /// Positions, and what each block reads of others and defines.
    fn within_blocks(&mut self, code: &Code) -> (Places, Places) {
        let (mut uses, mut defs) = (Places::new(), Places::new());
        let mut used_in = vec![u32::MAX; code.vars.len()];
        let mut defined_in = vec![u32::MAX; code.vars.len()];
        let mut position = 2;
        for &block in &code.function.layout {
            self.block_starts[block as usize] = position;
            for (_, operands) in code.block(block) {
                position += 2;
                for &var in &operands.reads {
                    let index = var as usize;
                    self.of[index].add(position);
                    if defined_in[index] != block && used_in[index] != block {
                        used_in[index] = block;
                        uses.push((var, block));
                    }
                }
                for &var in &operands.writes {
                    let index = var as usize;
                    self.of[index].add(position + 1);
                    if defined_in[index] != block {
                        defined_in[index] = block;
                        defs.push((var, block));
                    }
                }
            }
            self.block_ends[block as usize] = position + 1;
            position += 2;
        }
        self.end = position;
        (uses, defs)
    }

    fn across_blocks(&mut self, code: &Code, uses: &Places, defs: &Places) {
        let edges = Edges::of(code);
        let entry = code.function.layout.first().copied();
        let mut visited = vec![u32::MAX; code.function.blocks.len()];
        let mut defined = vec![u32::MAX; code.function.blocks.len()];
        let mut steps = STEPS_PER_POSITION * self.end as usize + MIN_STEPS;
        let mut defs = defs.iter().peekable();
        let mut open: Vec<u32> = Vec::new();
        for group in uses.chunk_by(|one, other| one.0 == other.0) {
            let var = group[0].0;
            while defs.peek().is_some_and(|place| place.0 < var) {
                defs.next();
            }
            while let Some(&&(_, block)) = defs.peek().filter(|place| place.0 == var) {
                defined[block as usize] = var;
                defs.next();
            }
            for &(_, block) in group {
                visited[block as usize] = var;
                open.push(block);
            }
            while let Some(block) = open.pop() {
                if steps == 0 {
                    self.of[var as usize] = Range {
                        start: 0,
                        end: self.end,
                    };
                    open.clear();
                    break;
                }
                steps -= 1;
                self.of[var as usize].add(self.block_starts[block as usize]);
                if Some(block) == entry && code.vars[var as usize].param.is_none() {
                    self.live_at_entry.push(var);
                }
                for edge in edges.to_block(block) {
                    let from = edge.from as usize;
                    if edge
                        .handler
                        .is_some_and(|index| code.handlers[index] == var)
                    {
                        continue;
                    }
                    steps = steps.saturating_sub(1);
                    self.of[var as usize].add(self.block_ends[from]);
                    // Any op of the block may raise, before it defines the variable, too.
                    let is_open = edge.handler.is_some() || defined[from] != var;
                    if is_open && visited[from] != var {
                        visited[from] = var;
                        open.push(edge.from);
                    }
                }
            }
        }
    }
}

/// A way from a block into another one: a jump, or a handler by its index.
struct Edge {
    from: u32,
    handler: Option<usize>,
}

/// The ways into each block.
struct Edges {
    lists: Vec<Vec<Edge>>,
}

impl Edges {
    fn of(code: &Code) -> Self {
        let function = &code.function;
        let covering = function.covering_handlers();
        let mut lists: Vec<Vec<Edge>> = Vec::new();
        lists.resize_with(function.blocks.len(), Vec::new);
        for (position, &block) in function.layout.iter().enumerate() {
            let mut add = |to: u32, handler: Option<usize>| {
                if let Some(list) = lists.get_mut(to as usize) {
                    list.push(Edge {
                        from: block,
                        handler,
                    });
                }
            };
            for to in function.successors(position) {
                add(to, None);
            }
            if let Some(index) = covering[block as usize]
                && !function.blocks[block as usize].instrs.is_empty()
            {
                add(function.handlers[index].target, Some(index));
            }
        }
        Self { lists }
    }

    fn to_block(&self, block: u32) -> &[Edge] {
        &self.lists[block as usize]
    }
}

/// A use of a variable that control can reach from the entry with no definition before it.
pub(super) fn first_read(code: &Code, var: u32) -> Option<&Instr> {
    let function = &code.function;
    let positions = function.positions();
    let covering = function.covering_handlers();
    let mut seen = vec![false; function.blocks.len()];
    let mut open = vec![*function.layout.first()?];
    while let Some(block) = open.pop() {
        let Some(position) = positions.get(block as usize).copied().flatten() else {
            continue;
        };
        if std::mem::replace(&mut seen[block as usize], true) {
            continue;
        }
        let mut is_defined = false;
        for (instr, operands) in code.block(block) {
            if operands.reads.contains(&var) {
                return Some(instr);
            }
            is_defined = operands.writes.contains(&var);
            if is_defined {
                break;
            }
        }
        let handler = covering[block as usize].filter(|&index| code.handlers[index] != var);
        open.extend(handler.map(|index| function.handlers[index].target));
        if !is_defined {
            open.extend(function.successors(position));
        }
    }
    None
}
