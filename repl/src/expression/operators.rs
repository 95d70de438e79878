//! Operators: the ops that they are, by the kinds of their operands.

use assembler::builder::Reg;
use vm::isa::*;

use super::compile::{Compiler, Typed};
use super::{Binary, Expr, ExprKind, Wrong};
use crate::values::Kind;

impl Compiler<'_> {
    pub(super) fn negate(&mut self, inner: &Expr) -> Result<Typed, Wrong> {
        let value = self.value(inner)?;
        if value.kind == Kind::Ref {
            return Err(Wrong::new(inner.column, "`-` takes a number"));
        }
        let src = IIn(self.int_reg(value));
        let reg = self.body.new_int();
        let dst = IOut(reg.index);
        self.body.op(match value.kind {
            Kind::Float => Op::FNeg { dst, src },
            _ => Op::Neg { dst, src },
        });
        let value_of = reg.into();
        Ok(Typed {
            value: value_of,
            kind: value.kind,
        })
    }

    pub(super) fn binary(
        &mut self,
        column: usize,
        op: Binary,
        left: &Expr,
        right: &Expr,
    ) -> Result<Typed, Wrong> {
        let is_text = |expr: &Expr| matches!(expr.kind, ExprKind::Text(_));
        let has_text = is_text(left) || is_text(right);
        let (mut lhs, mut rhs) = (self.value(left)?, self.value(right)?);
        match (lhs.kind, rhs.kind) {
            (Kind::Ref, Kind::Ref) => return self.binary_refs(column, op, lhs, rhs, has_text),
            (Kind::Ref, _) | (_, Kind::Ref) => {
                let message = "a number and a reference cannot be taken together";
                return Err(Wrong::new(column, message));
            }
            (Kind::Float, Kind::Int) => rhs = self.float_of(rhs),
            (Kind::Int, Kind::Float) => lhs = self.float_of(lhs),
            _ => {}
        }
        let is_float = lhs.kind == Kind::Float;
        let (lhs, rhs) = (IIn(self.int_reg(lhs)), IIn(self.int_reg(rhs)));
        let reg = self.body.new_int();
        let dst = IOut(reg.index);
        let kind = match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem if is_float => {
                Kind::Float
            }
            _ => Kind::Int,
        };
        // `a > b` is `b < a`.
        let (lhs, rhs) = match op {
            Binary::Gt | Binary::Ge => (rhs, lhs),
            _ => (lhs, rhs),
        };
        self.body.op(match (op, is_float) {
            (Binary::Add, false) => Op::Add { dst, lhs, rhs },
            (Binary::Sub, false) => Op::Sub { dst, lhs, rhs },
            (Binary::Mul, false) => Op::Mul { dst, lhs, rhs },
            (Binary::Div, false) => Op::Quot { dst, lhs, rhs },
            (Binary::Rem, false) => Op::Rem { dst, lhs, rhs },
            (Binary::Eq, false) => Op::Eq { dst, lhs, rhs },
            (Binary::Ne, false) => Op::Ne { dst, lhs, rhs },
            (Binary::Lt | Binary::Gt, false) => Op::Lt { dst, lhs, rhs },
            (Binary::Le | Binary::Ge, false) => Op::Le { dst, lhs, rhs },
            (Binary::Add, true) => Op::FAdd { dst, lhs, rhs },
            (Binary::Sub, true) => Op::FSub { dst, lhs, rhs },
            (Binary::Mul, true) => Op::FMul { dst, lhs, rhs },
            (Binary::Div, true) => Op::FDiv { dst, lhs, rhs },
            (Binary::Rem, true) => {
                return Err(Wrong::new(column, "`%` takes integers"));
            }
            (Binary::Eq | Binary::Ne, true) => Op::FEq { dst, lhs, rhs },
            (Binary::Lt | Binary::Gt, true) => Op::FLt { dst, lhs, rhs },
            (Binary::Le | Binary::Ge, true) => Op::FLe { dst, lhs, rhs },
        });
        if op == Binary::Ne && is_float {
            self.invert(reg);
        }
        let value = reg.into();
        Ok(Typed { value, kind })
    }

    fn binary_refs(
        &mut self,
        column: usize,
        op: Binary,
        lhs: Typed,
        rhs: Typed,
        has_text: bool,
    ) -> Result<Typed, Wrong> {
        let (lhs, rhs) = (RIn(self.ref_reg(lhs)), RIn(self.ref_reg(rhs)));
        if op == Binary::Add {
            let reg = self.body.new_ref();
            let dst = ROut(reg.index);
            self.body.op(Op::Cat { dst, lhs, rhs });
            let value = reg.into();
            return Ok(Typed {
                value,
                kind: Kind::Ref,
            });
        }
        let is_order = matches!(op, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge);
        if !is_order && !matches!(op, Binary::Eq | Binary::Ne) {
            let message = "references can be compared, and strings added";
            return Err(Wrong::new(column, message));
        }
        let reg = self.body.new_int();
        let dst = IOut(reg.index);
        if is_order || has_text {
            self.body.op(Op::Cmp { dst, lhs, rhs });
            let zero = self.body.new_int();
            self.int_into(zero, 0);
            let (result, zero) = (IIn(reg.index), IIn(zero.index));
            let dst = IOut(reg.index);
            let (lhs, rhs) = match op {
                Binary::Gt | Binary::Ge => (zero, result),
                _ => (result, zero),
            };
            self.body.op(match op {
                Binary::Eq => Op::Eq { dst, lhs, rhs },
                Binary::Ne => Op::Ne { dst, lhs, rhs },
                Binary::Lt | Binary::Gt => Op::Lt { dst, lhs, rhs },
                _ => Op::Le { dst, lhs, rhs },
            });
        } else {
            self.body.op(Op::Same { dst, lhs, rhs });
            if op == Binary::Ne {
                self.invert(reg);
            }
        }
        let value = reg.into();
        Ok(Typed {
            value,
            kind: Kind::Int,
        })
    }

    /// 1 for 0, and 0 for 1.
    fn invert(&mut self, reg: Reg) {
        self.body.op(Op::RSubImm {
            dst: IOut(reg.index),
            lhs: IIn(reg.index),
            rhs: Int32(1),
        });
    }
}
