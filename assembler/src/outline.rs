//! What a text defines, without assembling it.

use crate::parser;
use crate::syntax::{Stmt, StmtKind};

/// The full names of the functions that a text defines, nested ones included, as far as it can be
/// read.
pub fn function_names(text: &str) -> Vec<String> {
    let (statements, _) = parser::parse(text);
    let mut names = Vec::new();
    collect(&statements, "", &mut names);
    names
}

fn collect(statements: &[Stmt], outer: &str, names: &mut Vec<String>) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Fun(fun) => {
                let name = match outer {
                    "" => fun.name.text.clone(),
                    outer => format!("{outer}.{}", fun.name.text),
                };
                collect(&fun.body, &name, names);
                names.push(name);
            }
            StmtKind::Try { body, .. } => collect(body, outer, names),
            _ => {}
        }
    }
}
