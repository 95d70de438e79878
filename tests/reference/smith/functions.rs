//! Functions around bodies: parameters, captures, locals, and the budget.

use super::blocks::Scope;
use super::{Callee, Kind, Node};
use crate::support::Random;

impl Scope<'_> {
    /// The length of an array: this one, or now and then one that makes the array a large object.
    fn length(&mut self, small: usize) -> usize {
        match self.random.below(14) {
            0 => 510 + self.random.below(1_500),
            _ => small,
        }
    }

    /// Local variables of all kinds, with lines that give them their first values.
    fn locals(&mut self) -> Vec<Node> {
        let mut kinds = vec![Kind::Int; 3];
        kinds.extend([Kind::Float; 2]);
        kinds.extend([Kind::Record; 2]);
        kinds.extend([Kind::Any, Kind::Any, Kind::Text, Kind::Text]);
        kinds.extend([Kind::Ints, Kind::Floats, Kind::Bytes, Kind::Records]);
        // Some functions name registers by number, which leaves holes between them.
        let is_numbered = self.random.below(4) == 0;
        let mut nodes = Vec::new();
        for (index, kind) in kinds.into_iter().enumerate() {
            let name = match (is_numbered, kind.class()) {
                (true, "r") => format!("r{}", 20 + index * 9 + self.random.below(9)),
                (true, _) => format!("i{}", 20 + index * 9 + self.random.below(9)),
                (false, _) => format!("v{index}"),
            };
            let text = match kind {
                Kind::Int => format!("{name} = {}", self.number()),
                Kind::Float => format!("{name} = {}.5", self.random.below(9)),
                Kind::Record => format!("{name} = g"),
                Kind::Any => format!("{name} = imm {}", self.random.below(9)),
                Kind::Text => format!("{name} = \"text{index}\""),
                Kind::Ints => format!("x = {}\n{name} = new_i x, x", self.length(9)),
                Kind::Floats => format!("{name} = data floats"),
                Kind::Bytes => format!("x = {}\n{name} = new_b x, x", self.length(11)),
                Kind::Records => format!("x = {}\n{name} = new_r x, g", self.length(8)),
            };
            nodes.push(Node::lines(&text));
            self.vars.push((kind, name));
        }
        nodes
    }
}

fn scope<'a>(random: &'a mut Random, callees: &'a [Callee], results: &[Kind]) -> Scope<'a> {
    let blocks = 2 + random.below(9);
    Scope {
        random,
        callees,
        vars: Vec::new(),
        results: results.to_vec(),
        is_full: true,
        labels: 0,
        sources: 0,
        handlers: 0,
        loops: 0,
        blocks,
    }
}

/// A random function.
pub(super) fn function(
    random: &mut Random,
    callees: &[Callee],
    index: usize,
    callee: &Callee,
) -> Node {
    let mut scope = scope(random, callees, &callee.results);
    scope.is_full = callee.params.first() == Some(&Kind::Ints);
    let mut params = Vec::new();
    for (number, &kind) in callee.params.iter().enumerate() {
        let name = match (scope.is_full, number) {
            (true, 0) => "w".to_owned(),
            (true, 1) => "g".to_owned(),
            _ => format!("p{number}"),
        };
        params.push(format!("{name}: {}", kind.class()));
        scope.vars.push((kind, name));
    }
    let mut head = format!("fun {}({})", callee.name, params.join(", "));
    let mut nodes = Vec::new();
    if let Some(captures) = &callee.captures {
        let classes: Vec<_> = (0..).zip(captures).collect();
        let listed = classes
            .iter()
            .map(|(n, kind)| format!("q{n}: {}", kind.class()));
        let listed = listed.collect::<Vec<_>>().join(", ");
        head = head.replacen("fun ", "closure fun ", 1);
        head = head.replacen('(', &format!("{{{listed}}}("), 1);
        for (n, &kind) in classes {
            nodes.push(Node::lines(&format!("q{n} = cap q{n}")));
            scope.vars.push((kind, format!("q{n}")));
        }
    }
    let results: Vec<&str> = callee.results.iter().map(|kind| kind.class()).collect();
    if !results.is_empty() {
        head += &format!(" -> ({})", results.join(", "));
    }
    head += " {";
    if scope.is_full {
        nodes.extend(scope.locals());
        let ret = scope.ret();
        nodes.push(Node::lines(&format!(
            "x = 1\ny = get_i w, x\ny = sub y, 1\nset_i w, x, y\njgt y, 0, go\n{ret}\ngo:"
        )));
    } else {
        let missing = scope.var_count(Kind::Float) == 0;
        if missing {
            nodes.push(Node::lines("v0 = 0.5"));
            scope.vars.push((Kind::Float, "v0".into()));
        }
    }
    let length = 2 + index % 3 + scope.random.below(if scope.is_full { 14 } else { 4 });
    nodes.extend(scope.body(length));
    let end = scope.end();
    Node::around(&head, nodes, &format!("{end}\n}}"))
}

/// The entry function: phases that mostly keep their exceptions to themselves.
pub(super) fn main(random: &mut Random, callees: &[Callee]) -> Node {
    let results = [Kind::Int, Kind::Float];
    let mut scope = scope(random, callees, &results[..]);
    let budget = 10 + scope.random.below(150);
    let mut nodes = vec![Node::lines(&format!(
        "x = 3\ny = 0\nw = new_i x, y\nx = 1\ny = {budget}\nset_i w, x, y\n\
         nil = null\ng = new 1, [nil, nil], [x, y]\nst_r g, 1, g\nst_gr gp, g\nst_gr keep, g"
    ))];
    scope.vars.push((Kind::Ints, "w".into()));
    scope.vars.push((Kind::Record, "g".into()));
    nodes.extend(scope.locals());
    for phase in 0..2 + scope.random.below(3) {
        let n = scope.label();
        scope.blocks = 8;
        let is_guarded = scope.random.below(8) > 0;
        scope.handlers += usize::from(is_guarded);
        let mut body = scope.body(6);
        body.push(Node::lines(&scope.call()));
        if scope.random.below(40) == 0 {
            body.push(Node::lines(&format!("call exit({phase})")));
        }
        body.extend(scope.body(6));
        scope.handlers -= usize::from(is_guarded);
        let show = "call walk(w, g, 30)\nx = 0\ny = get_i w, x\ncall print_int(y)";
        nodes.push(match is_guarded {
            false => Node::around("", body, show),
            true => Node::around(
                &format!("try phase{n}(e{n}) {{"),
                body,
                &format!(
                    "}}\njmp shown{n}\nphase{n}:\nx = call code_of(e{n})\ncall print_int(x)\n\
                     shown{n}:\n{show}"
                ),
            ),
        });
    }
    if scope.random.below(60) == 0 {
        nodes.push(Node::lines("x = call endless(1)"));
    }
    let end = scope.ret();
    Node::around("fun main() -> (i, f) {", nodes, &format!("{end}\n}}"))
}

impl Scope<'_> {
    fn var_count(&self, kind: Kind) -> usize {
        self.vars.iter().filter(|(own, _)| *own == kind).count()
    }
}
