//! Bodies: branches, loops, exceptions, sources, calls, and the functions around them.

use super::{Callee, Kind, Node, pick};
use crate::support::Random;

/// Stands where a variable is wanted and there is none of its kind.
const NONE: &str = "$";

/// What is known within a body.
pub(super) struct Scope<'a> {
    pub(super) random: &'a mut Random,
    pub(super) callees: &'a [Callee],
    /// The variables that a line may write.
    pub(super) vars: Vec<(Kind, String)>,
    pub(super) results: Vec<Kind>,
    /// Whether the function has `w` and `g`, and may call others.
    pub(super) is_full: bool,
    pub(super) labels: usize,
    /// How many explicit sources, handlers and loops are around.
    pub(super) sources: usize,
    pub(super) handlers: usize,
    pub(super) loops: usize,
    /// How many more blocks may be opened.
    pub(super) blocks: usize,
}

impl Scope<'_> {
    /// A variable of a kind.
    pub(super) fn var(&mut self, kind: Kind) -> String {
        let of_kind: Vec<&String> = self
            .vars
            .iter()
            .filter(|(own, _)| *own == kind)
            .map(|(_, name)| name)
            .collect();
        match of_kind.len() {
            // Leaves have no references; lines that want one are not for them.
            0 => NONE.to_owned(),
            count => of_kind[self.random.below(count)].clone(),
        }
    }

    /// A variable of any kind that is a reference.
    pub(super) fn any_ref(&mut self) -> String {
        let is_ref = |(kind, _): &&(Kind, String)| kind.class() == "r";
        let refs: Vec<&String> = self
            .vars
            .iter()
            .filter(is_ref)
            .map(|(_, name)| name)
            .collect();
        match refs.len() {
            0 => NONE.to_owned(),
            count => refs[self.random.below(count)].clone(),
        }
    }

    /// One of several.
    pub(super) fn of<T: Copy>(&mut self, several: &[T]) -> T {
        pick(self.random, several)
    }

    pub(super) fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Some parts in a row.
    pub(super) fn body(&mut self, count: usize) -> Vec<Node> {
        (0..1 + self.random.below(count))
            .map(|_| self.statement())
            .collect()
    }

    pub(super) fn statement(&mut self) -> Node {
        let draw = self.random.below(100);
        if !self.is_full {
            return match draw {
                0..=69 => self.pure(),
                70..=89 if self.blocks > 0 => self.branch(),
                _ => self.early_return(),
            };
        }
        match draw {
            0..=39 => self.safe(),
            40..=42 => self.risky(),
            43..=46 => self.fold(),
            47..=49 => Node::lines(&self.call()),
            50 | 51 => self.raise(),
            52 => self.early_return(),
            53..=55 => self.helper(),
            56..=57 => self.print(),
            58 => self.through_windows(),
            _ if self.blocks == 0 => self.safe(),
            59..=68 => self.branch(),
            69..=75 => self.counted(),
            76..=86 => self.guarded(),
            87..=91 => self.sourced(),
            92..=94 => self.marked(),
            95 | 96 => self.switch_tag(),
            _ => self.switch(),
        }
    }

    /// A line on numbers, for functions that have no references.
    pub(super) fn pure(&mut self) -> Node {
        loop {
            let node = self.safe();
            let mut text = String::new();
            node.write(&mut text);
            if !["(", "$", "closure"].iter().any(|mark| text.contains(mark)) {
                return node;
            }
        }
    }

    /// A condition with its jump.
    pub(super) fn jump(&mut self, label: &str) -> String {
        let (a, b) = (self.var(Kind::Int), self.var(Kind::Int));
        match self.random.below(if self.is_full { 11 } else { 7 }) {
            0..=2 => {
                let op = self.of(&["jeq", "jne", "jlt", "jle", "jgt", "jge", "jult", "jule"]);
                format!("{op} {a}, {b}, {label}")
            }
            3 | 4 => {
                let op = self.of(&["jeq", "jne", "jlt", "jle", "jgt", "jge"]);
                format!("{op}_imm {a}, {}, {label}", self.number())
            }
            5 | 6 => {
                let op = self.of(&["jfeq", "jfne", "jflt", "jfle", "jfnlt", "jfnle"]);
                format!(
                    "{op} {}, {}, {label}",
                    self.var(Kind::Float),
                    self.var(Kind::Float)
                )
            }
            7 => {
                let op = self.of(&["jnull", "jnonnull", "jimm"]);
                format!("{op} {}, {label}", self.any_ref())
            }
            8 | 9 => self.jump_on_value(label),
            _ => {
                let op = self.of(&["jsame", "jnsame"]);
                format!("{op} {}, {}, {label}", self.any_ref(), self.any_ref())
            }
        }
    }

    pub(super) fn block(&mut self, count: usize) -> Vec<Node> {
        self.blocks = self.blocks.saturating_sub(1);
        self.body(count)
    }

    pub(super) fn branch(&mut self) -> Node {
        let n = self.label();
        let jump = self.jump(&format!("else{n}"));
        let then = self.block(4);
        if self.random.below(2) == 0 {
            return Node::around(&jump, then, &format!("else{n}:"));
        }
        let mut node = Node::around(&jump, then, &format!("jmp end{n}\nelse{n}:"));
        let other = self.block(4);
        node.push(other, &format!("end{n}:"));
        node
    }

    pub(super) fn counted(&mut self) -> Node {
        if self.loops == 2 {
            return self.branch();
        }
        let (n, turns) = (self.label(), 1 + self.random.below(6));
        self.loops += 1;
        let body = self.block(5);
        self.loops -= 1;
        match self.random.below(4) {
            0 => Node::around(
                &format!("c{n} = {turns}\nloop{n}:"),
                body,
                &format!("c{n} = sub c{n}, 1\njgt c{n}, 0, loop{n}"),
            ),
            1 => Node::around(
                &format!("c{n} = 0\nm{n} = {turns}\nloop{n}:"),
                body,
                &format!("c{n} = add c{n}, 1\njlt c{n}, m{n}, loop{n}"),
            ),
            2 => Node::around(
                &format!("c{n} = 0\nloop{n}:\njge c{n}, {turns}, out{n}"),
                body,
                &format!("c{n} = add c{n}, 1\njmp loop{n}\nout{n}:"),
            ),
            _ => Node::around(
                &format!("c{n} = 0\nm{n} = {turns}\njmp test{n}\nloop{n}:"),
                body,
                &format!("c{n} = add c{n}, 1\ntest{n}:\njne c{n}, m{n}, loop{n}"),
            ),
        }
    }

    /// A body with a handler, which folds what it caught into the checksum.
    pub(super) fn guarded(&mut self) -> Node {
        let n = self.label();
        self.handlers += 1;
        let mut body = self.block(5);
        for _ in 0..self.random.below(3) {
            let place = self.random.below(body.len() + 1);
            let node = if self.random.below(4) == 0 {
                self.raise()
            } else {
                self.risky()
            };
            body.insert(place, node);
        }
        self.handlers -= 1;
        let v = self.var(Kind::Int);
        let mut node = Node::around(
            &format!("try caught{n}(e{n}) {{"),
            body,
            &format!("}}\njmp end{n}\ncaught{n}:\n{v} = call code_of(e{n})\ncall mix(w, {v})"),
        );
        let mut handler = if self.random.below(2) == 0 {
            self.block(3)
        } else {
            Vec::new()
        };
        let may_raise = self.handlers > 0 || self.sources == 0;
        match self.random.below(8) {
            0 if may_raise => handler.push(Node::lines(&format!("raise e{n}"))),
            1 => handler.push(Node::lines(&format!("{} = e{n}", self.var(Kind::Any)))),
            _ => {}
        }
        node.push(handler, &format!("end{n}:"));
        node
    }

    pub(super) fn sourced(&mut self) -> Node {
        let source = self.random.below(3);
        self.sources += 1;
        let body = self.block(4);
        self.sources -= 1;
        Node::around(
            &format!("enter s{source}"),
            body,
            &format!("leave s{source}"),
        )
    }

    pub(super) fn marked(&mut self) -> Node {
        let n = self.label();
        let body = self.block(4);
        Node::around(&format!(".branch \"b{n}\""), body, ".end_branch")
    }

    pub(super) fn switch(&mut self) -> Node {
        let n = self.label();
        let cases = 1 + self.random.below(4);
        let names: Vec<String> = (0..cases).map(|case| format!("case{n}_{case}")).collect();
        let index = self.var(Kind::Int);
        let mut node = Node::lines(&format!(
            "x = and_imm {index}, 7\nx = add_imm x, -1\nswitch x, [{}]",
            names.join(", ")
        ));
        for name in names {
            let body = self.block(2);
            let end = if self.random.below(3) == 0 { "" } else { "jmp" };
            let end = end.replace("jmp", &format!("jmp end{n}"));
            node.push(body, &format!("{end}\n{name}:"));
        }
        let body = self.block(2);
        node.push(body, &format!("end{n}:"));
        node
    }

    /// Raises something under a condition, where that does not leave a source open.
    pub(super) fn raise(&mut self) -> Node {
        if self.handlers == 0 && self.sources > 0 {
            return self.safe();
        }
        let n = self.label();
        let jump = self.jump(&format!("on{n}"));
        let (q, p, a) = (self.any_ref(), self.var(Kind::Record), self.var(Kind::Int));
        let any = self.var(Kind::Any);
        let raise = match self.random.below(6) {
            0 => format!("raise {q}"),
            1 => "match_fail".to_owned(),
            2 => format!("{any} = imm {}\nraise {any}", self.number()),
            _ => format!("e{n} = new 5, [{q}, {p}], [{a}, {a}]\nraise e{n}"),
        };
        Node::lines(&format!("{jump}\n{raise}\non{n}:"))
    }

    pub(super) fn early_return(&mut self) -> Node {
        if self.sources > 0 {
            return self.safe();
        }
        let n = self.label();
        let jump = self.jump(&format!("on{n}"));
        let ret = self.ret();
        Node::lines(&format!("{jump}\n{ret}\non{n}:"))
    }

    pub(super) fn ret(&mut self) -> String {
        let results: Vec<String> = self
            .results
            .clone()
            .into_iter()
            .map(|kind| self.var(kind))
            .collect();
        format!("ret {}", results.join(", "))
    }

    /// Folds a variable into the checksum.
    pub(super) fn fold(&mut self) -> Node {
        Node::lines(&match self.random.below(5) {
            0 | 1 => format!("call mix(w, {})", self.var(Kind::Int)),
            2 => format!("call mix_float(w, {})", self.var(Kind::Float)),
            3 => {
                let (t, u) = (self.var(Kind::Text), self.var(Kind::Text));
                format!("x = len {t}\ncall mix(w, x)\nx = cmp {t}, {u}\ncall mix(w, x)")
            }
            _ => format!("call walk(w, {}, 9)", self.var(Kind::Record)),
        })
    }

    pub(super) fn print(&mut self) -> Node {
        Node::lines(&match self.random.below(12) {
            0..=3 => format!("call print_int({})", self.var(Kind::Int)),
            4 | 5 => format!("call print_float({})", self.var(Kind::Float)),
            6 | 7 => format!("call print({})", self.var(Kind::Text)),
            8 => format!("call eprint({})", self.var(Kind::Text)),
            9 => "call gc()".to_owned(),
            10 => format!("{} = call arg_count()", self.var(Kind::Int)),
            _ => format!(
                "{}, {} = call read_line()",
                self.var(Kind::Int),
                self.var(Kind::Text)
            ),
        })
    }
}
