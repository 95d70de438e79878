//! Expressions to a function of assembly, through the builder that compilers use.

use std::collections::HashMap;

use assembler::AssembleOptions;
use assembler::builder::{Callee, Class, FunctionBuilder, FunctionId, ModuleBuilder, Reg, Value};
use assembler::vm::host::standard_signature;
use assembler::vm::isa::*;
use assembler::vm::module::{Captures, Constant, Module};
use assembler::vm::{Datum, ObjectData};

use super::{Binary, Expr, ExprKind, Wrong};
use crate::program::{Classes, Program};
use crate::render::LIST_TAG;
use crate::values::{Kind, Store, Value as Stored};

/// The host function that gives an object of the session, by its index in the parcel.
pub(crate) const VALUE_HOST: &str = "session_value";

/// Host functions whose words of the `i` class are doubles.
pub(crate) const FLOAT_HOSTS: [&str; 7] =
    ["print_float", "sin", "cos", "exp", "ln", "atan2", "pow"];

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
    let module = module.finish().map_err(|errors| {
        let messages: Vec<String> = errors.into_iter().map(|error| error.message).collect();
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
struct Typed {
    value: Value,
    kind: Kind,
}

struct Compiler<'a> {
    module: ModuleBuilder,
    body: FunctionBuilder,
    program: &'a Program,
    store: &'a Store,
    /// The functions that are declared, by name.
    callees: HashMap<String, FunctionId>,
    objects: Vec<u32>,
}

/// The class of the registers that hold values of a kind.
fn class(kind: Kind) -> Class {
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
    fn values(&mut self, expr: &Expr) -> Result<Vec<Typed>, Wrong> {
        match &expr.kind {
            ExprKind::Call(name, args) => self.call(expr.column, name, args),
            _ => Ok(vec![self.value(expr)?]),
        }
    }

    /// The one value of an expression.
    fn value(&mut self, expr: &Expr) -> Result<Typed, Wrong> {
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

    fn int_reg(&mut self, value: Typed) -> u8 {
        let number = match value.value {
            Value::Reg(reg) => return reg.index,
            Value::Int(number) => number,
            Value::Float(number) => number.to_bits() as i64,
            Value::Null | Value::Text(_) => 0,
        };
        let reg = self.body.new_int();
        self.int_into(reg, number);
        reg.index
    }

    fn int_into(&mut self, reg: Reg, number: i64) {
        self.body.op(Op::Int {
            dst: IOut(reg.index),
            value: Int64(number),
        });
    }

    fn ref_reg(&mut self, value: Typed) -> u8 {
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
        if let Some((record, field)) = name.rsplit_once('.')
            && let Some(Stored::Ref(datum)) = self.store.get(record)
        {
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
            let record = self.stored(Stored::Ref(datum));
            let record = RIn(self.ref_reg(record));
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
            return Ok(Typed { value, kind });
        }
        if self.program.function(name).is_some() || standard_signature(name).is_some() {
            let message = format!("`{name}` is a function: `{name}(..)` calls it");
            return Err(Wrong::new(column, message));
        }
        let message = format!("nothing is called `{name}`; `let {name} = ..` binds it");
        Err(Wrong::new(column, message))
    }

    fn stored(&mut self, stored: Stored) -> Typed {
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
        let values: Vec<Typed> = items
            .iter()
            .map(|item| self.value(item))
            .collect::<Result<_, _>>()?;
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
                (Value::Null | Value::Text(_), _) => {}
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
    fn registers(&mut self, values: &[Expr]) -> Result<(RegisterList, RegisterList), Wrong> {
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

    fn closure(&mut self, column: usize, name: &str, captures: &[Expr]) -> Result<Typed, Wrong> {
        let Some(known) = self.program.function(name) else {
            return Err(Wrong::new(column, no_function(name)));
        };
        let Some(wanted) = known.captures else {
            let message = format!("`{name}` is no closure's function: `{name}(..)` calls it");
            return Err(Wrong::new(column, message));
        };
        let function = self.declare(name, known.signature, known.captures);
        let (refs, ints) = self.registers(captures)?;
        if (refs.len(), ints.len()) != (wanted.refs as usize, wanted.ints as usize) {
            let message = format!(
                "`{name}` captures {} i and {} r, not {} and {}",
                wanted.ints,
                wanted.refs,
                ints.len(),
                refs.len()
            );
            return Err(Wrong::new(column, message));
        }
        let reg = self.body.new_ref();
        self.body.op(Op::Closure {
            dst: ROut(reg.index),
            function: FuncId(function.0),
            refs: RRegs(refs),
            ints: IRegs(ints),
        });
        let value = reg.into();
        Ok(Typed {
            value,
            kind: Kind::Ref,
        })
    }

    /// A function of this name, declared with a body that is never linked.
    fn declare(
        &mut self,
        name: &str,
        signature: Signature,
        captures: Option<Captures>,
    ) -> FunctionId {
        if let Some(&known) = self.callees.get(name) {
            return known;
        }
        let id = match captures {
            Some(captures) => self.module.declare_closure(name, signature, captures),
            None => self.module.declare(name, signature),
        };
        let mut stub = self.module.function(id);
        let label = stub.label();
        stub.bind(label);
        stub.op(Op::Jmp {
            target: Target(label.0),
        });
        self.module.define(stub);
        self.callees.insert(name.to_owned(), id);
        id
    }

    fn call(&mut self, column: usize, name: &str, args: &[Expr]) -> Result<Vec<Typed>, Wrong> {
        if let Some(stored) = self.store.get(name) {
            return self.call_value(column, name, stored, args);
        }
        if let Some(known) = self.program.function(name) {
            if known.captures.is_some() {
                let message = format!(
                    "`{name}` is a closure's function: `let f = {name}{{..}}`, then `f(..)`"
                );
                return Err(Wrong::new(column, message));
            }
            let function = self.declare(name, known.signature, None);
            let classes = self.program.classes(name);
            let callee = Callee::Function(function.0);
            return self.call_callee(column, name, callee, &classes, args);
        }
        if let Some(signature) = standard_signature(name) {
            let host = self.module.host(name, signature);
            let mut classes = Classes::of(signature);
            if FLOAT_HOSTS.contains(&name) {
                classes = classes.with_floats();
            }
            return self.call_callee(column, name, Callee::Host(host), &classes, args);
        }
        Err(Wrong::new(column, no_function(name)))
    }

    fn call_value(
        &mut self,
        column: usize,
        name: &str,
        stored: Stored,
        args: &[Expr],
    ) -> Result<Vec<Typed>, Wrong> {
        let object = match stored {
            Stored::Ref(Datum::Object(place)) => self.store.object(place),
            _ => None,
        };
        let Some(ObjectData::Closure { function, .. }) = object else {
            return Err(Wrong::new(column, format!("`{name}` is no closure")));
        };
        let function = self.store.function(*function).to_owned();
        let Some(known) = self.program.function(&function) else {
            let message = format!("`{name}` is a closure of `{function}`, which is gone");
            return Err(Wrong::new(column, message));
        };
        let classes = self.program.classes(&function);
        let closure = self.stored(stored);
        let register = self.ref_reg(closure);
        let callee = Callee::Closure {
            register,
            signature: known.signature,
        };
        self.call_callee(column, name, callee, &classes, args)
    }

    fn call_callee(
        &mut self,
        column: usize,
        name: &str,
        callee: Callee,
        classes: &Classes,
        args: &[Expr],
    ) -> Result<Vec<Typed>, Wrong> {
        let ints: Vec<Kind> = classes.params_of_class(Class::Int);
        let refs = classes.params_of_class(Class::Ref);
        let (mut n_ints, mut n_refs) = (0, 0);
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let mut value = self.value(arg)?;
            match value.kind {
                Kind::Ref => n_refs += 1,
                Kind::Int | Kind::Float => {
                    let wanted = ints.get(n_ints).copied().unwrap_or(value.kind);
                    n_ints += 1;
                    match (value.kind, wanted) {
                        (Kind::Int, Kind::Float) => value = self.to_float(value),
                        (Kind::Float, Kind::Int) if classes.is_exact => {
                            let message = format!("`{name}` wants an integer here");
                            return Err(Wrong::new(arg.column, message));
                        }
                        _ => {}
                    }
                }
            }
            values.push(value.value);
        }
        if (n_ints, n_refs) != (ints.len(), refs.len()) {
            let message = format!("`{name}` is {classes}: it takes other arguments");
            return Err(Wrong::new(column, message));
        }
        let results: Vec<Typed> = classes
            .results
            .iter()
            .map(|&kind| Typed {
                value: self.body.new_reg(class(kind)).into(),
                kind,
            })
            .collect();
        let registers: Vec<Reg> = results.iter().filter_map(|one| one.value.reg()).collect();
        self.body.call(callee, &values, &registers);
        Ok(results)
    }

    fn to_float(&mut self, value: Typed) -> Typed {
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

    fn negate(&mut self, inner: &Expr) -> Result<Typed, Wrong> {
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

    fn binary(
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
            (Kind::Float, Kind::Int) => rhs = self.to_float(rhs),
            (Kind::Int, Kind::Float) => lhs = self.to_float(lhs),
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

fn no_function(name: &str) -> String {
    format!("no function is named `{name}`; `:functions` lists them")
}
