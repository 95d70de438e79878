//! The standard host functions, as far as what they do can be told before.

use vm::Fault;

use super::control::REGISTERS;
use super::data::format_float;
use super::heap::{Object, Value};
use super::{End, Machine};

/// Why a host function does not return to the program.
#[derive(Debug)]
pub(super) enum HostEnd {
    /// A fault that the program can handle.
    Fault(Fault),
    /// The end of the run.
    Run(End),
}

impl Machine<'_> {
    /// Calls a host function with the windows at these absolute slots.
    pub(super) fn call_host(
        &mut self,
        name: &str,
        ints: usize,
        refs: usize,
    ) -> Result<(), HostEnd> {
        let word = self.ints[ints];
        let double = f64::from_bits(word as u64);
        let second = f64::from_bits(self.ints[ints + 1] as u64);
        let mut result = |value: f64| self.ints[ints] = value.to_bits() as i64;
        match name {
            "sin" => result(double.sin()),
            "cos" => result(double.cos()),
            "exp" => result(double.exp()),
            "ln" => result(double.ln()),
            "atan2" => result(double.atan2(second)),
            "pow" => result(double.powf(second)),
            "print" => {
                let text = self.printed(self.refs[refs])?;
                self.output.extend(text);
            }
            "eprint" => {
                let text = self.printed(self.refs[refs])?;
                self.errors.extend(text);
            }
            "print_int" => self.output.extend(word.to_string().into_bytes()),
            "print_float" => self.output.extend(format_float(double).into_bytes()),
            // There is no input.
            "read_line" => {
                self.ints[ints] = 0;
                self.refs[refs] = self.allocate(Object::Text(Vec::new()));
            }
            "arg_count" => self.ints[ints] = self.arguments.len() as i64,
            "arg" => {
                let index = usize::try_from(word).ok();
                let argument = index.and_then(|index| self.arguments.get(index)).cloned();
                let argument = argument.ok_or(HostEnd::Fault(Fault::HostFailed))?;
                self.refs[refs] = self.allocate(Object::Text(argument));
            }
            "exit" => return Err(HostEnd::Run(End::ExitCode(word as u8))),
            "gc" => {
                let registers = self.refs[..self.frame().refs + REGISTERS].iter();
                let roots: Vec<Value> = registers.chain(&self.global_refs).copied().collect();
                self.heap.collect(roots.into_iter());
            }
            _ => panic!("no program of the generator calls `{name}`"),
        }
        Ok(())
    }

    /// What a host function that wants a string takes as one.
    fn printed(&self, value: Value) -> Result<Vec<u8>, HostEnd> {
        match self.heap.object(value) {
            Ok(Object::Text(bytes) | Object::Bytes(bytes)) => Ok(bytes.clone()),
            _ => Err(HostEnd::Fault(Fault::HostFailed)),
        }
    }
}
