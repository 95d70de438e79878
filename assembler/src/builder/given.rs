//! What is given to a builder as it is: ops that call, and values that are passed.

use vm::isa::Op;

use crate::ir::*;

/// A call, tail call or return that was given as an op, with its arguments and results in place.
pub(super) fn explicit(
    op: &Op,
    program: &Program,
    own: &vm::isa::Signature,
) -> Result<Option<Action>, String> {
    let call = |callee, ints: u8, refs: u8| {
        let signature = program.checked_signature(callee)?;
        let args = registers(ints, signature.int_params, refs, signature.ref_params)?;
        let results = registers(ints, signature.int_results, refs, signature.ref_results)?;
        let args = args.into_iter().map(Value::Reg).collect();
        Ok::<_, String>(Call {
            callee,
            args,
            results,
            windows: Some((ints, refs)),
        })
    };
    let action = match op {
        Op::Call {
            function,
            ints,
            refs,
        } => Action::Call(call(Callee::Function(function.0), ints.0, refs.0)?),
        Op::CallHost { host, ints, refs } => {
            Action::Call(call(Callee::Host(host.0), ints.0, refs.0)?)
        }
        Op::CallClosure {
            closure,
            sig,
            ints,
            refs,
        } => {
            let callee = Callee::Closure {
                register: closure.0,
                signature: sig.0,
            };
            Action::Call(call(callee, ints.0, refs.0)?)
        }
        Op::TailCall { function } => {
            let callee = Callee::Function(function.0);
            Action::TailCall(callee, call(callee, 0, 0)?.args)
        }
        Op::TailCallClosure { closure, sig } => {
            let callee = Callee::Closure {
                register: closure.0,
                signature: sig.0,
            };
            Action::TailCall(callee, call(callee, 0, 0)?.args)
        }
        Op::Ret {} => {
            let results = registers(0, own.int_results, 0, own.ref_results)?;
            Action::Ret(results.into_iter().map(Value::Reg).collect())
        }
        _ => return Ok(None),
    };
    Ok(Some(action))
}

fn registers(ints: u8, int_count: u8, refs: u8, ref_count: u8) -> Result<Vec<Reg>, String> {
    let list = |class, first: u8, count: u8| {
        (0..count).map(move |offset| {
            let index = first
                .checked_add(offset)
                .ok_or("these windows end behind register 255")?;
            Ok(Reg { class, index })
        })
    };
    list(Class::Int, ints, int_count)
        .chain(list(Class::Ref, refs, ref_count))
        .collect()
}

/// Checks that a call or return passes as many values of each class as are wanted.
pub(super) fn check_values(
    action: &Action,
    program: &Program,
    own: &vm::isa::Signature,
) -> Result<(), String> {
    let count = |classes: &mut dyn Iterator<Item = Class>| {
        let mut counts = (0, 0);
        classes.for_each(|class| match class {
            Class::Int => counts.0 += 1,
            Class::Ref => counts.1 += 1,
        });
        counts
    };
    let check = |what: &str, wanted: (u8, u8), values: &mut dyn Iterator<Item = Class>| {
        let (ints, refs): (usize, usize) = count(values);
        if (ints, refs) == (wanted.0 as usize, wanted.1 as usize) {
            return Ok(());
        }
        let (want_ints, want_refs) = wanted;
        Err(format!(
            "{what}: {want_ints} i and {want_refs} r are wanted, not {ints} and {refs}"
        ))
    };
    let args = |callee, args: &[Value]| {
        let signature = program.checked_signature(callee)?;
        let wanted = (signature.int_params, signature.ref_params);
        check(
            "arguments",
            wanted,
            &mut args.iter().map(|value| value.class()),
        )?;
        Ok::<_, String>(signature)
    };
    match action {
        Action::Call(call) => {
            let signature = args(call.callee, &call.args)?;
            let wanted = (signature.int_results, signature.ref_results);
            check(
                "results",
                wanted,
                &mut call.results.iter().map(|reg| reg.class),
            )?;
            let mut seen = std::collections::HashSet::new();
            match call.results.iter().all(|reg| seen.insert(*reg)) {
                true => Ok(()),
                false => Err("two results of this call go to one register".into()),
            }
        }
        Action::TailCall(Callee::Host(_), _) => Err("a host function cannot be tail-called".into()),
        Action::TailCall(callee, values) => args(*callee, values).map(|_| ()),
        Action::Ret(values) => {
            let wanted = (own.int_results, own.ref_results);
            check(
                "results",
                wanted,
                &mut values.iter().map(|value| value.class()),
            )
        }
        _ => Ok(()),
    }
}
