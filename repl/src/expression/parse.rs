//! Tokens to expressions.

use vm::module::Constant;

use super::lex::{Token, lex};
use super::{Binary, Expr, ExprKind, Input, Wrong};
use crate::values::Kind;

/// How deep expressions may nest.
const MAX_DEPTH: usize = 64;
/// The most operators of an expression: each makes it deeper.
const MAX_OPERATORS: usize = 500;

/// Reads a line of the language.
pub(crate) fn parse(text: &str) -> Result<Input, Wrong> {
    let mut parser = Parser {
        tokens: lex(text)?,
        at: 0,
        depth: 0,
        n_operators: 0,
    };
    let mut names = Vec::new();
    if parser.is_word("let") {
        parser.at += 1;
        loop {
            names.push(parser.new_name()?);
            if !parser.eat(",") {
                break;
            }
        }
        parser.expect("=")?;
    }
    let expr = parser.expr()?;
    match parser.peek() {
        Token::End => Ok(Input { names, expr }),
        _ => parser.unexpected("an operator or the end"),
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    n_operators: usize,
}

type Parsed<T> = Result<T, Wrong>;

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(one, _)| one)
    }

    fn column(&self) -> usize {
        let at = self.at.min(self.tokens.len() - 1);
        self.tokens[at].1
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let message = format!("{wanted} should stand here, not {}", self.peek().describe());
        Err(Wrong::new(self.column(), message))
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        match self.eat(sign) {
            true => Ok(()),
            false => self.unexpected(&format!("`{sign}`")),
        }
    }

    /// Goes over an operator.
    fn operator(&mut self) -> Parsed<()> {
        self.n_operators += 1;
        if self.n_operators > MAX_OPERATORS {
            let message = format!("an expression has at most {MAX_OPERATORS} operators");
            return Err(Wrong::new(self.column(), message));
        }
        self.at += 1;
        Ok(())
    }

    fn new_name(&mut self) -> Parsed<String> {
        let Token::Name(name) = self.peek().clone() else {
            return self.unexpected("a name");
        };
        if name.contains('.') {
            let message = format!("`{name}` cannot be bound: names of values have no dots");
            return Err(Wrong::new(self.column(), message));
        }
        if ["let", "null", "as"].contains(&name.as_str()) {
            return self.unexpected("a name");
        }
        self.at += 1;
        Ok(name)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("expressions nest at most {MAX_DEPTH} deep");
            return Err(Wrong::new(self.column(), message));
        }
        let left = self.sum()?;
        let op = match self.peek() {
            Token::Sign("==") => Binary::Eq,
            Token::Sign("!=") => Binary::Ne,
            Token::Sign("<") => Binary::Lt,
            Token::Sign("<=") => Binary::Le,
            Token::Sign(">") => Binary::Gt,
            Token::Sign(">=") => Binary::Ge,
            _ => {
                self.depth -= 1;
                return Ok(left);
            }
        };
        self.operator()?;
        let right = self.sum()?;
        self.depth -= 1;
        Ok(binary(op, left, right))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let mut left = self.term()?;
        loop {
            let op = match self.peek() {
                Token::Sign("+") => Binary::Add,
                Token::Sign("-") => Binary::Sub,
                _ => return Ok(left),
            };
            self.operator()?;
            left = binary(op, left, self.term()?);
        }
    }

    fn term(&mut self) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let op = match self.peek() {
                Token::Sign("*") => Binary::Mul,
                Token::Sign("/") => Binary::Div,
                Token::Sign("%") => Binary::Rem,
                _ => return Ok(left),
            };
            self.operator()?;
            left = binary(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let column = self.column();
        let mut n_signs = 0;
        while self.eat("-") {
            n_signs += 1;
        }
        let mut expr = self.suffix()?;
        for _ in 0..n_signs % 2 {
            let kind = match expr.kind {
                ExprKind::Int(number) => ExprKind::Int(number.wrapping_neg()),
                ExprKind::Float(number) => ExprKind::Float(-number),
                _ => ExprKind::Negate(Box::new(expr)),
            };
            expr = Expr { kind, column };
        }
        Ok(expr)
    }

    fn suffix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        while self.is_word("as") {
            self.operator()?;
            let kind = match self.peek() {
                Token::Name(name) if name == "int" => Kind::Int,
                Token::Name(name) if name == "float" => Kind::Float,
                _ => return self.unexpected("`int` or `float`"),
            };
            self.at += 1;
            expr = Expr {
                column: expr.column,
                kind: ExprKind::As(Box::new(expr), kind),
            };
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let column = self.column();
        let token = self.peek().clone();
        self.at += 1;
        let kind = match token {
            Token::Int(number) => ExprKind::Int(number),
            Token::Float(number) => ExprKind::Float(number),
            Token::Text(bytes) => match (self.is_sign("("), String::from_utf8(bytes.clone())) {
                // A function whose name is no plain one.
                (true, Ok(name)) => self.applied(name)?,
                _ => ExprKind::Text(bytes),
            },
            Token::Sign("(") => {
                let inner = self.expr()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign("[") => ExprKind::List(self.items("]")?),
            Token::Sign("&") => ExprKind::Immediate(self.signed()?),
            Token::Sign("#") => {
                let tag = self.signed()?;
                let Ok(tag) = u16::try_from(tag) else {
                    return Err(Wrong::new(column, "a tag is a number from 0 to 65535"));
                };
                self.expect("(")?;
                ExprKind::Record(tag, self.items(")")?)
            }
            Token::Name(name) => match name.as_str() {
                "null" => ExprKind::Null,
                "i64" | "f64" | "bytes" if self.is_sign("[") => self.array(&name)?,
                "let" => {
                    return Err(Wrong::new(
                        column,
                        "`let` stands at the start of a line only",
                    ));
                }
                _ => self.applied(name)?,
            },
            _ => {
                self.at -= 1;
                return self.unexpected("a value");
            }
        };
        Ok(Expr { kind, column })
    }

    /// A name and what follows it.
    fn applied(&mut self, name: String) -> Parsed<ExprKind> {
        if self.eat("(") {
            return Ok(ExprKind::Call(name, self.items(")")?));
        }
        if self.eat("{") {
            return Ok(ExprKind::Closure(name, self.items("}")?));
        }
        Ok(ExprKind::Name(name))
    }

    fn signed(&mut self) -> Parsed<i64> {
        let is_negative = self.eat("-");
        let Token::Int(number) = *self.peek() else {
            return self.unexpected("an integer");
        };
        self.at += 1;
        Ok(if is_negative {
            number.wrapping_neg()
        } else {
            number
        })
    }

    fn items(&mut self, end: &str) -> Parsed<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.eat(end) {
            items.push(self.expr()?);
            if !self.eat(",") && !self.is_sign(end) {
                return self.unexpected(&format!("`,` or `{end}`"));
            }
        }
        Ok(items)
    }

    fn array(&mut self, kind: &str) -> Parsed<ExprKind> {
        self.expect("[")?;
        let items = self.items("]")?;
        let wrong = |item: &Expr| {
            let message = format!("the elements of `{kind} [..]` are numbers");
            Wrong::new(item.column, message)
        };
        let int = |item: &Expr| match item.kind {
            ExprKind::Int(number) => Ok(number),
            _ => Err(wrong(item)),
        };
        let float = |item: &Expr| match item.kind {
            ExprKind::Int(number) => Ok(number as f64),
            ExprKind::Float(number) => Ok(number),
            _ => Err(wrong(item)),
        };
        let byte = |item: &Expr| {
            let message = "a byte is a number from 0 to 255";
            u8::try_from(int(item)?).map_err(|_| Wrong::new(item.column, message))
        };
        let items = items.iter();
        Ok(ExprKind::Array(match kind {
            "i64" => Constant::Ints(items.map(int).collect::<Parsed<_>>()?),
            "f64" => Constant::Floats(items.map(float).collect::<Parsed<_>>()?),
            _ => Constant::Bytes(items.map(byte).collect::<Parsed<_>>()?),
        }))
    }
}

fn binary(op: Binary, left: Expr, right: Expr) -> Expr {
    Expr {
        column: left.column,
        kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
    }
}
