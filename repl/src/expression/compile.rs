//! Expressions to a function of assembly, through the builder that compilers use.

use std::collections::HashMap;

use assembler::AssembleOptions;
use assembler::builder::{Callee, Class, FunctionBuilder, FunctionId, ModuleBuilder, Reg, Value};
use vm::Datum;
use vm::host::standard_signature;
use vm::isa::*;
use vm::module::{Constant, Module};

use super::{Expr, ExprKind, Wrong};
use crate::program::Program;
use crate::render::LIST_TAG;
use crate::values::{Kind, Store, Value as Stored};

/// The host function that gives an object of the session, by its index in the parcel.
pub(crate) const VALUE_HOST: &str = "session_value";

/// An expression as a function.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The module; its entry is the expression's function, and the functions that it calls are
    /// there in name only.
    pub(crate) module: Module,
    /// What the results are, in the order in which they were written.
    pub(crate) kinds: Vec<Kind>,
    /// The objects that it uses: places in the store, in the order of the parcel.
    pub(crate) objects: Vec<u32>,
}

/// Compiles an expression; `name` is what its function is called, `line` its line.
pub(crate) fn compile(
    expr: &Expr,
    program: &Program,
    store: &Store,
    name: &str,
    line: u32,
) -> Result<Compiled, Wrong> {
    // The function must be declared before its body is known, but its results follow from the
    // body: so the body is compiled twice, the first time to learn of them.
    let (_, values, _) = compile_body(expr, program, store, name, line, None)?;
    let kinds: Vec<Kind> = values.iter().map(|value| value.kind).collect();
    let (module, _, objects) = compile_body(expr, program, store, name, line, Some(&kinds))?;
    let module = module.finish().map_err(|rejection| {
        let errors = rejection.errors.into_iter();
        let messages: Vec<String> = errors.map(|error| error.message).collect();
        Wrong::new(expr.column, messages.join("; "))
    })?;
    Ok(Compiled {
        module,
        kinds,
        objects,
    })
}

fn compile_body(
    expr: &Expr,
    program: &Program,
    store: &Store,
    name: &str,
    line: u32,
    results: Option<&[Kind]>,
) -> Result<(ModuleBuilder, Vec<Typed>, Vec<u32>), Wrong> {
    let options = AssembleOptions {
        file_name: name.to_owned(),
        ..AssembleOptions::default()
    };
    let mut module = ModuleBuilder::new(&options);
    let own = module.declare(name, signature(&[], results.unwrap_or_default()));
    module.set_entry(own);
    let file = module.file(name);
    let mut body = module.function(own);
    body.declared_at(file, line);
    body.at_line(file, line);
    let mut compiler = Compiler {
        module,
        body,
        program,
        store,
        callees: HashMap::new(),
        objects: Vec::new(),
    };
    let values = compiler.values(expr)?;
    let Compiler {
        mut module,
        mut body,
        objects,
        ..
    } = compiler;
    if results.is_some() {
        let values: Vec<Value> = values.iter().map(|value| value.value).collect();
        body.ret(&values);
        module.define(body);
    }
    Ok((module, values, objects))
}

/// A value that has been computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed {
    pub(super) value: Value,
    pub(super) kind: Kind,
}

pub(super) struct Compiler<'a> {
    pub(super) module: ModuleBuilder,
    pub(super) body: FunctionBuilder,
    pub(super) program: &'a Program,
    pub(super) store: &'a Store,
    /// The functions that are declared, by name.
    pub(super) callees: HashMap<String, FunctionId>,
    objects: Vec<u32>,
}

/// The class of the registers that hold values of a kind.
pub(super) fn class(kind: Kind) -> Class {
    match kind {
        Kind::Int | Kind::Float => Class::Int,
        Kind::Ref => Class::Ref,
    }
}

fn signature(params: &[Kind], results: &[Kind]) -> Signature {
    let count = |kinds: &[Kind], is_ref: bool| {
        let of_class = kinds.iter().filter(|&&kind| (kind == Kind::Ref) == is_ref);
        of_class.count().min(255) as u8
    };
    Signature {
        int_params: count(params, false),
        ref_params: count(params, true),
        int_results: count(results, false),
        ref_results: count(results, true),
    }
}

impl Compiler<'_> {
    /// All values of an expression: a call may have none, or several.
    pub(super) fn values(&mut self, expr: &Expr) -> Result<Vec<Typed>, Wrong> {
        match &expr.kind {
            ExprKind::Call(name, args) => self.call(expr.column, name, args),
            _ => Ok(vec![self.value(expr)?]),
        }
    }

    /// The one value of an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Typed, Wrong> {
        let typed = |value, kind| Ok(Typed { value, kind });
        match &expr.kind {
            ExprKind::Int(number) => typed(Value::Int(*number), Kind::Int),
            ExprKind::Float(number) => typed(Value::Float(*number), Kind::Float),
            ExprKind::Null => typed(Value::Null, Kind::Ref),
            ExprKind::Text(bytes) => {
                let id = self.module.constant(Constant::Text(bytes.clone()));
                typed(Value::Text(id), Kind::Ref)
            }
            ExprKind::Immediate(number) => {
                let reg = self.body.new_ref();
                self.immediate(reg, *number);
                typed(reg.into(), Kind::Ref)
            }
            ExprKind::List(items) => self.list(items),
            ExprKind::Record(tag, fields) => self.record(*tag, fields),
            ExprKind::Array(constant) => {
                let constant = ConstId(self.module.constant(constant.clone()));
                let reg = self.body.new_ref();
                let dst = ROut(reg.index);
                self.body.op(Op::Data { dst, constant });
                typed(reg.into(), Kind::Ref)
            }
            ExprKind::Name(name) => self.name(expr.column, name),
            ExprKind::Call(name, args) => match self.call(expr.column, name, args)?.as_slice() {
                [value] => Ok(*value),
                values => {
                    let message = format!("`{name}` gives {} values; one is wanted", values.len());
                    Err(Wrong::new(expr.column, message))
                }
            },
            ExprKind::Closure(name, captures) => self.closure(expr.column, name, captures),
            ExprKind::Binary(op, left, right) => self.binary(expr.column, *op, left, right),
            ExprKind::Negate(inner) => self.negate(inner),
            ExprKind::As(inner, kind) => {
                let value = self.value(inner)?;
                if value.kind == Kind::Ref {
                    let message = "`as` takes a number for another kind of number";
                    return Err(Wrong::new(expr.column, message));
                }
                // The bits stay what they are.
                let value = match value.value {
                    Value::Float(number) => Value::Int(number.to_bits() as i64),
                    other => other,
                };
                typed(value, *kind)
            }
        }
    }

    pub(super) fn int_reg(&mut self, value: Typed) -> u8 {
        let number = match value.value {
            Value::Reg(reg) => return reg.index,
            Value::Int(number) => number,
            Value::Float(number) => number.to_bits() as i64,
            Value::Null | Value::Text(_) | Value::Object(_) => 0,
        };
        let reg = self.body.new_int();
        self.int_into(reg, number);
        reg.index
    }

    pub(super) fn int_into(&mut self, reg: Reg, number: i64) {
        self.body.op(Op::Int {
            dst: IOut(reg.index),
            value: Int64(number),
        });
    }

    pub(super) fn ref_reg(&mut self, value: Typed) -> u8 {
        if let Value::Reg(reg) = value.value {
            return reg.index;
        }
        let reg = self.body.new_ref();
        self.ref_into(reg, value);
        reg.index
    }

    fn ref_into(&mut self, reg: Reg, value: Typed) {
        let dst = ROut(reg.index);
        self.body.op(match value.value {
            Value::Text(id) => Op::Text {
                dst,
                constant: ConstId(id),
            },
            Value::Reg(src) => Op::RMov {
                dst,
                src: RIn(src.index),
            },
            Value::Object(id) => Op::Constant {
                dst,
                constant: ConstId(id),
            },
            Value::Null | Value::Int(_) | Value::Float(_) => Op::Null { dst },
        });
    }

    fn immediate(&mut self, reg: Reg, number: i64) {
        let dst = ROut(reg.index);
        match i32::try_from(number) {
            Ok(number) => self.body.op(Op::Imm {
                dst,
                value: Int32(number),
            }),
            // It may not fit into 63 bits; then this faults.
            Err(_) => {
                let src = self.body.new_int();
                self.int_into(src, number);
                let src = IIn(src.index);
                self.body.op(Op::ToImm { dst, src });
            }
        }
    }

    fn name(&mut self, column: usize, name: &str) -> Result<Typed, Wrong> {
        if let Some(stored) = self.store.get(name) {
            return Ok(self.stored(stored));
        }
        if let Some((record, fields)) = name.split_once('.')
            && let Some(stored @ Stored::Ref(_)) = self.store.get(record)
        {
            let mut value = self.stored(stored);
            for field in fields.split('.') {
                value = self.field(column, value, field)?;
            }
            return Ok(value);
        }
        if self.program.function(name).is_some() || standard_signature(name).is_some() {
            let message = format!("`{name}` is a function: `{name}(..)` calls it");
            return Err(Wrong::new(column, message));
        }
        let message = format!("nothing is called `{name}`; `let {name} = ..` binds it");
        Err(Wrong::new(column, message))
    }

    fn field(&mut self, column: usize, of: Typed, field: &str) -> Result<Typed, Wrong> {
        let letter = field.get(..1).unwrap_or_default();
        let number = field.get(1..).and_then(|digits| digits.parse::<u8>().ok());
        let (kind, number) = match (letter, number) {
            ("i", Some(number)) => (Kind::Int, number),
            ("f", Some(number)) => (Kind::Float, number),
            ("r", Some(number)) => (Kind::Ref, number),
            _ => {
                let message = format!("a field is `.i0`, `.f0` or `.r0`, not `.{field}`");
                return Err(Wrong::new(column, message));
            }
        };
        if of.kind != Kind::Ref {
            let message = format!("a number has no field `.{field}`");
            return Err(Wrong::new(column, message));
        }
        let record = RIn(self.ref_reg(of));
        let reg = self.body.new_reg(class(kind));
        let field = Field(number);
        self.body.op(match kind {
            Kind::Ref => Op::LdR {
                dst: ROut(reg.index),
                record,
                field,
            },
            Kind::Int | Kind::Float => Op::LdI {
                dst: IOut(reg.index),
                record,
                field,
            },
        });
        let value = reg.into();
        Ok(Typed { value, kind })
    }

    pub(super) fn stored(&mut self, stored: Stored) -> Typed {
        let kind = stored.kind();
        let value = match stored {
            Stored::Int(number) => Value::Int(number),
            Stored::Float(bits) => Value::Int(bits as i64),
            Stored::Ref(Datum::Immediate(number)) => {
                let reg = self.body.new_ref();
                self.immediate(reg, number);
                reg.into()
            }
            Stored::Ref(Datum::Object(place)) => {
                let known = self.objects.iter().position(|&one| one == place);
                let index = known.unwrap_or_else(|| {
                    self.objects.push(place);
                    self.objects.len() - 1
                });
                let take = Signature {
                    int_params: 1,
                    ref_results: 1,
                    ..Signature::default()
                };
                let host = self.module.host(VALUE_HOST, take);
                let reg = self.body.new_ref();
                let index = Value::Int(index as i64);
                self.body.call(Callee::Host(host), &[index], &[reg]);
                reg.into()
            }
            Stored::Ref(Datum::Null | Datum::Unread) => Value::Null,
        };
        Typed { value, kind }
    }

    fn list(&mut self, items: &[Expr]) -> Result<Typed, Wrong> {
        let mut values: Vec<Typed> = items
            .iter()
            .map(|item| self.value(item))
            .collect::<Result<_, _>>()?;
        if values.iter().any(|one| one.kind == Kind::Float) {
            for value in values.iter_mut().filter(|one| one.kind == Kind::Int) {
                *value = self.float_of(*value);
            }
        }
        let is_refs = values.first().is_some_and(|one| one.kind == Kind::Ref);
        let same = |value: &&Typed| (value.kind == Kind::Ref) == is_refs;
        if let Some(index) = values.iter().position(|value| !same(&value)) {
            let message = "the elements of a list are all numbers or all references";
            return Err(Wrong::new(items[index].column, message));
        }
        let list = self.body.new_ref();
        self.body.op(Op::Null {
            dst: ROut(list.index),
        });
        // Literals need no registers of their own, so that long lists can be written.
        let (number, reference) = (self.body.new_int(), self.body.new_ref());
        for &value in values.iter().rev() {
            let (mut refs, mut ints) = (RegisterList::new(), RegisterList::new());
            refs.push(list.index);
            match (value.value, value.kind) {
                (Value::Reg(reg), Kind::Ref) => refs.push(reg.index),
                (Value::Reg(reg), _) => ints.push(reg.index),
                (_, Kind::Ref) => {
                    self.ref_into(reference, value);
                    refs.push(reference.index);
                }
                (Value::Float(double), _) => {
                    self.int_into(number, double.to_bits() as i64);
                    ints.push(number.index);
                }
                (Value::Int(int), _) => {
                    self.int_into(number, int);
                    ints.push(number.index);
                }
                (Value::Null | Value::Text(_) | Value::Object(_), _) => {}
            }
            self.body.op(Op::New {
                dst: ROut(list.index),
                tag: Tag(LIST_TAG),
                refs: RRegs(refs),
                ints: IRegs(ints),
            });
        }
        let value = list.into();
        Ok(Typed {
            value,
            kind: Kind::Ref,
        })
    }

    /// Values in registers, by class, in their order.
    pub(super) fn registers(
        &mut self,
        values: &[Expr],
    ) -> Result<(RegisterList, RegisterList), Wrong> {
        let (mut refs, mut ints) = (RegisterList::new(), RegisterList::new());
        for expr in values {
            let value = self.value(expr)?;
            match value.kind {
                Kind::Ref => refs.push(self.ref_reg(value)),
                Kind::Int | Kind::Float => ints.push(self.int_reg(value)),
            }
        }
        Ok((refs, ints))
    }

    fn record(&mut self, tag: u16, fields: &[Expr]) -> Result<Typed, Wrong> {
        let (refs, ints) = self.registers(fields)?;
        let reg = self.body.new_ref();
        self.body.op(Op::New {
            dst: ROut(reg.index),
            tag: Tag(tag),
            refs: RRegs(refs),
            ints: IRegs(ints),
        });
        let value = reg.into();
        Ok(Typed {
            value,
            kind: Kind::Ref,
        })
    }

    pub(super) fn float_of(&mut self, value: Typed) -> Typed {
        let kind = Kind::Float;
        match value.value {
            Value::Int(number) => Typed {
                value: Value::Float(number as f64),
                kind,
            },
            _ => {
                let src = IIn(self.int_reg(value));
                let reg = self.body.new_int();
                let dst = IOut(reg.index);
                self.body.op(Op::IToF { dst, src });
                let value = reg.into();
                Typed { value, kind }
            }
        }
    }
}
