//! Constants as static objects, and what globals hold at the start.

use crate::code::{Globals, LoadedFunction};
use crate::heap::{
    ObjectKind, OutOfMemory, Statics, Value, array_header, closure_header, record_header,
};
use crate::isa::{ConstId, Op};
use crate::module::{ConstRef, Constant, Module};
use crate::verify::VerifiedModule;

/// Makes the constants that somebody refers to, and gives each at its index. Those that are only
/// copied by `data` stay where they are.
pub(super) fn make_statics(
    module: &VerifiedModule,
    functions: &[*const LoadedFunction],
    objects: &mut Statics,
) -> Result<Vec<Value>, OutOfMemory> {
    let is_wanted = wanted(module);
    let mut statics = Vec::with_capacity(module.constants.len());
    for (constant, &is_wanted) in module.constants.iter().zip(&is_wanted) {
        statics.push(match is_wanted {
            true => objects.object(&words_of(constant, &statics, functions))?,
            false => Value::ZERO,
        });
    }
    Ok(statics)
}

/// For each constant whether an op, a global or another constant refers to it.
fn wanted(module: &VerifiedModule) -> Vec<bool> {
    let mut is_wanted = vec![false; module.constants.len()];
    for op in module.facts().iter().flat_map(|facts| &facts.ops) {
        if let Op::Constant {
            constant: ConstId(id),
            ..
        }
        | Op::Text {
            constant: ConstId(id),
            ..
        } = op
        {
            is_wanted[*id as usize] = true;
        }
    }
    let mut note = |reference: &ConstRef| {
        if let ConstRef::Constant(index) = reference {
            is_wanted[*index as usize] = true;
        }
    };
    let globals = module.globals.refs.iter().map(|global| &global.value);
    globals.for_each(&mut note);
    all_refs(module).for_each(&mut note);
    is_wanted
}

fn all_refs(module: &Module) -> impl Iterator<Item = &ConstRef> {
    module.constants.iter().flat_map(Constant::refs)
}

/// The words of a constant's object. Constants that it refers to are made already.
fn words_of(
    constant: &Constant,
    statics: &[Value],
    functions: &[*const LoadedFunction],
) -> Vec<u64> {
    let refs = |refs: &[ConstRef]| -> Vec<u64> {
        refs.iter().map(|&one| value_of(one, statics).0).collect()
    };
    let raw = |ints: &[i64]| -> Vec<u64> { ints.iter().map(|&one| one as u64).collect() };
    let array = |kind, length: usize, elements: Vec<u64>| {
        [vec![array_header(kind), length as u64], elements].concat()
    };
    match constant {
        Constant::Text(bytes) => array(ObjectKind::Text, bytes.len(), padded(bytes)),
        Constant::Bytes(bytes) => array(ObjectKind::ByteArray, bytes.len(), padded(bytes)),
        Constant::Ints(ints) => array(ObjectKind::IntArray, ints.len(), raw(ints)),
        Constant::Floats(floats) => {
            let elements = floats.iter().map(|float| float.to_bits()).collect();
            array(ObjectKind::FloatArray, floats.len(), elements)
        }
        Constant::Refs(all) => array(ObjectKind::RefArray, all.len(), refs(all)),
        Constant::Record {
            tag,
            refs: all,
            ints,
        } => {
            let header = record_header(*tag, all.len() as u8, ints.len() as u8);
            [vec![header], refs(all), raw(ints)].concat()
        }
        Constant::Closure {
            function,
            refs: all,
            ints,
        } => {
            let header = closure_header(all.len() as u8, ints.len() as u8);
            let function = functions[*function as usize].expose_provenance() as u64;
            [vec![header, function], refs(all), raw(ints)].concat()
        }
    }
}

/// What globals hold in a new machine.
pub(super) fn first_globals(module: &Module, statics: &[Value]) -> Globals {
    let ints = module.globals.ints.iter();
    let refs = module.globals.refs.iter();
    Globals {
        ints: ints.map(|global| global.value as u64).collect(),
        refs: refs
            .map(|global| value_of(global.value, statics).0)
            .collect(),
    }
}

/// A reference that is known before the program runs.
fn value_of(reference: ConstRef, statics: &[Value]) -> Value {
    match reference {
        ConstRef::Null => Value::null(),
        ConstRef::Immediate(number) => Value::immediate(number).unwrap_or(Value::ZERO),
        ConstRef::Constant(index) => statics[index as usize],
    }
}

/// Bytes as words, the last one filled up with zeros.
fn padded(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
