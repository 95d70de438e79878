//! Superinstructions: which runs of ops become one word.
//!
//! Each pattern is tried at each op, the longest first. A run is fused only when nothing can jump
//! into its middle and all of its ops have the same exception handler; the fused handler does the
//! same writes in the same order. Patterns were chosen by what the benchmark programs execute
//! most; ARCHITECTURE.md has the measurements.

use super::lower::Lowering;
use super::select::{by_mode, r};
use crate::code::{Handler, Mode};
use crate::interp::handlers::{fused, mode};
use crate::isa::*;

/// The handler of a comparison's op in a family of fused handlers.
macro_rules! by_comparison {
    ($op:expr; $($variant:ident => $handler:expr,)+) => {
        match $op {
            $( Op::$variant { lhs, rhs, target } => {
                Some(($handler as Handler, lhs.0, rhs.0, target.0))
            } )+
            _ => None,
        }
    };
}

impl<'a> Lowering<'a> {
    /// Fuses ops from `position` on, if a pattern fits, and says how many.
    pub(super) fn fuse(&mut self, position: usize) -> Option<usize> {
        let [first] = self.fusible::<1>(position)?;
        match first {
            Op::Mov { .. } => self
                .fuse_moves(position)
                .or_else(|| self.fuse_with_ret(position)),
            Op::RMov { .. } => self
                .fuse_ref_moves(position)
                .or_else(|| self.fuse_with_ret(position)),
            Op::Int { .. } => self.fuse_with_ret(position),
            Op::AddImm { .. } => self
                .fuse_counting(position)
                .or_else(|| self.fuse_add_call(position))
                .or_else(|| self.fuse_with_ret(position)),
            Op::Add { .. } => self
                .fuse_counting(position)
                .or_else(|| self.fuse_with_ret(position)),
            Op::FMul { .. } => self.fuse_multiply(position),
            _ => self.fuse_branch_or_ret(position),
        }
    }

    /// `op; ret`.
    fn fuse_with_ret(&mut self, position: usize) -> Option<usize> {
        let [first, Op::Ret {}] = self.fusible(position)? else {
            return None;
        };
        let mode = self.config.mode();
        match first {
            Op::Mov { dst, src } => {
                self.emit(by_mode!(fused::mov_ret, mode), [dst.0, src.0, 0, 0], 0);
            }
            Op::RMov { dst, src } => {
                self.emit(
                    by_mode!(fused::rmov_ret, mode),
                    [r(dst.0), r(src.0), 0, 0],
                    0,
                );
            }
            Op::Int { dst, value } => {
                let small = i32::try_from(value.0).ok()?;
                self.emit(by_mode!(fused::int_ret, mode), [dst.0, 0, 0, 0], small);
            }
            Op::Add { dst, lhs, rhs } => {
                self.emit(by_mode!(fused::add_ret, mode), [dst.0, lhs.0, rhs.0, 0], 0);
            }
            Op::AddImm { dst, lhs, rhs } => {
                self.emit(
                    by_mode!(fused::add_imm_ret, mode),
                    [dst.0, lhs.0, 0, 0],
                    rhs.0,
                );
            }
            _ => return None,
        }
        Some(2)
    }

    /// Two or three moves of integers, the last two perhaps with the jump behind them.
    fn fuse_moves(&mut self, position: usize) -> Option<usize> {
        let [Op::Mov { dst: a, src: b }, Op::Mov { dst: c, src: d }] = self.fusible(position)?
        else {
            return None;
        };
        let operands = [a.0, b.0, c.0, d.0];
        if let Some([_, _, Op::Mov { dst, src }]) = self.fusible(position) {
            self.emit(
                fused::mov3,
                operands,
                i32::from_le_bytes([dst.0, src.0, 0, 0]),
            );
            return Some(3);
        }
        match self.fusible(position) {
            Some([_, _, last])
                if self.emit_moves_and_jump(operands, last, self.op_of(position + 2)) =>
            {
                Some(3)
            }
            _ => {
                self.emit(fused::mov2, operands, 0);
                Some(2)
            }
        }
    }

    fn fuse_ref_moves(&mut self, position: usize) -> Option<usize> {
        let [Op::RMov { dst: a, src: b }, Op::RMov { dst: c, src: d }] = self.fusible(position)?
        else {
            return None;
        };
        self.emit(fused::rmov2, [r(a.0), r(b.0), r(c.0), r(d.0)], 0);
        Some(2)
    }

    /// `add` of a constant, then a call, a tail call or a jump.
    fn fuse_add_call(&mut self, position: usize) -> Option<usize> {
        let [Op::AddImm { dst, lhs, rhs }, last] = self.fusible(position)? else {
            return None;
        };
        if let Op::Call {
            function,
            ints,
            refs,
        } = last
        {
            let operands = [ints.0, refs.0, dst.0, lhs.0];
            let addend = rhs.0 as i64 as u64;
            if !self.is_profiled() {
                self.emit_call(fused::add_imm_call, operands, function.0);
                self.emit_data(addend, 0);
                return Some(2);
            }
            let callee = self.callee(function.0);
            let handler = by_mode!(fused::add_imm_call_profiled, callee.mode, callee.is_counted);
            self.emit_call(handler, operands, function.0);
            self.emit_data(addend, 0);
            self.emit_callee(callee);
            return Some(2);
        }
        let [low, high] = i16::try_from(rhs.0).ok()?.to_le_bytes();
        let operands = [dst.0, lhs.0, low, high];
        match last {
            Op::Jmp { target } => self.emit_jump(fused::add_imm_jump, operands, target.0),
            Op::TailCall { function } if !self.is_profiled() => {
                self.emit_call(fused::add_imm_jump, operands, function.0);
            }
            Op::TailCall { function } if self.config.mode() != Mode::Stack => {
                let callee = self.tail_callee(function.0, self.op_of(position + 1));
                let handler = by_mode!(fused::add_imm_tail_call, callee.mode, callee.is_counted);
                self.emit_call(handler, operands, function.0);
                self.emit_callee(callee);
            }
            _ => return None,
        }
        Some(2)
    }

    /// The word of two moves and the jump or tail call behind them; `false` when there is none.
    fn emit_moves_and_jump(&mut self, operands: [u8; 4], last: &Op, last_op: usize) -> bool {
        match last {
            Op::Jmp { target } => self.emit_jump(fused::mov2_jump, operands, target.0),
            Op::TailCall { function } if !self.is_profiled() => {
                self.emit_call(fused::mov2_jump, operands, function.0);
            }
            Op::TailCall { function } if self.config.mode() != Mode::Stack => {
                let callee = self.tail_callee(function.0, last_op);
                let handler = by_mode!(fused::mov2_tail_call, callee.mode, callee.is_counted);
                self.emit_call(handler, operands, function.0);
                self.emit_callee(callee);
            }
            _ => return false,
        }
        true
    }

    /// The end of a counting loop: a register is advanced and compared, and the loop goes on.
    fn fuse_counting(&mut self, position: usize) -> Option<usize> {
        let [first, last] = self.fusible(position)?;
        let (counter, step) = match first {
            Op::AddImm { dst, lhs, rhs } if dst.0 == lhs.0 => {
                (dst.0, Err(i8::try_from(rhs.0).ok()? as u8))
            }
            Op::Add { dst, lhs, rhs } if dst.0 == lhs.0 && dst.0 != rhs.0 => (dst.0, Ok(rhs.0)),
            _ => return None,
        };
        let by_register = match step {
            Ok(register) => {
                let found = by_comparison! { last;
                    Jlt => fused::sum_jlt, Jle => fused::sum_jle, Jgt => fused::sum_jgt,
                    Jge => fused::sum_jge, Jne => fused::sum_jne,
                };
                found.map(|(handler, lhs, rhs, target)| (handler, lhs, rhs, target, register))
            }
            Err(constant) => {
                let found = by_comparison! { last;
                    Jlt => fused::add_jlt, Jle => fused::add_jle, Jgt => fused::add_jgt,
                    Jge => fused::add_jge, Jne => fused::add_jne,
                };
                found.map(|(handler, lhs, rhs, target)| (handler, lhs, rhs, target, constant))
            }
        };
        if let Some((handler, lhs, limit, target, step)) = by_register {
            if lhs != counter || limit == counter || !self.is_back(target) {
                return None;
            }
            self.emit_jump(handler, [counter, limit, 0, step], target);
            return Some(2);
        }
        let step = step.err()?;
        let (handler, lhs, limit, target) = by_comparison! { last;
            JltImm => fused::add_jlt_imm, JleImm => fused::add_jle_imm,
            JgtImm => fused::add_jgt_imm, JgeImm => fused::add_jge_imm,
            JneImm => fused::add_jne_imm,
        }?;
        if lhs != counter || !self.is_back(target) {
            return None;
        }
        let [low, high] = i16::try_from(limit).ok()?.to_le_bytes();
        self.emit_jump(handler, [counter, low, high, step], target);
        Some(2)
    }

    /// A multiplication of doubles and what is done with it.
    fn fuse_multiply(&mut self, position: usize) -> Option<usize> {
        let [Op::FMul { dst, lhs, rhs }, second] = self.fusible(position)? else {
            return None;
        };
        let (handler, to, x, y) = match second {
            Op::FAdd { dst, lhs, rhs } => (fused::fmul_fadd as Handler, dst, lhs, rhs),
            Op::FSub { dst, lhs, rhs } => (fused::fmul_fsub as Handler, dst, lhs, rhs),
            Op::FMul { dst, lhs, rhs } => (fused::fmul_fmul as Handler, dst, lhs, rhs),
            _ => return None,
        };
        let operands = [dst.0, lhs.0, rhs.0, to.0];
        self.emit(handler, operands, i32::from_le_bytes([x.0, y.0, 0, 0]));
        Some(2)
    }

    /// A forward branch around a return: `if test goto e, else return`.
    fn fuse_branch_or_ret(&mut self, position: usize) -> Option<usize> {
        let (count, result) = match self.fusible(position) {
            Some([_, Op::Mov { dst, src }, Op::Ret {}]) => (3, [src.0, dst.0]),
            _ => match self.fusible(position)? {
                [_, Op::Ret {}] => (2, [0, 0]),
                _ => return None,
            },
        };
        let [branch] = self.fusible(position)?;
        let mode = self.config.mode();
        let by_register = by_comparison! { branch;
            Jeq => by_mode!(fused::jeq_or_ret, mode), Jne => by_mode!(fused::jne_or_ret, mode),
            Jlt => by_mode!(fused::jlt_or_ret, mode), Jle => by_mode!(fused::jle_or_ret, mode),
            Jgt => by_mode!(fused::jgt_or_ret, mode), Jge => by_mode!(fused::jge_or_ret, mode),
        };
        let by_immediate = by_comparison! { branch;
            JeqImm => by_mode!(fused::jeq_imm_or_ret, mode),
            JneImm => by_mode!(fused::jne_imm_or_ret, mode),
            JltImm => by_mode!(fused::jlt_imm_or_ret, mode),
            JleImm => by_mode!(fused::jle_imm_or_ret, mode),
            JgtImm => by_mode!(fused::jgt_imm_or_ret, mode),
            JgeImm => by_mode!(fused::jge_imm_or_ret, mode),
        };
        let (handler, lhs, rhs, target) = match (by_register, by_immediate) {
            (Some(found), _) => found,
            (None, Some((handler, lhs, rhs, target))) => {
                (handler, lhs, i8::try_from(rhs).ok()? as u8, target)
            }
            (None, None) => return None,
        };
        if self.is_back(target) {
            return None;
        }
        self.emit_jump(handler, [lhs, rhs, result[0], result[1]], target);
        Some(count)
    }
}
