//! A session: what is loaded, and what each line does.

use std::fmt::Write;
use std::path::Path;

use assembler::vm::host::{HostIo, Hosts};
use assembler::vm::verify::verify;
use assembler::vm::{Outcome, RunError, Vm, VmConfig, module};
use assembler::{AssembleOptions, assemble};

/// What comes back for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Text to print, each line ended.
    Text(String),
    /// The session is over.
    Quit,
}

/// The commands, with what they take and do.
const COMMANDS: &[(&str, &str, &str)] = &[
    (":load", "FILE", "load a program, .bc or assembly"),
    (":functions", "", "list the program's functions"),
    (":run", "", "run the program's entry function"),
    (
        ":call",
        "FUNCTION [INT...]",
        "call a function of integers and show its results",
    ),
    (":help", "", "this list"),
    (":quit", "", "leave the session"),
];

/// An interactive session.
#[derive(Debug, Default)]
pub struct Session {
    vm: Option<Vm>,
}

impl Session {
    /// A session with nothing loaded.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does what a line says.
    pub fn answer(&mut self, line: &str) -> Reply {
        let mut words = line.split_whitespace();
        let Some(command) = words.next() else {
            return Reply::Text(String::new());
        };
        let arguments: Vec<&str> = words.collect();
        let result = match command {
            ":load" => self.load(&arguments),
            ":functions" => self.functions(),
            ":run" => self.run(),
            ":call" => self.call(&arguments),
            ":help" => Ok(help()),
            ":quit" => return Reply::Quit,
            _ => Err(format!("`{command}` is no command; :help lists them")),
        };
        Reply::Text(result.unwrap_or_else(|message| format!("error: {message}\n")))
    }

    fn load(&mut self, arguments: &[&str]) -> Result<String, String> {
        let [file] = arguments else {
            return Err("`:load` takes one file".into());
        };
        let bytes = std::fs::read(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
        let module = if module::strip_interpreter_line(&bytes).starts_with(&module::MAGIC) {
            module::read(&bytes).map_err(|error| format!("{file}: {error}"))?
        } else {
            let text = String::from_utf8(bytes).map_err(|_| format!("{file}: not UTF-8"))?;
            let options = AssembleOptions {
                file_name: file.to_string(),
                ..AssembleOptions::default()
            };
            assemble(&text, &options).map_err(|errors| {
                let shown = errors.iter().map(|error| error.render(file, &text));
                shown.collect::<Vec<_>>().join("\n")
            })?
        };
        let module = verify(module).map_err(|errors| {
            errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        let hosts = Hosts::standard(HostIo::process(Vec::new()));
        let vm = Vm::new(module, hosts, VmConfig::default()).map_err(|error| error.to_string())?;
        let count = vm.module().functions.len();
        self.vm = Some(vm);
        Ok(format!("{file}: {count} functions\n"))
    }

    fn vm(&mut self) -> Result<&mut Vm, String> {
        self.vm
            .as_mut()
            .ok_or_else(|| "nothing is loaded; `:load FILE` first".into())
    }

    fn functions(&mut self) -> Result<String, String> {
        let mut text = String::new();
        for function in &self.vm()?.module().functions {
            let _ = writeln!(text, "{} {}", function.name, function.signature);
        }
        Ok(text)
    }

    fn run(&mut self) -> Result<String, String> {
        let vm = self.vm()?;
        let result = vm.run();
        finish(vm, result)
    }

    fn call(&mut self, arguments: &[&str]) -> Result<String, String> {
        let vm = self.vm()?;
        let Some((name, numbers)) = arguments.split_first() else {
            return Err("`:call` takes a function and its arguments".into());
        };
        let index = vm.module().function_named(name);
        let index = index.ok_or_else(|| format!("no function is named `{name}`"))?;
        let function = &vm.module().functions[index as usize];
        let signature = function.signature;
        if function.captures.is_some() || signature.ref_params > 0 {
            return Err(format!(
                "`{name}` does not take integers alone: {signature}"
            ));
        }
        let numbers: Vec<i64> = numbers
            .iter()
            .map(|number| {
                number
                    .parse()
                    .map_err(|_| format!("`{number}` is no integer"))
            })
            .collect::<Result<_, String>>()?;
        if numbers.len() != signature.int_params as usize {
            return Err(format!(
                "`{name}` is {signature}, not of {} integers",
                numbers.len()
            ));
        }
        let result = vm.call(index, &numbers);
        finish(vm, result)
    }
}

fn finish(vm: &mut Vm, result: Result<Outcome, RunError>) -> Result<String, String> {
    vm.io().flush().map_err(|error| error.to_string())?;
    match result {
        Ok(Outcome::Returned(values)) => {
            let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
            Ok(if shown.is_empty() {
                String::new()
            } else {
                format!("{}\n", shown.join(", "))
            })
        }
        Ok(Outcome::ExitCode(code)) => Ok(format!("exit code {code}\n")),
        Err(error) => Err(vm.describe_error(&error).trim_end().to_owned()),
    }
}

fn help() -> String {
    let mut text = String::new();
    for (command, arguments, meaning) in COMMANDS {
        let form = format!("{command} {arguments}");
        let _ = writeln!(text, "{form:<30}{meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(session: &mut Session, line: &str) -> String {
        match session.answer(line) {
            Reply::Text(text) => text,
            Reply::Quit => panic!("the session ended"),
        }
    }

    #[test]
    fn a_file_is_loaded_and_its_functions_called() {
        let mut session = Session::new();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/fib.asm");
        assert!(text(&mut session, &format!(":load {file}")).contains("functions"));
        assert_eq!(text(&mut session, ":call fib 10"), "55\n");
    }

    #[test]
    fn errors_say_what_to_do() {
        let mut session = Session::new();
        assert_eq!(
            text(&mut session, ":run"),
            "error: nothing is loaded; `:load FILE` first\n"
        );
        assert_eq!(
            text(&mut session, "x"),
            "error: `x` is no command; :help lists them\n"
        );
    }
}
