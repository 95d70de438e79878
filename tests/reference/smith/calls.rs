//! Calls of all sorts.

use super::blocks::Scope;
use super::{Callee, Kind, Node};

impl Scope<'_> {
    pub(super) fn helper(&mut self) -> Node {
        let (d, a) = (self.var(Kind::Int), self.var(Kind::Int));
        let (p, q) = (self.var(Kind::Record), self.any_ref());
        let n = self.label();
        Node::lines(&match self.random.below(9) {
            0 => format!("x = and_imm {a}, 7\n{d} = call fib(x)"),
            1 => format!("x = and_imm {a}, 63\n{d} = call is_even(x)"),
            2 => format!("x = and_imm {a}, 31\n{p} = call build(x, {p})"),
            3 => format!("{d} = call sum({})", self.var(Kind::Ints)),
            4 => format!("k{n} = closure adder, [{q}], [{a}]\n{d} = call twice(k{n}, {d})"),
            5 => format!("k{n} = closure adder, [{q}], [{a}]\n{d} = call_closure k{n}({d})"),
            6 => format!(
                "try in{n}(e{n}) {{\nx = and_imm {a}, 15\n{d} = call deep_raise(x, {q})\n}}\n\
                 in{n}:\n{d} = sub {d}, 1"
            ),
            7 => format!("x = and_imm {a}, 15\n{d} = call turns(x)"),
            _ => format!("call walk(w, {p}, 20)"),
        })
    }

    /// A call as the op itself, with arguments put into registers that are far up.
    pub(super) fn through_windows(&mut self) -> Node {
        let (d, a, q) = (self.var(Kind::Int), self.var(Kind::Int), self.any_ref());
        let (i, r) = (180 + self.random.below(70), 180 + self.random.below(70));
        Node::lines(&match self.random.below(4) {
            0 => format!("i{i} = and_imm {a}, 7\ncall fib, i{i}, r{r}\n{d} = i{i}"),
            1 => format!("i{i} = {a}\ncall_host print_int, i{i}, r{r}"),
            2 => format!("r{r} = w\ni{i} = {a}\ncall mix, i{i}, r{r}"),
            _ => format!(
                "r{r} = closure adder, [{q}], [{a}]\ni{i} = {d}\n\
                 call_closure r{r}, (i) -> (i), i{i}, r{}\n{d} = i{i}",
                r + 1
            ),
        })
    }

    /// Arguments of a call, and variables for its results.
    pub(super) fn arguments(&mut self, callee: &Callee) -> Option<(String, String)> {
        let mut results: Vec<String> = Vec::new();
        for &kind in &callee.results {
            let var = self.var(kind);
            if results.contains(&var) {
                return None;
            }
            results.push(var);
        }
        let is_full = callee.params.first() == Some(&Kind::Ints);
        let mut arguments = if is_full {
            vec!["w".to_owned(), "g".to_owned()]
        } else {
            Vec::new()
        };
        for &kind in &callee.params[arguments.len()..] {
            arguments.push(match (kind, self.random.below(4)) {
                (Kind::Int, 0) => self.number().to_string(),
                (Kind::Float, 0) => "0.25".to_owned(),
                (Kind::Any, 0) => "null".to_owned(),
                (Kind::Text, 0) => "\"literal\"".to_owned(),
                _ => self.var(kind),
            });
        }
        let written = match results.is_empty() {
            true => String::new(),
            false => format!("{} = ", results.join(", ")),
        };
        Some((written, arguments.join(", ")))
    }

    /// A call of a random function, or of a closure that is made for it.
    pub(super) fn call(&mut self) -> String {
        let callees = self.callees;
        let callee = &callees[self.random.below(callees.len())];
        let Some((written, arguments)) = self.arguments(callee) else {
            return "x = 1".to_owned();
        };
        let name = &callee.name;
        let Some(captures) = &callee.captures else {
            return format!("{written}call {name}({arguments})");
        };
        let (n, captured) = (self.label(), self.captured(captures));
        let keep = match self.random.below(3) {
            0 => format!("\n{} = k{n}", self.var(Kind::Any)),
            _ => String::new(),
        };
        format!("k{n} = closure {name}, {captured}{keep}\n{written}call_closure k{n}({arguments})")
    }

    pub(super) fn captured(&mut self, captures: &[Kind]) -> String {
        let mut lists = [Vec::new(), Vec::new()];
        for &kind in captures {
            let var = self.var(kind);
            lists[usize::from(kind.class() != "r")].push(var);
        }
        format!("[{}], [{}]", lists[0].join(", "), lists[1].join(", "))
    }

    /// The end of a function: a return, or a call in its place.
    pub(super) fn end(&mut self) -> String {
        let callees = self.callees;
        let fits = |callee: &&Callee| callee.results == self.results;
        let fitting: Vec<&Callee> = callees.iter().filter(fits).collect();
        if !self.is_full || fitting.is_empty() || self.random.below(3) == 0 {
            return self.ret();
        }
        let callee = fitting[self.random.below(fitting.len())];
        let Some((written, arguments)) = self.arguments(callee) else {
            return self.ret();
        };
        let results = written.trim_end_matches(" = ");
        match (&callee.captures, self.random.below(2)) {
            (None, 0) => format!("tail_call {}({arguments})", callee.name),
            (None, _) => format!("{written}call {}({arguments})\nret {results}", callee.name),
            (Some(captures), way) => {
                let made = format!("k = closure {}, {}", callee.name, self.captured(captures));
                match way {
                    0 => format!("{made}\ntail_call_closure k({arguments})"),
                    _ => format!("{made}\n{written}call_closure k({arguments})\nret {results}"),
                }
            }
        }
    }
}
