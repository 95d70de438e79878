//! Calls: of functions, hosts and closures, with arguments of the right classes.

use assembler::builder::{Callee, Class, FunctionId, Reg};
use vm::host::standard_function;
use vm::isa::*;
use vm::module::Captures;
use vm::{Datum, ObjectData};

use super::compile::{Compiler, Typed, class};
use super::{Expr, Wrong};
use crate::program::Classes;
use crate::values::{Kind, Value as Stored};

impl Compiler<'_> {
    pub(super) fn closure(
        &mut self,
        column: usize,
        name: &str,
        captures: &[Expr],
    ) -> Result<Typed, Wrong> {
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

    pub(super) fn call(
        &mut self,
        column: usize,
        name: &str,
        args: &[Expr],
    ) -> Result<Vec<Typed>, Wrong> {
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
        if let Some(function) = standard_function(name) {
            let host = self.module.host(name, function.signature);
            let classes = Classes::of_host(function);
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
                        (Kind::Int, Kind::Float) => value = self.float_of(value),
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
}

fn no_function(name: &str) -> String {
    format!("no function is named `{name}`; `:functions` lists them")
}
