//! A session: what is defined, bound, kept and set, and what each entry does. It knows no
//! terminal: an entry goes in, a text comes out.

use std::path::Path;
use std::rc::Rc;

use assembler::OptLevel;
use profiler::{DEFAULT_HZ, Kind};
use vm::module::Module;
use vm::{GcStress, HeapStats, Interrupt, Outcome, ReadBack};

use crate::commands;
use crate::debugger::{Debugger, Progress};
use crate::evaluate::{self, Asked, Cost, Failure, Limits, Prepared, Spent};
use crate::expression::{self, Compiled, Input};
use crate::io::SessionIo;
use crate::program::{Defined, Program, classes_of};
use crate::recording::{MemoryRecordings, Recording, Wanted, make_runs};
use crate::render::{self, Shape};
use crate::runs::{Run, Runs};
use crate::validate;
use crate::values::{Kind as ValueKind, Store, Value};

/// The most objects that a value may have which is only shown.
const SHOWN_OBJECTS: usize = 10_000;
/// The most objects that values may have which are kept.
const KEPT_OBJECTS: usize = 4 << 20;

/// What comes back for an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Text to print, each line ended.
    Text(String),
    /// The session is over.
    Quit,
}

/// An interactive session.
#[derive(Debug)]
pub struct Session {
    pub(crate) program: Program,
    pub(crate) store: Store,
    pub(crate) runs: Runs,
    pub(crate) settings: Settings,
    pub(crate) io: SessionIo,
    pub(crate) interrupt: Interrupt,
    /// The profile that evaluations add to while it is on.
    pub(crate) recording: Option<Recording>,
    /// The memory profile that evaluations add to while it is on.
    pub(crate) memory: MemoryRecordings,
    /// What the heap of the last evaluation did.
    pub(crate) last_heap: Option<HeapStats>,
    pub(crate) debugger: Debugger,
    /// The machine of the last evaluation, until there is time to give its memory back.
    spent: Option<Spent>,
    /// How many entries were answered.
    pub(crate) n_inputs: u32,
    pub(crate) n_errors: usize,
    pub(crate) is_over: bool,
}

/// What can be set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) shape: Shape,
    /// Whether each evaluation says what it cost.
    pub(crate) shows_costs: bool,
    pub(crate) hz: u32,
    pub(crate) limits: Limits,
}

/// What an evaluation gave.
pub(crate) struct Evaluated {
    /// The results as text, each line ended.
    pub(crate) text: String,
    pub(crate) failure: Option<Failure>,
    pub(crate) cost: Cost,
    /// The profiles that were asked for.
    pub(crate) runs: Vec<Run>,
}

impl Session {
    /// A session with nothing loaded, whose programs read and write here.
    pub fn new(io: SessionIo) -> Self {
        Self {
            program: Program::default(),
            store: Store::default(),
            runs: Runs::default(),
            settings: Settings {
                shape: Shape::default(),
                shows_costs: false,
                hz: DEFAULT_HZ,
                limits: Limits::default(),
            },
            io,
            interrupt: Interrupt::new(),
            recording: None,
            memory: MemoryRecordings::default(),
            last_heap: None,
            debugger: Debugger::default(),
            spent: None,
            n_inputs: 0,
            n_errors: 0,
            is_over: false,
        }
    }

    /// The same session with a collection at every allocation, to find bugs.
    pub fn with_gc_stress(mut self) -> Self {
        self.settings.limits.stress = GcStress::On;
        self
    }

    /// The same session, in which texts are assembled at this level.
    pub fn with_opt_level(mut self, opt_level: OptLevel) -> Self {
        self.program.opt_level = opt_level;
        self
    }

    /// What stops the evaluation that is going on.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Where programs read and write.
    pub fn io(&self) -> &SessionIo {
        &self.io
    }

    /// How many entries have failed.
    pub fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// What stands in front of the next entry.
    pub fn prompt(&self) -> String {
        if self.debugger.is_stopped() {
            return "vm[stopped]> ".into();
        }
        match (&self.recording, &self.memory.on) {
            (Some(recording), Some(_)) => format!("vm[{},mem]> ", recording.kinds),
            (Some(recording), None) => format!("vm[{}]> ", recording.kinds),
            (None, Some(_)) => "vm[mem]> ".into(),
            (None, None) => "vm> ".into(),
        }
    }

    /// Whether an entry goes on in the next line.
    pub fn is_open(entry: &str) -> bool {
        validate::is_open(entry)
    }

    /// Loads a file, as `:load` does, and says so.
    pub fn load(&mut self, path: &Path) -> String {
        commands::load_file(self, path).unwrap_or_else(|message| {
            self.n_errors += 1;
            format!("error: {}\n", message.trim_end())
        })
    }

    /// Gives back what the last evaluation took of memory. To be called when its answer has been
    /// shown; otherwise the next entry does it.
    pub fn settle(&mut self) {
        self.spent = None;
    }

    /// Does what an entry says: a command, a definition, or an expression.
    pub fn answer(&mut self, entry: &str) -> Reply {
        self.settle();
        self.interrupt.clear();
        let mut text = String::new();
        for path in self.program.changed_files() {
            let shown = path.display();
            text += &format!("note: {shown} has changed; `:reload` loads it again\n");
        }
        let entry = entry.trim();
        if !entry.is_empty() && !entry.starts_with(';') {
            self.n_inputs += 1;
            match self.act(entry) {
                Ok(answer) => text += &answer,
                Err(message) => {
                    self.n_errors += 1;
                    text += &format!("error: {}\n", message.trim_end());
                }
            }
        }
        if self.is_over {
            return Reply::Quit;
        }
        Reply::Text(text)
    }

    fn act(&mut self, entry: &str) -> Result<String, String> {
        if entry.starts_with(':') {
            return commands::run(self, entry);
        }
        if validate::is_definition(entry) {
            let name = format!("<input {}>", self.n_inputs);
            let defined = self.program.define(entry, &name)?;
            return Ok(describe_defined(&defined));
        }
        let input = self.parse(entry)?;
        let wanted = self.recorded();
        if self.debugger.is_stopped() {
            return Err(commands::STOPPED.into());
        }
        if wanted.is_nothing() && !self.debugger.breakpoints.is_empty() {
            let prepared = self.prepare(&input, entry)?;
            return self.debug(prepared, &input.names);
        }
        let evaluated = self.evaluate(&input, entry, wanted)?;
        self.record(evaluated.runs);
        let costs = match self.settings.shows_costs {
            true => describe_cost(&evaluated.cost),
            false => String::new(),
        };
        match evaluated.failure {
            None => Ok(evaluated.text + &costs),
            Some(failure) => Err(failure.text),
        }
    }

    pub(crate) fn parse(&self, text: &str) -> Result<Input, String> {
        expression::parse(text).map_err(|wrong| wrong.to_string())
    }

    /// Runs what was prepared so that it stops at breakpoints.
    pub(crate) fn debug(&mut self, prepared: Prepared, names: &[String]) -> Result<String, String> {
        let asked = Asked {
            object_limit: KEPT_OBJECTS,
            ..Asked::default()
        };
        let progress = self.debugger.start(
            prepared,
            names.to_vec(),
            self.io.clone(),
            self.settings.limits,
            asked,
            self.interrupt.clone(),
        )?;
        self.progressed(progress)
    }

    /// What a run that stops and goes on has come to.
    pub(crate) fn progressed(&mut self, progress: Progress) -> Result<String, String> {
        let (result, prepared, names) = match progress {
            Progress::Stopped(text) => return Ok(text),
            Progress::Done {
                result,
                prepared,
                names,
            } => (result, prepared, names),
        };
        let ran = (*result)?;
        match ran.result {
            Ok(Outcome::Returned(ints)) => {
                self.take_results(&prepared, &names, &ints, ran.read, true)
            }
            Ok(Outcome::ExitCode(code)) => Ok(format!("exit code {code}\n")),
            Err(failure) => Err(failure.text),
        }
    }

    /// Compiles and links an expression.
    pub(crate) fn prepare(&self, input: &Input, text: &str) -> Result<Prepared, String> {
        let name = format!("<input {}>", self.n_inputs);
        let Compiled {
            module,
            kinds,
            objects,
        } = expression::compile(&input.expr, &self.program, &self.store, &name, 1)
            .map_err(|wrong| wrong.to_string())?;
        if !input.names.is_empty() && input.names.len() != kinds.len() {
            return Err(format!(
                "{} cannot be bound to {}",
                plural(input.names.len(), "name"),
                plural(kinds.len(), "value")
            ));
        }
        let parcel = self.store.parcel(&objects);
        let mut roots = vec![(&module, module.entry)];
        for function in &parcel.functions {
            let place = self.program.place(function);
            roots.push(place.ok_or(format!("the function `{function}` of a closure is gone"))?);
        }
        let module = self
            .program
            .link(&roots)
            .map_err(|error| error.to_string())?;
        let versions = self.versions(&module);
        Ok(Prepared {
            text: text.to_owned(),
            module,
            kinds,
            parcel,
            versions,
        })
    }

    /// The versions of the session's functions that are in a module.
    fn versions(&self, module: &Module) -> Vec<(String, u64)> {
        let names = module.functions.iter().map(|one| one.name.clone());
        names
            .filter_map(|name| self.program.version(&name).map(|version| (name, version)))
            .collect()
    }

    /// The program's entry function, ready to run.
    pub(crate) fn prepare_entry(&self) -> Result<Prepared, String> {
        let entry = self
            .program
            .entry()
            .and_then(|name| self.program.place(name));
        let entry = entry.ok_or("there is no `main`: `:load` a program, or define it")?;
        let module = self
            .program
            .link(&[entry])
            .map_err(|error| error.to_string())?;
        let kinds = classes_of(entry.0, entry.1).results;
        let versions = self.versions(&module);
        Ok(Prepared {
            text: ":run".into(),
            module,
            kinds,
            parcel: Default::default(),
            versions,
        })
    }

    /// Runs an expression, binds and shows its results, and makes a run of its profile.
    pub(crate) fn evaluate(
        &mut self,
        input: &Input,
        text: &str,
        wanted: Wanted,
    ) -> Result<Evaluated, String> {
        let prepared = self.prepare(input, text)?;
        self.run_prepared(prepared, &input.names, Vec::new(), wanted)
    }

    /// Runs what was prepared with a program's arguments, as [`Session::evaluate`].
    pub(crate) fn run_prepared(
        &mut self,
        mut prepared: Prepared,
        names: &[String],
        arguments: Vec<Vec<u8>>,
        wanted: Wanted,
    ) -> Result<Evaluated, String> {
        if !wanted.is_nothing() {
            prepared.module = assembler::link::with_call_graph(prepared.module)
                .map_err(|error| error.to_string())?;
        }
        let prepared = Rc::new(prepared);
        let keeps = !names.is_empty() || !prepared.parcel.objects.is_empty();
        let asked = Asked {
            profile: wanted.counts,
            memory: wanted.memory,
            hz: self.settings.hz,
            ops: self.settings.shows_costs,
            objects: false,
            object_limit: if keeps { KEPT_OBJECTS } else { SHOWN_OBJECTS },
        };
        let io = self.io.host(arguments);
        let limits = self.settings.limits;
        let (mut ran, spent) = evaluate::run(&prepared, io, limits, asked, &self.interrupt)?;
        self.spent = Some(spent);
        self.last_heap = Some(ran.cost.heap.clone());
        let runs = make_runs(&prepared, &ran);
        let result = std::mem::replace(&mut ran.result, Ok(Outcome::ExitCode(0)));
        let (text, failure) = match result {
            Ok(Outcome::Returned(ints)) => {
                let read = std::mem::take(&mut ran.read);
                match self.take_results(&prepared, names, &ints, read, keeps) {
                    Ok(text) => (text, None),
                    Err(text) => (String::new(), Some(Failure::new(text))),
                }
            }
            Ok(Outcome::ExitCode(code)) => (format!("exit code {code}\n"), None),
            Err(failure) => (String::new(), Some(failure)),
        };
        Ok(Evaluated {
            text,
            failure,
            cost: ran.cost,
            runs,
        })
    }

    /// Takes the results of a run, and what it did to the values that it used.
    fn take_results(
        &mut self,
        prepared: &Prepared,
        names: &[String],
        ints: &[i64],
        read: ReadBack,
        keeps: bool,
    ) -> Result<String, String> {
        if keeps && !read.is_complete && self.interrupt.is_raised() {
            return Err("interrupted; nothing was changed".into());
        }
        if keeps && !read.is_complete {
            return Err(format!(
                "the values have more than {} objects, which is too many to keep; nothing was \
                 changed",
                render::count(KEPT_OBJECTS as u64)
            ));
        }
        let name_of = |index: u32| {
            let function = prepared.module.functions.get(index as usize);
            function.map_or_else(String::new, |one| one.name.clone())
        };
        let roots = self.store.take_back(&prepared.parcel, read, name_of);
        let (mut ints, mut refs) = (ints.iter(), roots.into_iter());
        let values: Vec<Value> = prepared
            .kinds
            .iter()
            .filter_map(|kind| match kind {
                ValueKind::Int => ints.next().map(|&int| Value::Int(int)),
                ValueKind::Float => ints.next().map(|&bits| Value::Float(bits as u64)),
                ValueKind::Ref => refs.next().map(Value::Ref),
            })
            .collect();
        let shown: Vec<String> = values
            .iter()
            .map(|&value| render::value(&self.store, value, self.settings.shape))
            .collect();
        for (name, &value) in names.iter().zip(&values) {
            self.store.set(name, value);
        }
        if !keeps {
            self.store.tidy();
        }
        Ok(match (names, shown.as_slice()) {
            ([], []) => String::new(),
            ([], shown) => format!("{}\n", shown.join(", ")),
            (names, shown) => {
                let lines = names.iter().zip(shown);
                lines
                    .map(|(name, value)| format!("{name} = {value}\n"))
                    .collect()
            }
        })
    }

    /// The kinds of a run that a table shows first.
    pub(crate) fn first_kind(run: &Run) -> Option<Kind> {
        run.kinds().first().copied()
    }
}

impl Failure {
    fn new(text: String) -> Self {
        Self {
            text,
            is_interrupted: false,
        }
    }
}

fn plural(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// What a definition says of itself.
pub(crate) fn describe_defined(defined: &Defined) -> String {
    let mut text = String::new();
    for (name, is_again) in &defined.functions {
        let verb = if *is_again { "redefined" } else { "defined" };
        text += &format!("{verb} {name}\n");
    }
    for (caller, callee) in &defined.stale {
        text += &format!(
            "note: `{caller}` calls `{callee}` by its old signature; define `{caller}` again\n"
        );
    }
    text
}

/// What an evaluation cost, in one line.
pub(crate) fn describe_cost(cost: &Cost) -> String {
    let mut text = render::seconds(cost.time.as_secs_f64());
    if let Some(ops) = cost.ops {
        text += &format!("  ops {}", render::count(ops));
    }
    let allocated = render::count(cost.heap.allocated_bytes);
    let collections = cost.heap.minor_collections + cost.heap.major_collections;
    text += &format!(
        "  alloc {allocated} B  gc {:.1} % ({collections} collections)\n",
        100.0 * cost.gc_share()
    );
    text
}
