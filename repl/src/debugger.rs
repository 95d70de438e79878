//! Stopping a run: at the start of functions, and op by op.
//!
//! A run that may stop is loaded with a host call before each op, on a thread of its own. Where
//! it stops, that call sends what there is to see and waits. Other runs know nothing of this.

use std::collections::{BTreeSet, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use assembler::probe::{Hooked, hook_ops};
use vm::host::{HostCall, HostError, Hosts};
use vm::isa::{Operand, Signature};
use vm::module::{Function, Module};
use vm::{Backtrace, Interrupt, Location, ReadBack};

use crate::evaluate::{self, Asked, Limits, Prepared, Ran};
use crate::io::SessionIo;
use crate::render::{self, Shape};
use crate::values::{Parcel, Store, Value};

/// The host function that is called before each op.
const HOOK: &str = "session_hook";
/// Objects that the registers may lead to and are shown.
const SHOWN_OBJECTS: usize = 1000;
/// The signal that an end on demand is told as.
const ABORT: u8 = 1;

/// Breakpoints, and the run that is stopped.
#[derive(Debug, Default)]
pub(crate) struct Debugger {
    pub(crate) breakpoints: BTreeSet<String>,
    stopped: Option<Running>,
}

/// A run on its thread.
#[derive(Debug)]
struct Running {
    go: Sender<Go>,
    events: Receiver<Event>,
    thread: JoinHandle<()>,
    module: Module,
    hooked: Hooked,
    /// Where it stopped; none while it runs.
    stop: Option<Stop>,
    prepared: Prepared,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Go {
    Step,
    Continue,
    Abort,
}

#[derive(Debug)]
enum Event {
    Stopped(Stop),
    Done(Box<Result<Ran, String>>),
}

/// What there is to see where a run stopped.
#[derive(Debug)]
struct Stop {
    at: Location,
    backtrace: Backtrace,
    ints: Vec<i64>,
    refs: ReadBack,
}

/// What came of going on.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The run stopped again; this says where.
    Stopped(String),
    /// The run is over.
    Done {
        result: Box<Result<Ran, String>>,
        prepared: Box<Prepared>,
        names: Vec<String>,
    },
}

impl Debugger {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Starts a run that stops at breakpoints, and waits for what comes first.
    pub(crate) fn start(
        &mut self,
        prepared: Prepared,
        names: Vec<String>,
        io: SessionIo,
        limits: Limits,
        asked: Asked,
        interrupt: Interrupt,
    ) -> Result<Progress, String> {
        let module = prepared.module.clone();
        let hooked = hook_ops(&module, HOOK);
        let wanted: HashSet<u32> = (0..)
            .zip(&module.functions)
            .filter(|(_, function)| self.breakpoints.contains(&function.name))
            .map(|(index, _)| index)
            .collect();
        let (go, commands) = channel();
        let (report, events) = channel();
        let probed = Prepared {
            text: prepared.text.clone(),
            module: hooked.module.clone(),
            kinds: prepared.kinds.clone(),
            parcel: prepared.parcel.clone(),
            versions: Vec::new(),
        };
        let mut hook = Hook {
            hooked: hooked.clone(),
            registers: module.functions.iter().map(registers_of).collect(),
            breakpoints: wanted,
            is_stepping: false,
            commands,
            report: report.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("stopped run".into())
            .spawn(move || {
                let offer = |hosts: &mut Hosts| {
                    hosts.offer(HOOK, Signature::default(), move |call| hook.call(call));
                };
                let io = io.host(Vec::new());
                let ran = evaluate::run_with(&probed, io, limits, asked, &interrupt, offer);
                let ran = ran.map(|(ran, _)| ran);
                // If nobody waits any more, the session is over.
                let _ = report.send(Event::Done(Box::new(ran)));
            })
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let running = Running {
            go,
            events,
            thread,
            module,
            hooked,
            stop: None,
            prepared,
            names,
        };
        Ok(self.wait(running))
    }

    /// Does one op.
    pub(crate) fn step(&mut self) -> Result<Progress, String> {
        self.go(Go::Step)
    }

    /// Goes on to the next breakpoint or the end.
    pub(crate) fn resume(&mut self) -> Result<Progress, String> {
        self.go(Go::Continue)
    }

    /// Ends the run that is stopped.
    pub(crate) fn abort(&mut self) -> Result<(), String> {
        let running = self.stopped.take().ok_or(NOT_STOPPED)?;
        // A thread that has ended by itself hears nothing.
        let _ = running.go.send(Go::Abort);
        let _ = running.thread.join();
        Ok(())
    }

    fn go(&mut self, go: Go) -> Result<Progress, String> {
        let running = self.stopped.take().ok_or(NOT_STOPPED)?;
        // If the thread is gone, waiting tells so.
        let _ = running.go.send(go);
        Ok(self.wait(running))
    }

    fn wait(&mut self, mut running: Running) -> Progress {
        match running.events.recv() {
            Ok(Event::Stopped(stop)) => {
                running.stop = Some(stop);
                let text = running.place();
                self.stopped = Some(running);
                Progress::Stopped(text)
            }
            Ok(Event::Done(result)) => {
                let _ = running.thread.join();
                Progress::Done {
                    result,
                    prepared: Box::new(running.prepared),
                    names: running.names,
                }
            }
            Err(_) => Progress::Done {
                result: Box::new(Err("the run's thread has gone".into())),
                prepared: Box::new(running.prepared),
                names: running.names,
            },
        }
    }

    /// The calls that are open, innermost first.
    pub(crate) fn stack(&self) -> Result<String, String> {
        let running = self.stopped.as_ref().ok_or(NOT_STOPPED)?;
        let Some(stop) = &running.stop else {
            return Err(NOT_STOPPED.into());
        };
        let mut text = String::new();
        let line = |location: &Location| format!("  in {}\n", running.describe(*location));
        text.extend(stop.backtrace.innermost.iter().map(line));
        if stop.backtrace.n_skipped > 0 {
            text += &format!("  ... {} more calls\n", stop.backtrace.n_skipped);
        }
        text.extend(stop.backtrace.outermost.iter().map(line));
        Ok(text)
    }

    /// The registers of the innermost function.
    pub(crate) fn registers(&self, shape: Shape) -> Result<String, String> {
        let running = self.stopped.as_ref().ok_or(NOT_STOPPED)?;
        let Some(stop) = &running.stop else {
            return Err(NOT_STOPPED.into());
        };
        let mut store = Store::default();
        let name_of = |index: u32| {
            let function = running.module.functions.get(index as usize);
            function.map_or_else(String::new, |one| one.name.clone())
        };
        let refs = store.take_back(&Parcel::default(), stop.refs.clone(), name_of);
        let mut text = String::new();
        for (register, number) in stop.ints.iter().enumerate() {
            text += &format!("i{register} = {number}\n");
        }
        for (register, datum) in refs.into_iter().enumerate() {
            let shown = render::value(&store, Value::Ref(datum), shape);
            text += &format!("r{register} = {shown}\n");
        }
        match text.is_empty() {
            true => Ok("this function uses no registers\n".into()),
            false => Ok(text),
        }
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        // Nothing is stopped, or it ends now.
        let _ = self.abort();
    }
}

const NOT_STOPPED: &str = "no run is stopped; `:break FUNCTION` stops one where it starts";

impl Running {
    /// Where the run stopped: the place, and the op that comes next.
    fn place(&self) -> String {
        let Some(stop) = &self.stop else {
            return String::new();
        };
        let function = &self.module.functions[stop.at.function as usize];
        let origin = self.hooked.origin(stop.at.function, stop.at.offset);
        let mut ops = function.ops().map_while(Result::ok);
        let index = ops.position(|(offset, _)| Some(offset) == origin);
        let text = assembler::print_ops(&self.module, function);
        let mut lines = text
            .lines()
            .filter(|line| line.starts_with("    ") && !line.trim_start().starts_with('.'));
        let op = index.and_then(|index| lines.nth(index)).unwrap_or("");
        format!("stopped in {}\n{op}\n", self.describe(stop.at))
    }

    fn describe(&self, at: Location) -> String {
        let function = &self.module.functions[at.function as usize];
        let origin = self.hooked.origin(at.function, at.offset);
        match origin.and_then(|offset| function.line_at(offset)) {
            Some(line) => {
                let file = self.module.files.get(line.file as usize);
                let file = file.map_or("?", String::as_str);
                format!("{} ({file}:{})", function.name, line.line)
            }
            None => function.name.clone(),
        }
    }
}

/// What stands behind the host function.
struct Hook {
    hooked: Hooked,
    /// For each function how many registers of each class it uses.
    registers: Vec<(u8, u8)>,
    breakpoints: HashSet<u32>,
    is_stepping: bool,
    commands: Receiver<Go>,
    report: Sender<Event>,
}

impl Hook {
    fn call(&mut self, call: &mut HostCall) -> Result<(), HostError> {
        let Some(at) = call.location() else {
            return Ok(());
        };
        let is_start = || self.hooked.origin(at.function, at.offset) == Some(0);
        let is_wanted = || self.breakpoints.contains(&at.function) && is_start();
        if !self.is_stepping && !is_wanted() {
            return Ok(());
        }
        let (ints, refs) = self.registers[at.function as usize];
        let stop = Stop {
            at,
            backtrace: call.backtrace(),
            ints: call.caller_ints(ints),
            refs: call.caller_refs(refs, SHOWN_OBJECTS),
        };
        if self.report.send(Event::Stopped(stop)).is_err() {
            return Err(HostError::Interrupted(ABORT));
        }
        match self.commands.recv() {
            Ok(Go::Step) => self.is_stepping = true,
            Ok(Go::Continue) => self.is_stepping = false,
            Ok(Go::Abort) | Err(_) => return Err(HostError::Interrupted(ABORT)),
        }
        Ok(())
    }
}

/// One more than the highest register of each class that a function names.
fn registers_of(function: &Function) -> (u8, u8) {
    let signature = function.signature;
    let refs = signature.ref_params as usize + function.captures.is_some() as usize;
    let (mut ints, mut refs) = (signature.int_params as usize, refs);
    for (_, op) in function.ops().map_while(Result::ok) {
        for operand in op.operands() {
            match operand {
                Operand::IIn(register) | Operand::IOut(register) => {
                    ints = ints.max(register as usize + 1);
                }
                Operand::RIn(register) | Operand::ROut(register) => {
                    refs = refs.max(register as usize + 1);
                }
                Operand::IRegs(list) => {
                    let most = list.iter().max().map_or(0, |&most| most as usize + 1);
                    ints = ints.max(most);
                }
                Operand::RRegs(list) => {
                    let most = list.iter().max().map_or(0, |&most| most as usize + 1);
                    refs = refs.max(most);
                }
                _ => {}
            }
        }
    }
    (ints.min(255) as u8, refs.min(255) as u8)
}
