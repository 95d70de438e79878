//! S-expressions: the syntax of `-keep`.

/// Lists may nest this deep.
const MAX_DEPTH: usize = 200;

/// One expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sexp {
    Atom(String),
    List(Vec<Sexp>),
    Text(String),
}

/// Reads the first expression of `text`; what follows it is ignored, as upstream does. A `;`
/// starts a comment that runs to the end of the line. In a text, a backslash makes the next
/// character literal.
pub(super) fn parse(text: &str) -> Result<Sexp, &'static str> {
    let mut chars = text.chars().peekable();
    let mut open: Vec<Vec<Sexp>> = Vec::new();
    while let Some(c) = chars.next() {
        let done = match c {
            _ if is_space(c) => continue,
            ';' => {
                chars.by_ref().find(|&c| c == '\n');
                continue;
            }
            '(' => {
                if open.len() == MAX_DEPTH {
                    return Err("lists nest too deep");
                }
                open.push(Vec::new());
                continue;
            }
            ')' => Sexp::List(open.pop().ok_or("unmatched )")?),
            '"' => Sexp::Text(quoted(&mut chars)?),
            _ => {
                let mut atom = String::from(c);
                while let Some(c) = chars.next_if(|&c| !is_space(c) && !"()\";".contains(c)) {
                    atom.push(c);
                }
                Sexp::Atom(atom)
            }
        };
        match open.last_mut() {
            Some(list) => list.push(done),
            None => return Ok(done),
        }
    }
    Err(if open.is_empty() {
        "nothing there"
    } else {
        "unmatched ("
    })
}

fn quoted(chars: &mut impl Iterator<Item = char>) -> Result<String, &'static str> {
    let mut text = String::new();
    loop {
        match chars.next().ok_or("the closing \" is missing")? {
            '"' => return Ok(text),
            '\\' => text.push(chars.next().ok_or("the closing \" is missing")?),
            c => text.push(c),
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let atom = |text: &str| Sexp::Atom(text.into());
        let text = |text: &str| Sexp::Text(text.into());
        let cases = [
            ("all", Ok(atom("all"))),
            (" ; comment\n all ignored", Ok(atom("all"))),
            (
                r#"(not "<gc>")"#,
                Ok(Sexp::List(vec![atom("not"), text("<gc>")])),
            ),
            (r#""a\"\\b""#, Ok(text(r#"a"\b"#))),
            (
                r#"(a(b)"c"d)"#,
                Ok(Sexp::List(vec![
                    atom("a"),
                    Sexp::List(vec![atom("b")]),
                    text("c"),
                    atom("d"),
                ])),
            ),
            ("", Err("nothing there")),
            ("(a", Err("unmatched (")),
            (")", Err("unmatched )")),
            ("\"a", Err("the closing \" is missing")),
            ("(a;b)", Err("unmatched (")),
        ];
        for (input, expected) in cases {
            assert_eq!(parse(input), expected, "{input}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert_eq!(parse(&"(".repeat(100_000)), Err("lists nest too deep"));
    }
}
