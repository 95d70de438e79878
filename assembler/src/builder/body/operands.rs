//! Ops by their mnemonics: operands are checked against the table's roles, and constants become
//! part of the op where it has an immediate form.

use std::sync::LazyLock;

use smallvec::SmallVec;
use vm::isa::{
    Access, ImmediateForm, MAX_LIST_REGISTERS, MAX_TARGETS, OPS, Op, OpInfo, Opcode, Operand,
    OperandInfo, Role,
};

use super::{Body, Reads, Writes};
use crate::builder::BuildError;
use crate::builder::value::{Arg, IntoArgs, Kind, Var};
use crate::ir::{Reg, Value};

/// What an operand is, for messages.
pub(super) fn describe(arg: &Arg) -> String {
    match arg {
        Arg::Var(var) => format!("a variable of kind {}", var.kind.letter()),
        Arg::Int(value) => format!("the integer {value}"),
        Arg::Float(value) => format!("the double {value:?}"),
        Arg::Null => "null".into(),
        Arg::Constant(_) | Arg::Object(_) => "a constant of the pool".into(),
        Arg::IntGlobal(_) => "a global word".into(),
        Arg::RefGlobal(_) => "a global reference".into(),
        Arg::Label(_) => "a label".into(),
        Arg::Labels(_) => "a list of labels".into(),
        Arg::List(_) => "a list".into(),
        Arg::Function(_) => "a function".into(),
        Arg::Source(_) => "a source".into(),
    }
}

/// By opcode, whether an operand is a double: sentences are long, and most ops have none.
static HAS_DOUBLES: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut has_doubles = [false; 256];
    for info in OPS {
        has_doubles[info.opcode as usize] = info.doc.contains("f[");
    }
    has_doubles
});

/// What a register operand holds: the row's sentence calls a double `f[operand]`.
fn kind_of(info: &OpInfo, operand: &OperandInfo) -> Kind {
    let is_named = |rest: &str| {
        let behind = rest.strip_prefix(operand.name);
        behind.is_some_and(|rest| rest.starts_with(']'))
    };
    match operand.role {
        Role::RIn | Role::ROut | Role::RRegs => Kind::Ref,
        _ if !HAS_DOUBLES[info.opcode as usize] => Kind::Int,
        _ if info.doc.split("f[").skip(1).any(is_named) => Kind::Float,
        _ => Kind::Int,
    }
}

/// Whether the op moves bits without looking at them, so that doubles and integers are the same.
fn moves_bits(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Mov | Opcode::StI | Opcode::StGI | Opcode::StCapI
    )
}

/// Ops whose operands are a matter of signatures, and the method that knows them.
fn method_for(opcode: Opcode) -> Option<&'static str> {
    Some(match opcode {
        Opcode::Call | Opcode::CallHost => "Body::call",
        Opcode::CallClosure => "Body::call_closure",
        Opcode::TailCall => "Body::tail_call",
        Opcode::TailCallClosure => "Body::tail_call_closure",
        Opcode::Ret => "Body::ret",
        _ => return None,
    })
}

/// The row and operands of the immediate form, when one of the operands is a constant for which
/// there is one.
fn fold(info: &'static OpInfo, args: &[Arg]) -> Option<(&'static OpInfo, Vec<Arg>)> {
    let written = info.n_written();
    for place in 1..args.len() {
        if let Some(form) = info.immediate_form(written + place)
            && let Some(value) = immediate(&args[place], form)
        {
            let mut args = args.to_vec();
            args[place] = value;
            return Some((form.row, args));
        }
    }
    let form = info.swapped_form()?;
    let value = immediate(args.first()?, form)?;
    let mut args = args.to_vec();
    args[0] = value;
    args.swap(0, 1);
    Some((form.row, args))
}

/// A constant as a form's immediate, if it can be one.
fn immediate(arg: &Arg, form: ImmediateForm) -> Option<Arg> {
    let operand = match arg {
        Arg::Int(value) => form.immediate(*value),
        Arg::Float(value) => form.immediate_float(*value),
        _ => None,
    };
    match operand? {
        Operand::Int32(value) => Some(Arg::Int(value.into())),
        Operand::Float64(value) => Some(Arg::Float(value)),
        _ => None,
    }
}

/// The operands that the op does not write. Those that it writes stand first.
fn inputs(info: &'static OpInfo) -> &'static [OperandInfo] {
    &info.operands[info.n_written()..]
}

/// The operands of an op, as they are put together.
#[derive(Default)]
struct Parts {
    operands: SmallVec<[Operand; 4]>,
    writes: Writes,
    reads: Reads,
}

impl Body {
    /// Adds an op by its mnemonic, with the operands that it does not write, in the table's order;
    /// its results are fresh variables.
    ///
    /// ```
    /// # use assembler::AssembleOptions;
    /// # use assembler::builder::{Kind, ModuleBuilder};
    /// # use vm::isa::Signature;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut module = ModuleBuilder::new(&AssembleOptions::default());
    /// # let signature = Signature { ref_params: 1, int_results: 1, ..Default::default() };
    /// # let f = module.declare("f", signature);
    /// # let mut b = module.body(f);
    /// let parsed = b.op("int_of_str", [b.param(Kind::Ref, 0)?])?;
    /// let double = b.op_one("add", (parsed[0], parsed[0]))?;
    /// b.op_to("mul", &[double], (double, parsed[1]))?;
    /// b.ret([double])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When nothing has this mnemonic, or an operand is not what its role wants.
    pub fn op(&mut self, mnemonic: &str, args: impl IntoArgs) -> Result<Vec<Var>, BuildError> {
        let args = args.into_args();
        let info = self.row(mnemonic)?;
        let mut results = Vec::new();
        for operand in &info.operands[..info.operands.len() - inputs(info).len()] {
            let kind = match args.first() {
                Some(Arg::Var(var)) if info.opcode == Opcode::Mov => var.kind,
                _ => kind_of(info, operand),
            };
            results.push(self.var(kind));
        }
        self.op_of(info, &results, args)?;
        Ok(results)
    }

    /// As [`Body::op`], for an op with one result.
    ///
    /// # Errors
    /// Also when it has another number of results.
    pub fn op_one(&mut self, mnemonic: &str, args: impl IntoArgs) -> Result<Var, BuildError> {
        let results = self.op(mnemonic, args)?;
        self.one(results, mnemonic)
    }

    /// Adds an op by its mnemonic that writes to these variables.
    ///
    /// # Errors
    /// As for [`Body::op`].
    pub fn op_to(
        &mut self,
        mnemonic: &str,
        results: &[Var],
        args: impl IntoArgs,
    ) -> Result<(), BuildError> {
        let info = self.row(mnemonic)?;
        self.op_of(info, results, args.into_args())
    }

    fn row(&self, mnemonic: &str) -> Result<&'static OpInfo, BuildError> {
        let Some(opcode) = Opcode::from_mnemonic(mnemonic) else {
            return Err(self.error(mnemonic, "no op has this mnemonic"));
        };
        match method_for(opcode) {
            Some(method) => Err(self.error(mnemonic, format!("`{method}` adds this op"))),
            None => Ok(opcode.info()),
        }
    }

    fn op_of(
        &mut self,
        info: &'static OpInfo,
        results: &[Var],
        args: Vec<Arg>,
    ) -> Result<(), BuildError> {
        let n_inputs = inputs(info).len();
        let n_written = info.operands.len() - n_inputs;
        if (results.len(), args.len()) != (n_written, n_inputs) {
            let message = format!(
                "{n_written} results and {n_inputs} operands are wanted, not {} and {}",
                results.len(),
                args.len()
            );
            return Err(self.error(info.mnemonic, message));
        }
        let (info, args) = fold(info, &args).unwrap_or((info, args));
        let mut parts = Parts::default();
        for (&var, operand) in results.iter().zip(info.operands) {
            self.check_own(info.mnemonic, var)?;
            let kind = kind_of(info, operand);
            if var.kind != kind && !(moves_bits(info.opcode) && var.kind.class() == kind.class()) {
                return Err(self.unfit(info, operand, &Arg::Var(var)));
            }
            parts.writes.push(var.number);
            parts.operands.push(match kind {
                Kind::Ref => Operand::ROut(0),
                Kind::Int | Kind::Float => Operand::IOut(0),
            });
        }
        for (arg, operand) in args.into_iter().zip(inputs(info)) {
            let part = self.operand(info, operand, arg, &mut parts.reads)?;
            parts.operands.push(part);
        }
        match Op::from_operands(info.opcode, &parts.operands) {
            Some(op) => {
                self.push_op(op, parts.writes, parts.reads);
                Ok(())
            }
            None => Err(self.error(info.mnemonic, "these operands do not fit the op")),
        }
    }

    fn unfit(&self, info: &OpInfo, operand: &OperandInfo, arg: &Arg) -> BuildError {
        let wanted = match operand.role.access() {
            Access::None => operand.role.description().0.to_owned(),
            _ => kind_of(info, operand).letter().to_string(),
        };
        let message = format!(
            "`{}` is of kind {wanted}; {} does not fit",
            operand.name,
            describe(arg)
        );
        self.error(info.mnemonic, message)
    }

    fn operand(
        &mut self,
        info: &'static OpInfo,
        operand: &'static OperandInfo,
        arg: Arg,
        reads: &mut Reads,
    ) -> Result<Operand, BuildError> {
        let kind = kind_of(info, operand);
        let plain = match (operand.role, &arg) {
            (Role::IIn | Role::RIn, _) => {
                let is_loose = moves_bits(info.opcode);
                reads.push(self.input(info, operand, kind, is_loose, arg)?);
                return Ok(match kind {
                    Kind::Ref => Operand::RIn(0),
                    Kind::Int | Kind::Float => Operand::IIn(0),
                });
            }
            (Role::IRegs | Role::RRegs, Arg::List(list)) if list.len() <= MAX_LIST_REGISTERS => {
                let zeros = std::iter::repeat_n(0, list.len()).collect();
                let Arg::List(list) = arg else {
                    unreachable!("matched above")
                };
                for item in list {
                    reads.push(self.input(info, operand, kind, true, item)?);
                }
                return Ok(match kind {
                    Kind::Ref => Operand::RRegs(zeros),
                    Kind::Int | Kind::Float => Operand::IRegs(zeros),
                });
            }
            (Role::Int64, Arg::Int(value)) => Some(Operand::Int64(*value)),
            (Role::Float64, Arg::Float(value)) => Some(Operand::Float64(*value)),
            (Role::Int32, Arg::Int(value)) => i32::try_from(*value).ok().map(Operand::Int32),
            (Role::Field, Arg::Int(value)) => u8::try_from(*value).ok().map(Operand::Field),
            (Role::Tag, Arg::Int(value)) => u16::try_from(*value).ok().map(Operand::Tag),
            (Role::Target, Arg::Label(label)) => Some(Operand::Target(label.0)),
            (Role::Targets, Arg::Labels(list)) if list.len() <= MAX_TARGETS => {
                let list = list.iter().map(|label| label.0).collect();
                Some(Operand::Targets(list))
            }
            (Role::IntGlobal, Arg::IntGlobal(id)) => Some(Operand::IntGlobal(*id)),
            (Role::RefGlobal, Arg::RefGlobal(id)) => Some(Operand::RefGlobal(*id)),
            (Role::FuncId, Arg::Function(id)) => Some(Operand::FuncId(id.0)),
            (Role::ConstId, Arg::Constant(id) | Arg::Object(id)) => Some(Operand::ConstId(*id)),
            (Role::SourceRef, Arg::Source(id)) => Some(Operand::SourceRef(*id)),
            _ => None,
        };
        plain.ok_or_else(|| self.unfit(info, operand, &arg))
    }

    /// The variable of an operand that is read; a constant is loaded into a fresh one.
    fn input(
        &mut self,
        info: &'static OpInfo,
        operand: &'static OperandInfo,
        kind: Kind,
        is_loose: bool,
        arg: Arg,
    ) -> Result<u32, BuildError> {
        if let Arg::Var(var) = arg {
            self.check_own(info.mnemonic, var)?;
            let fits = match is_loose {
                true => var.kind.class() == kind.class(),
                false => var.kind == kind,
            };
            if fits {
                return Ok(var.number);
            }
        }
        let kind = match arg {
            Arg::Float(_) if is_loose && kind == Kind::Int => Kind::Float,
            _ => kind,
        };
        if matches!(arg, Arg::Var(_)) || !self.fits(kind, &arg) {
            return Err(self.unfit(info, operand, &arg));
        }
        let var = self.var(kind);
        self.load_to(var, arg)?;
        Ok(var.number)
    }

    /// Whether a constant is of this kind.
    pub(super) fn fits(&self, kind: Kind, arg: &Arg) -> bool {
        matches!(
            (kind, arg),
            (Kind::Int, Arg::Int(_))
                | (Kind::Float, Arg::Float(_))
                | (Kind::Ref, Arg::Null | Arg::Constant(_) | Arg::Object(_))
        )
    }

    /// Puts a constant that fits into a variable.
    pub(super) fn load_to(&mut self, var: Var, arg: Arg) -> Result<(), BuildError> {
        self.check_own("def", var)?;
        let value = match arg {
            Arg::Int(value) => Value::Int(value),
            Arg::Float(value) => Value::Float(value),
            Arg::Constant(id) => Value::Text(id),
            Arg::Object(id) => Value::Object(id),
            _ => Value::Null,
        };
        let dst = Reg {
            class: var.kind.class(),
            index: 0,
        };
        if let Some(op) = crate::pass::move_op(dst, value) {
            self.push_op(op, Writes::from_elem(var.number, 1), Reads::new());
        }
        Ok(())
    }
}
