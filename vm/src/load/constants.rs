//! The constants of a program as objects: made once, and shared by all machines that run it.

use crate::heap::{OutOfMemory, Statics, Value};
use crate::module::{Constant, Module};

/// The static objects of a program.
#[derive(Debug)]
pub(crate) struct Constants {
    /// For each constant of the module the reference to it; zero for one that is no object.
    pub(super) values: Vec<Value>,
    /// Owns the objects.
    _statics: Statics,
}

impl Constants {
    /// Makes the objects of a module's constants.
    ///
    /// # Errors
    /// When the system has no memory for them.
    pub(crate) fn new(module: &Module) -> Result<Self, OutOfMemory> {
        let mut statics = Statics::default();
        let mut make = |constant: &Constant| match constant {
            Constant::Text(bytes) => statics.text(bytes),
            _ => Ok(Value::ZERO),
        };
        let values = module.constants.iter().map(&mut make);
        let values = values.collect::<Result<_, _>>()?;
        Ok(Self {
            values,
            _statics: statics,
        })
    }
}
