//! The body of one function.

use vm::isa::{MAX_LIST_REGISTERS, MAX_TARGETS, Op, Operand};

use super::error::{Origin, Place, number, number_place};
use super::given::{check_values, explicit};
use super::{FileId, FunctionId};
use crate::diagnostic::{Diagnostic, MAX_KEPT, Span, keep};
use crate::ir::*;

/// How deep branches may nest: an exit leaves each of them, and the name of each holds the names of
/// those around it.
const MAX_OPEN_BRANCHES: usize = 64;

/// A place in a function that jumps can name. The number is what an op's target holds until the
/// function is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// A function's body that grows op by op.
///
/// Targets in ops are [`Label`]s. Ops may be given as they are; [`FunctionBuilder::call`] and its
/// like choose the registers in which arguments travel.
///
/// ```
/// use assembler::builder::{Callee, Class, ModuleBuilder, Reg};
/// use vm::isa::*;
/// use vm::module::Captures;
///
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # module.set_library();
/// # let file = module.file("f.sml");
/// # let signature = Signature { int_params: 1, ref_params: 1, int_results: 1, ref_results: 0 };
/// let f = module.declare_closure("f", signature, Captures { refs: 0, ints: 0 });
/// let mut builder = module.function(f);
/// assert_eq!(builder.id(), f);
/// builder.declared_at(file, 1);
/// builder.at_line(file, 2);
/// let (n, record) = (builder.int_param(0), builder.ref_param(0));
/// let closure = builder.closure_register();
/// assert_eq!([n, record, closure], [Reg::int(0), Reg::reference(0), Reg::reference(1)]);
/// builder.name_register(n, "n");
/// builder.reserve(Reg::int(1));
/// let field = builder.new_int();
/// assert_eq!(field, Reg::int(2));
/// let (exception, spare) = (builder.new_ref(), builder.new_reg(Class::Ref));
/// assert_ne!(exception, spare);
///
/// let [start, end, caught, done] = [(); 4].map(|()| builder.label());
/// builder.bind(start);
/// builder.op(Op::LdI { dst: IOut(field.index), record: RIn(record.index), field: Field(0) });
/// builder.bind(end);
/// builder.handle(start, end, caught, exception);
/// builder.op(Op::Jeq { lhs: IIn(n.index), rhs: IIn(field.index), target: Target(done.0) });
/// builder.begin_branch("again");
/// let callee = Callee::Closure { register: closure.index, signature };
/// builder.call(callee, &[field.into(), record.into()], &[field]);
/// builder.end_branch();
/// builder.tail_call(callee, &[field.into(), record.into()]);
/// builder.bind(caught);
/// builder.bind(done);
/// builder.ret(&[n.into()]);
/// module.define(builder);
/// module.finish()?;
///
/// // Where line tables are written out, an entry stands where it should.
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # module.set_library();
/// module.set_instrumented();
/// let file = module.file("g.sml");
/// let g = module.declare("g", Signature::default());
/// let mut builder = module.function(g);
/// builder.line_entry(file, 7);
/// builder.ret(&[]);
/// module.define(builder);
/// assert_eq!(module.finish()?.functions[0].lines[0].line, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    id: FunctionId,
    function: Function,
    current: Option<u32>,
    /// Whether control may come from the op that was pushed last to the next one.
    is_reached: bool,
    is_bound: Vec<bool>,
    /// The next register to give out, by class.
    next: [usize; 2],
    /// Registers that are not given out.
    reserved: Vec<Reg>,
    location: Option<Location>,
    region: Option<u32>,
    /// How many branches are open, those that are too deep included.
    open_branches: usize,
    pub(crate) span: Span,
    /// What is wrong with calls of the builder, and where each would have added something.
    errors: Vec<(Diagnostic, Place)>,
    /// Where each handler was added.
    handler_places: Vec<Place>,
}

impl FunctionBuilder {
    pub(super) fn new(id: FunctionId, function: Function) -> Self {
        let refs = function.signature.ref_params as usize + function.captures.is_some() as usize;
        Self {
            id,
            next: [function.signature.int_params as usize, refs],
            current: None,
            is_reached: true,
            is_bound: Vec::new(),
            reserved: Vec::new(),
            location: None,
            region: None,
            open_branches: 0,
            span: function.span,
            errors: Vec::new(),
            handler_places: Vec::new(),
            function: Function {
                blocks: Vec::new(),
                layout: Vec::new(),
                ..function
            },
        }
    }

    /// The function that is being defined.
    pub fn id(&self) -> FunctionId {
        self.id
    }

    /// The function's name.
    pub(super) fn name(&self) -> &str {
        &self.function.name
    }

    pub(super) fn signature(&self) -> vm::isa::Signature {
        self.function.signature
    }

    /// How many registers of each class hold what the caller passes, the closure included.
    pub(super) fn parameter_counts(&self) -> (usize, usize) {
        let signature = self.function.signature;
        let refs = signature.ref_params as usize + self.function.captures.is_some() as usize;
        (signature.int_params as usize, refs)
    }

    /// The block to which the next op would be added.
    pub(super) fn next_block(&self) -> u32 {
        self.current.unwrap_or(self.function.blocks.len() as u32)
    }

    pub(super) fn block_length(&self, block: usize) -> usize {
        self.function.blocks[block].instrs.len()
    }

    /// The function as it is so far, to be put back.
    pub(super) fn take_function(&mut self) -> Function {
        std::mem::take(&mut self.function)
    }

    /// Puts back what was taken, with blocks that were bound when they were added.
    pub(super) fn put_function(&mut self, function: Function) {
        self.is_bound.resize(function.blocks.len(), true);
        self.function = function;
    }

    /// Gives each instruction, handler and error the number of its origin as its span.
    pub(super) fn number_origins(&mut self, origins: &mut Vec<Origin>) {
        number(origins, self.id.0, &mut self.function);
        let handlers = self.function.handlers.iter_mut();
        for (handler, &place) in handlers.zip(&self.handler_places) {
            handler.span = number_place(origins, self.id.0, place);
        }
        for (error, place) in &mut self.errors {
            error.span = number_place(origins, self.id.0, *place);
        }
    }

    fn place(&self, op: &'static str) -> Place {
        Place {
            block: self.next_block(),
            op,
            location: self.location,
        }
    }

    fn error(&mut self, op: &'static str, message: String) {
        if self.errors.len() < MAX_KEPT {
            let error = Diagnostic::new(self.span, message);
            self.errors.push((error, self.place(op)));
        }
    }

    /// The register of an `i` parameter, counted among those of its class.
    pub fn int_param(&self, index: u8) -> Reg {
        Reg::int(index)
    }

    /// The register of an `r` parameter, counted among those of its class.
    pub fn ref_param(&self, index: u8) -> Reg {
        Reg::reference(index)
    }

    /// The register that holds the closure in a closure's function.
    pub fn closure_register(&self) -> Reg {
        Reg::reference(self.function.signature.ref_params)
    }

    /// A fresh `i` register.
    pub fn new_int(&mut self) -> Reg {
        self.new_reg(Class::Int)
    }

    /// A fresh `r` register.
    pub fn new_ref(&mut self) -> Reg {
        self.new_reg(Class::Ref)
    }

    /// A fresh register of a class.
    pub fn new_reg(&mut self, class: Class) -> Reg {
        loop {
            let next = self.next[class as usize];
            self.next[class as usize] += 1;
            let Ok(index) = u8::try_from(next) else {
                if next == 256 {
                    let name = &self.function.name;
                    self.error(
                        "new_reg",
                        format!("`{name}` needs more than 256 registers of a class"),
                    );
                }
                return Reg {
                    class,
                    index: u8::MAX,
                };
            };
            if !self.reserved.contains(&Reg { class, index }) {
                return Reg { class, index };
            }
        }
    }

    /// Keeps a register from being given out by [`FunctionBuilder::new_reg`].
    pub fn reserve(&mut self, reg: Reg) {
        self.reserved.push(reg);
    }

    /// What the register is called in messages.
    pub fn name_register(&mut self, reg: Reg, name: &str) {
        self.function.names.insert(reg, name.to_owned());
    }

    /// Where the function itself stands; its profiling source says so.
    pub fn declared_at(&mut self, file: FileId, line: u32) {
        self.function.location = Some(Location { file: file.0, line });
    }

    /// Where the ops that follow come from.
    pub fn at_line(&mut self, file: FileId, line: u32) {
        self.location = Some(Location { file: file.0, line });
    }

    /// An entry of the line table, for modules that are built as instrumented: there, no other
    /// entries are made.
    pub fn line_entry(&mut self, file: FileId, line: u32) {
        self.push(Action::Line(Location { file: file.0, line }));
    }

    /// Gives the line table as it is, in place of what the ops say.
    pub(crate) fn set_line_entries(&mut self, entries: Vec<vm::module::LineEntry>) {
        self.function.fixed_lines = Some(entries);
    }

    /// A label, to be bound once.
    pub fn label(&mut self) -> Label {
        self.function.blocks.push(Block::default());
        self.is_bound.push(false);
        Label(self.function.blocks.len() as u32 - 1)
    }

    /// Puts a label before the next op.
    pub fn bind(&mut self, label: Label) {
        match self.is_bound.get_mut(label.0 as usize) {
            Some(is_bound) if !*is_bound => {
                *is_bound = true;
                self.function.blocks[label.0 as usize].region = self.region;
                self.function.layout.push(label.0);
                self.current = Some(label.0);
            }
            Some(_) => self.error("bind", "this label is bound twice".into()),
            None => self.error("bind", "this label is another function's".into()),
        }
    }

    /// Adds an op, with labels as targets.
    pub fn op(&mut self, op: Op) {
        let fits = op.operands().iter().all(|operand| match operand {
            Operand::IRegs(list) | Operand::RRegs(list) => list.len() <= MAX_LIST_REGISTERS,
            Operand::Targets(list) => list.len() <= MAX_TARGETS,
            _ => true,
        });
        if !fits {
            let mnemonic = op.opcode().info().mnemonic;
            return self.error(
                mnemonic,
                format!(
                    "`{mnemonic}` takes at most {MAX_LIST_REGISTERS} registers and \
                 {MAX_TARGETS} targets"
                ),
            );
        }
        self.push(Action::Op(op));
    }

    /// Calls, with arguments and result registers in the callee's order within each class.
    pub fn call(&mut self, callee: Callee, args: &[Value], results: &[Reg]) {
        let (args, results) = (args.to_vec(), results.to_vec());
        self.push(Action::Call(Call {
            callee,
            args,
            results,
            windows: None,
        }));
    }

    /// Calls in place of this function, which ends here.
    pub fn tail_call(&mut self, callee: Callee, args: &[Value]) {
        self.push(Action::TailCall(callee, args.to_vec()));
    }

    /// Returns values.
    pub fn ret(&mut self, values: &[Value]) {
        self.push(Action::Ret(values.to_vec()));
    }

    /// Ops from `start` to before `end` raise to `target`, with the exception in an `r` register.
    /// Of ranges that hold an op, the one added first counts.
    pub fn handle(&mut self, start: Label, end: Label, target: Label, register: Reg) {
        if register.class != Class::Ref {
            return self.error("handle", "an exception arrives in an r register".into());
        }
        self.handler_places.push(self.place("handle"));
        self.function.handlers.push(Handler {
            start: start.0,
            end: end.0,
            target: target.0,
            register: register.index,
            span: self.span,
        });
    }

    /// Begins a branch, which is a source of its own when branches are profiled. At most 64 nest.
    pub fn begin_branch(&mut self, name: &str) {
        self.open_branches += 1;
        if self.open_branches > MAX_OPEN_BRANCHES {
            if self.open_branches == MAX_OPEN_BRANCHES + 1 {
                self.error(
                    "begin_branch",
                    format!("branches nest deeper than {MAX_OPEN_BRANCHES} levels"),
                );
            }
            return;
        }
        let region = Region {
            name: name.to_owned(),
            parent: self.region,
            location: self.location,
        };
        self.function.regions.push(region);
        let index = self.function.regions.len() as u32 - 1;
        self.push(Action::BeginBranch(index));
        self.region = Some(index);
    }

    /// Ends the branch that was begun last.
    pub fn end_branch(&mut self) {
        let Some(region) = self.region else {
            return self.error("end_branch", "no branch is open here".into());
        };
        self.open_branches -= 1;
        if self.open_branches >= MAX_OPEN_BRANCHES {
            return;
        }
        // Behind a return or a jump that is always taken nothing is left to end.
        if self.current.is_some() || self.is_reached {
            self.push(Action::EndBranch);
        }
        self.region = self.function.regions[region as usize].parent;
    }

    /// Adds an instruction and says to which block.
    pub(super) fn push(&mut self, action: Action) -> u32 {
        let current = self.current.unwrap_or_else(|| {
            let label = self.label();
            self.bind(label);
            label.0
        });
        self.current = (!action.ends_block()).then_some(current);
        self.is_reached = action.falls_through();
        let instr = Instr {
            action,
            location: self.location,
            span: self.span,
        };
        self.function.blocks[current as usize].instrs.push(instr);
        current
    }

    /// Where the innermost branch that is open begins; `None` if a text says where we are.
    fn open_branch(&self) -> Option<Span> {
        let begins = Action::BeginBranch(self.region?);
        let blocks = self.function.blocks.iter().rev();
        let mut instrs = blocks.flat_map(|block| &block.instrs);
        let begin = instrs.find(|instr| instr.action == begins)?;
        (self.span == Span::default()).then_some(begin.span)
    }

    /// The function, with calls that were given as ops made explicit, and what is wrong with it.
    pub(super) fn finish(mut self, program: &Program) -> (Function, Vec<Diagnostic>) {
        if self.region.is_some() {
            let span = self.open_branch().unwrap_or(self.span);
            let message = "a branch is still open at the end of the function";
            self.errors
                .push((Diagnostic::new(span, message), self.place("begin_branch")));
        }
        let own = self.function.signature;
        let is_bound = std::mem::take(&mut self.is_bound);
        let bound = |label: u32| is_bound.get(label as usize) == Some(&true);
        let errors = std::mem::take(&mut self.errors);
        let mut errors: Vec<_> = errors.into_iter().map(|(error, _)| error).collect();
        for instr in self
            .function
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.instrs)
        {
            if let Action::Op(op) = &instr.action {
                if !targets(op).into_iter().all(bound) {
                    let message = "this label is never bound";
                    keep(&mut errors, Diagnostic::new(instr.span, message));
                }
                match explicit(op, program, &own) {
                    Ok(Some(action)) => instr.action = action,
                    Ok(None) => {}
                    Err(message) => keep(&mut errors, Diagnostic::new(instr.span, message)),
                }
            }
            if let Err(message) = check_values(&instr.action, program, &own) {
                keep(&mut errors, Diagnostic::new(instr.span, message));
            }
        }
        for handler in &self.function.handlers {
            if ![handler.start, handler.end, handler.target]
                .into_iter()
                .all(bound)
            {
                let message = "a label of this handler is never bound";
                keep(&mut errors, Diagnostic::new(handler.span, message));
            }
        }
        (self.function, errors)
    }
}
