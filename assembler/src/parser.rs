//! Tokens to statements. After an error the parser goes on with the next line.

mod operands;

pub(crate) use operands::{TOO_MANY_PARAMETERS, float_of, signature_of};

use std::collections::HashSet;

use crate::diagnostic::{Diagnostic, LineIndex, MAX_DIAGNOSTICS, Span};
use crate::lexer::{Token, lex};
use crate::syntax::*;

/// How deep functions, `try` regions and lists may nest: what keeps the parser's own stack small.
const MAX_NESTING: usize = 64;

/// The statements of a text, and what is wrong with it.
pub(crate) fn parse(text: &str) -> (Vec<Stmt>, Vec<Diagnostic>) {
    let (tokens, errors) = lex(text);
    let mut parser = Parser {
        tokens,
        position: 0,
        errors,
        nesting: 0,
        missed_brace: false,
    };
    let statements = parser.statements(false);
    (statements, without_echoes(text, parser.errors))
}

/// The errors without those that stand behind another one on its line, which mostly follow from it.
fn without_echoes(text: &str, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let lines = LineIndex::new(text);
    let mut seen = HashSet::new();
    errors
        .into_iter()
        .filter(|error| seen.insert(lines.line(error.span.start)))
        .collect()
}

pub(crate) struct Parser {
    tokens: Vec<(Token, Span)>,
    position: usize,
    errors: Vec<Diagnostic>,
    nesting: usize,
    /// Whether it has been said that a brace is missing.
    missed_brace: bool,
}

type Parsed<T> = Result<T, Diagnostic>;

impl Parser {
    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.position + ahead)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens
            .get(self.position)
            .or(self.tokens.last())
            .map_or(Span::default(), |t| t.1)
    }

    fn last_span(&self) -> Span {
        self.tokens[self.position.saturating_sub(1).min(self.tokens.len() - 1)].1
    }

    fn next(&mut self) -> (Token, Span) {
        let token = self.tokens.get(self.position).cloned();
        self.position += 1;
        token.unwrap_or((Token::End, self.span()))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name == word)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.position += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.position += usize::from(found);
        found
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let message = format!("{wanted} should stand here, not {}", self.peek().describe());
        Err(Diagnostic::new(self.span(), message))
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.eat(sign) {
            Ok(())
        } else {
            self.unexpected(&format!("`{sign}`"))
        }
    }

    /// A name, in quotes when it is no plain one.
    fn name(&mut self, wanted: &str) -> Parsed<Name> {
        let span = self.span();
        match self.peek() {
            Token::Name(text) => {
                let text = text.clone();
                self.position += 1;
                Ok(Name { text, span })
            }
            Token::Text(_) => Ok(Name {
                text: self.string()?,
                span,
            }),
            _ => self.unexpected(wanted),
        }
    }

    /// A string that is text.
    fn string(&mut self) -> Parsed<String> {
        let span = self.span();
        let Token::Text(bytes) = self.peek() else {
            return self.unexpected("a string");
        };
        let text = String::from_utf8(bytes.clone());
        self.position += 1;
        text.map_err(|_| Diagnostic::new(span, "a name must be UTF-8"))
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == MAX_NESTING {
            let message = format!("this nests deeper than {MAX_NESTING} levels");
            return Err(Diagnostic::new(self.span(), message));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Statements up to a closing brace, or the end of the text.
    fn statements(&mut self, in_braces: bool) -> Vec<Stmt> {
        let mut statements = Vec::new();
        loop {
            match self.peek() {
                Token::Newline => self.position += 1,
                Token::End => return statements,
                Token::Sign("}") if in_braces => return statements,
                _ if self.errors.len() >= MAX_DIAGNOSTICS => return statements,
                _ => match self.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(error) => {
                        self.errors.push(error);
                        self.recover();
                    }
                },
            }
        }
    }

    /// Goes on behind the line. If its end opens a brace, what stands in it is read, so that its
    /// end is not taken for another one's.
    fn recover(&mut self) {
        let start = self.position;
        while !matches!(self.peek(), Token::Newline | Token::End) {
            self.position += 1;
        }
        let opens = matches!(
            self.tokens.get(self.position.wrapping_sub(1)),
            Some((Token::Sign("{"), _))
        );
        if opens && self.position > start {
            self.position -= 1;
            let body = self.body();
            self.errors.extend(body.err());
        }
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let kind = self.statement_kind()?;
        // A label may share its line with what it labels, and a brace ends a statement too.
        let ended = matches!(kind, StmtKind::Label(_))
            || matches!(self.peek(), Token::Newline | Token::End | Token::Sign("}"));
        if !ended {
            return self.unexpected("the end of the line");
        }
        Ok(Stmt {
            kind,
            span: start.to(self.last_span()),
        })
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        if let Token::Directive(text) = self.peek().clone() {
            let name = Name {
                text,
                span: self.span(),
            };
            self.position += 1;
            return Ok(StmtKind::Directive {
                name,
                args: self.args()?,
            });
        }
        let Token::Name(word) = self.peek().clone() else {
            return self.unexpected("a statement");
        };
        let begins_declaration = matches!(self.peek_at(1), Token::Name(_) | Token::Text(_));
        match word.as_str() {
            "fun" | "export" if begins_declaration => self.function(),
            "closure" if matches!(self.peek_at(1), Token::Name(next) if next == "fun") => {
                self.function()
            }
            "host" if begins_declaration => self.host(),
            "data" if begins_declaration => self.data_declaration(),
            "global" if begins_declaration => self.global(),
            "source" if begins_declaration => self.source(),
            "try" if begins_declaration => self.try_region(),
            _ if matches!(self.peek_at(1), Token::Sign(":")) && !self.is_annotated() => {
                let name = self.name("a label")?;
                self.position += 1;
                Ok(StmtKind::Label(name))
            }
            _ => self.op(),
        }
    }

    /// Whether `x: r = ...` or `x: r, y = ...` stands here, which a label does not.
    fn is_annotated(&self) -> bool {
        matches!(self.peek_at(2), Token::Name(kind) if kind_of(kind).is_some())
            && matches!(self.peek_at(3), Token::Sign("=" | ","))
    }

    fn host(&mut self) -> Parsed<StmtKind> {
        self.position += 1;
        let name = self.name("the name of a host function")?;
        let params = self.params("(", ")")?;
        Ok(StmtKind::Host {
            name,
            params,
            results: self.results()?,
        })
    }

    fn data_declaration(&mut self) -> Parsed<StmtKind> {
        self.position += 1;
        let name = self.name("the name of a constant")?;
        self.expect("=")?;
        if let Some(value) = self.data()? {
            return Ok(StmtKind::Data { name, value });
        }
        if let Some(value) = self.object_data()? {
            return Ok(StmtKind::Object { name, value });
        }
        let error = self.unexpected("a constant");
        let kinds = "`i64 [..]`, `f64`, `bytes`, `refs`, `text`, `record` or `closure`";
        error.map_err(|error: Diagnostic| error.with_help(kinds))
    }

    /// `global g: i = 5`; without a value it is 0 or null.
    fn global(&mut self) -> Parsed<StmtKind> {
        self.position += 1;
        let name = self.name("the name of a global")?;
        self.expect(":")?;
        let kind = self.kind()?;
        let value = match self.eat("=") {
            true => Some(self.arg()?),
            false => None,
        };
        Ok(StmtKind::Global { name, kind, value })
    }

    fn source(&mut self) -> Parsed<StmtKind> {
        self.position += 1;
        let name = self.name("the name of a source")?;
        self.expect("=")?;
        let label = self.string()?;
        let mut place = None;
        if matches!(self.peek(), Token::Text(_)) {
            let file = self.string()?;
            place = Some((file, self.line_number()?));
        }
        Ok(StmtKind::Source { name, label, place })
    }

    fn line_number(&mut self) -> Parsed<u32> {
        let span = self.span();
        match self.peek() {
            Token::Int(line) => {
                let line = u32::try_from(*line);
                self.position += 1;
                line.map_err(|_| Diagnostic::new(span, "a line is a number from 0 to 2^32 - 1"))
            }
            _ => self.unexpected("a line number"),
        }
    }

    fn try_region(&mut self) -> Parsed<StmtKind> {
        self.position += 1;
        let target = self.name("the handler's label")?;
        self.expect("(")?;
        let register = self.name("the register of the exception")?;
        self.expect(")")?;
        let body = self.body()?;
        Ok(StmtKind::Try {
            target,
            register,
            body,
        })
    }

    fn body(&mut self) -> Parsed<Vec<Stmt>> {
        let open = self.span();
        self.expect("{")?;
        let body = self.nested(|parser| Ok(parser.statements(true)))?;
        if !self.eat("}") {
            let error = Diagnostic::new(open, "this brace is never closed");
            // One is enough: those around it are not closed either.
            return match self.errors.len() >= MAX_DIAGNOSTICS || self.missed_brace {
                true => Ok(body),
                false => {
                    self.missed_brace = true;
                    Err(error)
                }
            };
        }
        Ok(body)
    }

    fn function(&mut self) -> Parsed<StmtKind> {
        let is_exported = self.eat_word("export");
        let is_closure = self.eat_word("closure");
        if !self.eat_word("fun") {
            return self.unexpected("`fun`");
        }
        let name = self.name("the name of a function")?;
        let captures = match is_closure {
            true if self.is_sign("{") => Some(self.params("{", "}")?),
            true => Some(Vec::new()),
            false => None,
        };
        let params = self.params("(", ")")?;
        let results = self.results()?;
        let body = self.body()?;
        Ok(StmtKind::Fun(Box::new(Fun {
            name,
            is_exported,
            captures,
            params,
            results,
            body,
        })))
    }

    /// `(x: i, r)`: names are optional.
    fn params(&mut self, open: &str, close: &str) -> Parsed<Vec<Param>> {
        self.expect(open)?;
        let mut params = Vec::new();
        while !self.is_sign(close) {
            params.push(self.param()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(close)?;
        Ok(params)
    }

    fn param(&mut self) -> Parsed<Param> {
        let start = self.span();
        let named = matches!(self.peek_at(1), Token::Sign(":"));
        let name = if named {
            Some(self.name("a name")?)
        } else {
            None
        };
        self.position += usize::from(named);
        let kind = self.kind()?;
        Ok(Param {
            name,
            kind,
            span: start.to(self.last_span()),
        })
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let kind = match self.peek() {
            Token::Name(word) => kind_of(word),
            _ => None,
        };
        match kind {
            Some(kind) => {
                self.position += 1;
                Ok(kind)
            }
            None => self.unexpected("a class, `i`, `f` or `r`,"),
        }
    }

    /// `-> i` or `-> (i, r)` or nothing.
    fn results(&mut self) -> Parsed<Vec<Param>> {
        if !self.eat("->") {
            return Ok(Vec::new());
        }
        if self.is_sign("(") {
            return self.params("(", ")");
        }
        Ok(vec![self.param()?])
    }
}

fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "i" => Some(Kind::Int),
        "f" => Some(Kind::Float),
        "r" => Some(Kind::Ref),
        _ => None,
    }
}
