//! The call graph's edges between sources, for reports: which sources a source may call.
//!
//! Where an op calls while a source is open, there is an edge from that source to all that the
//! callee may enter first. A callee that calls with nothing open passes its callers on: that is
//! how edges go through tail calls and through functions without a source. A closure call may
//! reach every closure's function of its signature.
//!
//! A graph has a node for each function and one for each signature of closures, which passes on
//! to the functions of that signature. Functions that pass on to each other share one answer.

pub(crate) mod components;

use std::collections::{BTreeSet, HashMap};

use profiler::{SourceId, SourceMap, SourceSeqId};
use vm::isa::{Op, Signature};
use vm::verify::{FunctionFacts, VerifiedModule};

/// The most edges that one call makes: a call that may reach more says little, and a program of
/// closures alone would have as many edges as it has pairs of functions.
const MAX_ENTERED: usize = 64;

/// What a function or a signature of closures does, as far as edges go.
#[derive(Default)]
struct Node {
    /// Sources that it enters with nothing open.
    enters: BTreeSet<SourceId>,
    /// Nodes that it calls with nothing open.
    passes_to: BTreeSet<usize>,
    /// Calls with a source open.
    calls: BTreeSet<(SourceId, usize)>,
}

/// The module's sources with their successors.
pub(crate) fn fill_successors(module: &VerifiedModule) -> SourceMap {
    fill_successors_of(module, &module.sources)
}

/// These sources, of the same number as the module's, with the successors that its code gives them.
pub(crate) fn fill_successors_of(module: &VerifiedModule, sources: &SourceMap) -> SourceMap {
    let mut edges: BTreeSet<(SourceId, SourceId)> = BTreeSet::new();
    let nodes = nodes(module, &mut edges);
    let entered = first_entered(&nodes);
    let calls = nodes.iter().flat_map(|node| node.calls.iter().copied());
    for (caller, callee) in calls.chain([(SourceId::MAIN, module.entry as usize)]) {
        edges.extend(entered(callee).iter().map(|&source| (caller, source)));
    }
    let mut map = SourceMap {
        sequences: SourceMap::new().sequences,
        ..sources.clone()
    };
    let known = map.sequences.iter().cloned().zip((0..).map(SourceSeqId));
    let mut sequences: HashMap<Vec<SourceId>, SourceSeqId> = known.collect();
    for (index, source) in (0..).zip(&mut map.sources) {
        let from = SourceId(index);
        let range = (from, SourceId(0))..=(from, SourceId(u32::MAX));
        let successors: Vec<SourceId> = edges.range(range).map(|&(_, to)| to).collect();
        source.successors = *sequences
            .entry(successors)
            .or_insert_with_key(|successors| {
                map.sequences.push(successors.clone());
                SourceSeqId(map.sequences.len() as u32 - 1)
            });
    }
    map
}

/// A node for each function, then one for each signature of closures. Edges within functions are
/// added on the way.
fn nodes(module: &VerifiedModule, edges: &mut BTreeSet<(SourceId, SourceId)>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut signatures: HashMap<Signature, usize> = HashMap::new();
    let mut closures: Vec<Node> = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        if function.captures.is_some() {
            let node = *signatures.entry(function.signature).or_insert_with(|| {
                closures.push(Node::default());
                module.functions.len() + closures.len() - 1
            });
            closures[node - module.functions.len()]
                .passes_to
                .insert(index);
        }
    }
    for facts in module.facts() {
        nodes.push(node(facts, &signatures, edges));
    }
    nodes.extend(closures);
    nodes
}

fn node(
    facts: &FunctionFacts,
    signatures: &HashMap<Signature, usize>,
    edges: &mut BTreeSet<(SourceId, SourceId)>,
) -> Node {
    let mut node = Node::default();
    for (op, stack) in facts.ops.iter().zip(&facts.stacks) {
        // Where control never comes, nothing is called.
        let Some(stack) = *stack else { continue };
        let open = facts.control_stacks.top(stack).map(|(source, _)| source);
        if let Op::Enter { source } = op {
            let entered = SourceId(source.0);
            match open {
                Some(open) => edges.insert((open, entered)),
                None => node.enters.insert(entered),
            };
        }
        let Some(callee) = callee(op, signatures) else {
            continue;
        };
        match open {
            Some(open) => node.calls.insert((open, callee)),
            None => node.passes_to.insert(callee),
        };
    }
    node
}

/// The node that an op calls.
fn callee(op: &Op, signatures: &HashMap<Signature, usize>) -> Option<usize> {
    match op {
        Op::Call { function, .. } | Op::TailCall { function } => Some(function.0 as usize),
        Op::CallClosure { sig, .. } | Op::TailCallClosure { sig, .. } => {
            signatures.get(&sig.0).copied()
        }
        _ => None,
    }
}

/// For each node the sources that are entered first when it is called, by itself or by what it
/// passes its callers on to.
fn first_entered(nodes: &[Node]) -> impl Fn(usize) -> Vec<SourceId> {
    let successors: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| node.passes_to.iter().copied().collect())
        .collect();
    let components = components::of(&successors);
    let mut component_of = vec![0; nodes.len()];
    let mut entered: Vec<Vec<SourceId>> = Vec::with_capacity(components.len());
    // A component comes after those that it passes on to.
    for (index, members) in components.iter().enumerate() {
        members.iter().for_each(|&node| component_of[node] = index);
        let mut all: BTreeSet<SourceId> = BTreeSet::new();
        for &node in members {
            all.extend(&nodes[node].enters);
            let passed = nodes[node]
                .passes_to
                .iter()
                .map(|&callee| component_of[callee]);
            for component in passed.filter(|&component| component != index) {
                all.extend(&entered[component]);
            }
            while all.len() > MAX_ENTERED {
                all.pop_last();
            }
        }
        entered.push(all.into_iter().collect());
    }
    move |node| {
        let component = component_of.get(node).copied();
        component
            .and_then(|component| entered.get(component))
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{AssembleOptions, TailCalls, assemble};
    use expect_test::{Expect, expect};

    /// Each source with the labels of its successors.
    fn check(text: &str, expected: Expect) {
        let options = AssembleOptions {
            tail_calls: TailCalls::Always,
            ..Default::default()
        };
        let module = assemble(text, &options).expect("the text is right");
        let map = &module.sources;
        let label = |name: &str| name.split('\t').next().unwrap_or_default().to_owned();
        let mut out = String::new();
        for source in &map.sources {
            let successors = map.sequence(source.successors).unwrap_or_default();
            let names: Vec<String> = successors
                .iter()
                .filter_map(|&id| map.name_of(id))
                .map(label)
                .collect();
            let name = label(&map.names[source.name.index()]);
            out += &format!("{name}: {}\n", names.join(" "));
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn calls_make_edges_and_tail_calls_pass_them_on() {
        check(
            "fun even(n: i) -> i {
                jeq n, 0, yes
                n = sub n, 1
                n = call odd(n)
                ret n
            yes:
                ret 1
            }
            fun odd(n: i) -> i {
                jeq n, 0, no
                n = sub n, 1
                tail_call even(n)
            no:
                ret 0
            }
            fun user(n: i) -> i {
                n = call odd(n)
                n = add n, 1
                ret n
            }
            fun main() {
                n = call user(5)
                ret
            }",
            expect![[r#"
                <unknown>: 
                <gc>: 
                <main>: user
                even: 
                odd: 
                user: even odd
            "#]],
        );
    }

    #[test]
    fn closures_reach_all_of_their_signature() {
        check(
            "closure fun a(n: i) -> i { ret n }
            closure fun b(n: i) -> i { ret 2 }
            closure fun c(n: r) -> i { ret 3 }
            fun apply(f: r) -> i {
                n: i = call_closure f(1)
                n = add n, 1
                ret n
            }
            fun main() {
                f = closure a, [], []
                n = call apply(f)
                ret
            }",
            expect![[r#"
                <unknown>: 
                <gc>: 
                <main>: apply
                a: 
                b: 
                c: 
                apply: a b
            "#]],
        );
    }

    #[test]
    fn a_source_in_a_source_is_its_successor() {
        check(
            "source s = \"inlined\" \"x\" 1
            fun f() {
                enter s
                call f()
                leave s
                ret
            }
            fun main() {
                call f()
                ret
            }",
            expect![[r#"
                <unknown>: 
                <gc>: 
                <main>: f
                inlined: 
                f: inlined
            "#]],
        );
    }
}
