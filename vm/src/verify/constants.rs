//! The checks of constants and of what globals hold at the start.

use super::error::VerifyErrorKind;
use crate::module::{ConstRef, Constant, Function, Module};

/// The most fields of a class that a record has.
const MAX_FIELDS: usize = u8::MAX as usize;

/// Checks that constants can be made one after the other, and that globals have values.
pub(super) fn check_constants(module: &Module) -> Result<(), VerifyErrorKind> {
    for (index, constant) in (0..).zip(&module.constants) {
        for &reference in constant.refs() {
            check_reference(reference, index).map_err(|named| match named {
                Wrong::Index(named) => VerifyErrorKind::ConstantAhead {
                    constant: index,
                    named,
                },
                Wrong::Number(number) => VerifyErrorKind::ImmediateTooLarge { number },
            })?;
        }
        match constant {
            Constant::Record { refs, ints, .. } if refs.len().max(ints.len()) > MAX_FIELDS => {
                return Err(VerifyErrorKind::RecordTooLarge { constant: index });
            }
            Constant::Closure {
                function,
                refs,
                ints,
            } => check_captures(module, *function, refs.len(), ints.len())?,
            _ => {}
        }
    }
    for global in &module.globals.refs {
        let checked = check_reference(global.value, module.constants.len() as u32);
        checked.map_err(|wrong| match wrong {
            Wrong::Index(constant) => VerifyErrorKind::NoConstant { constant },
            Wrong::Number(number) => VerifyErrorKind::ImmediateTooLarge { number },
        })?;
    }
    Ok(())
}

/// What is wrong with a reference.
enum Wrong {
    /// No constant of this index is there.
    Index(u32),
    /// The immediate is too large.
    Number(i64),
}

/// Checks a reference that may name the first `count` constants.
fn check_reference(reference: ConstRef, count: u32) -> Result<(), Wrong> {
    match reference {
        ConstRef::Constant(index) if index >= count => Err(Wrong::Index(index)),
        ConstRef::Immediate(number) if number << 1 >> 1 != number => Err(Wrong::Number(number)),
        _ => Ok(()),
    }
}

/// Checks that a closure of a function captures as much as the function wants.
pub(super) fn check_captures(
    module: &Module,
    function: u32,
    n_refs: usize,
    n_ints: usize,
) -> Result<(), VerifyErrorKind> {
    let callee = function_of(module, function)?;
    let name = || callee.name.clone();
    let Some(wanted) = callee.captures else {
        return Err(VerifyErrorKind::NotAClosure { name: name() });
    };
    if (n_refs, n_ints) != (wanted.refs as usize, wanted.ints as usize) {
        return Err(VerifyErrorKind::WrongCaptures {
            name: name(),
            wanted,
            refs: n_refs,
            ints: n_ints,
        });
    }
    Ok(())
}

/// The function of an index.
pub(super) fn function_of(module: &Module, id: u32) -> Result<&Function, VerifyErrorKind> {
    let function = module.functions.get(id as usize);
    function.ok_or(VerifyErrorKind::NoFunction { function: id })
}
