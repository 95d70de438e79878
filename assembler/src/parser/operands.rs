//! Ops and their operands.

use vm::isa::{Opcode, Signature};

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::ir::Class;
use crate::lexer::Token;
use crate::syntax::*;

impl Parser {
    pub(super) fn op(&mut self) -> Parsed<StmtKind> {
        let dsts = if self.has_destinations() {
            self.destinations()?
        } else {
            Vec::new()
        };
        if !dsts.is_empty() && !self.is_mnemonic() {
            let args = vec![self.arg()?];
            return Ok(StmtKind::Op(OpStmt {
                dsts,
                mnemonic: None,
                args,
                call_args: None,
            }));
        }
        let mnemonic = self.name("an op")?;
        let mut args = Vec::new();
        let mut call_args = None;
        if !self.at_end_of_statement() {
            args.push(self.arg()?);
            if self.is_sign("(") {
                call_args = Some(self.list("(", ")")?);
            } else if self.eat(",") {
                args.extend(self.args()?);
            }
        }
        Ok(StmtKind::Op(OpStmt {
            dsts,
            mnemonic: Some(mnemonic),
            args,
            call_args,
        }))
    }

    /// Whether what stands behind `=` begins an op, not a value.
    fn is_mnemonic(&self) -> bool {
        let Token::Name(word) = self.peek() else {
            return false;
        };
        let stands_alone = matches!(
            self.peek_at(1),
            Token::Newline | Token::End | Token::Sign("}")
        );
        match word.as_str() {
            "i64" | "f64" | "bytes" => false,
            "cap" => true,
            word => Opcode::from_mnemonic(word).is_some() || !stands_alone,
        }
    }

    /// Whether names, perhaps with classes, stand before a `=`.
    fn has_destinations(&self) -> bool {
        let mut ahead = 0;
        loop {
            if !matches!(self.peek_at(ahead), Token::Name(_)) {
                return false;
            }
            ahead += 1;
            if matches!(self.peek_at(ahead), Token::Sign(":")) {
                ahead += 2;
            }
            match self.peek_at(ahead) {
                Token::Sign("=") => return true,
                Token::Sign(",") => ahead += 1,
                _ => return false,
            }
        }
    }

    fn destinations(&mut self) -> Parsed<Vec<Dst>> {
        let mut dsts = Vec::new();
        loop {
            let name = self.name("a register")?;
            let kind = if self.eat(":") {
                Some(self.kind()?)
            } else {
                None
            };
            dsts.push(Dst { name, kind });
            if !self.eat(",") {
                self.expect("=")?;
                return Ok(dsts);
            }
        }
    }

    fn at_end_of_statement(&self) -> bool {
        matches!(self.peek(), Token::Newline | Token::End | Token::Sign("}"))
    }

    /// Operands up to the end of the statement.
    pub(super) fn args(&mut self) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        while !self.at_end_of_statement() {
            args.push(self.arg()?);
            // `.line 3 "file"` is written without commas, as in other assemblers.
            if !self.eat(",") && !matches!(self.peek(), Token::Text(_)) {
                break;
            }
        }
        Ok(args)
    }

    fn list(&mut self, open: &str, close: &str) -> Parsed<Vec<Arg>> {
        self.expect(open)?;
        let mut args = Vec::new();
        while !self.is_sign(close) {
            args.push(self.nested(Self::arg)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(close)?;
        Ok(args)
    }

    pub(super) fn arg(&mut self) -> Parsed<Arg> {
        let start = self.span();
        let kind = self.arg_kind()?;
        Ok(Arg {
            kind,
            span: start.to(self.last_span()),
        })
    }

    fn arg_kind(&mut self) -> Parsed<ArgKind> {
        if let Some(data) = self.data()? {
            return Ok(ArgKind::Data(data));
        }
        let kind = match self.peek().clone() {
            Token::Name(name) => ArgKind::Name(name),
            Token::Int(value) => ArgKind::Int(value),
            Token::Float(value) => ArgKind::Float(value),
            Token::Text(bytes) => ArgKind::Text(bytes),
            Token::Sign("[") => return Ok(ArgKind::List(self.list("[", "]")?)),
            Token::Sign("(") => {
                let params = self.params("(", ")")?;
                let results = self.results()?;
                return Ok(ArgKind::Sig(self.signature(&params, &results)?));
            }
            Token::Sign("@") => {
                self.position += 1;
                return Ok(ArgKind::Index(self.line_number()?));
            }
            _ => return self.unexpected("an operand"),
        };
        self.position += 1;
        Ok(kind)
    }

    fn signature(&self, params: &[Param], results: &[Param]) -> Parsed<Signature> {
        signature_of(params, results)
            .ok_or_else(|| Diagnostic::new(self.last_span(), TOO_MANY_PARAMETERS))
    }

    /// A constant that is written out, if one stands here.
    pub(super) fn data(&mut self) -> Parsed<Option<Data>> {
        let Token::Name(word) = self.peek().clone() else {
            return Ok(None);
        };
        let is_list = matches!(self.peek_at(1), Token::Sign("["));
        let is_string = matches!(self.peek_at(1), Token::Text(_));
        let data = match word.as_str() {
            "i64" if is_list => Data::Ints(self.numbers(|kind| match kind {
                ArgKind::Int(value) => Some(value),
                _ => None,
            })?),
            "f64" if is_list => Data::Floats(self.numbers(float_of)?),
            "bytes" if is_list => Data::Bytes(self.numbers(|kind| match kind {
                ArgKind::Int(value) => u8::try_from(value).ok(),
                _ => None,
            })?),
            "text" | "bytes" if is_string => {
                self.position += 1;
                let (Token::Text(bytes), _) = self.next() else {
                    return Ok(None);
                };
                if word == "text" {
                    Data::Text(bytes)
                } else {
                    Data::Bytes(bytes)
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(data))
    }

    /// A constant that refers to others, if one stands here.
    pub(super) fn object_data(&mut self) -> Parsed<Option<ObjectData>> {
        let Token::Name(word) = self.peek().clone() else {
            return Ok(None);
        };
        let kind = match word.as_str() {
            "refs" => {
                self.position += 1;
                ObjectKind::Refs
            }
            "record" => {
                self.position += 1;
                let tag = self.arg()?;
                let wrong = || Diagnostic::new(tag.span, "a tag is a number from 0 to 65535");
                match tag.kind {
                    ArgKind::Int(value) => {
                        ObjectKind::Record(u16::try_from(value).map_err(|_| wrong())?)
                    }
                    _ => return Err(wrong()),
                }
            }
            "closure" => {
                self.position += 1;
                ObjectKind::Closure(self.arg()?)
            }
            _ => return Ok(None),
        };
        let refs = self.list("[", "]")?;
        let has_ints = kind != ObjectKind::Refs && self.is_sign("[");
        let ints = match has_ints {
            true => self.words()?,
            false => Vec::new(),
        };
        Ok(Some(ObjectData { kind, refs, ints }))
    }

    /// A list of raw words: integers, and doubles as their bits.
    fn words(&mut self) -> Parsed<Vec<i64>> {
        let read = |arg: Arg| match arg.kind {
            ArgKind::Int(value) => Ok(value),
            ArgKind::Float(value) => Ok(value.to_bits() as i64),
            kind => {
                let message = format!("{} is no element of this list", kind.describe());
                Err(Diagnostic::new(arg.span, message))
            }
        };
        self.list("[", "]")?.into_iter().map(read).collect()
    }

    fn numbers<T>(&mut self, read: impl Fn(ArgKind) -> Option<T>) -> Parsed<Vec<T>> {
        self.position += 1;
        let mut numbers = Vec::new();
        for arg in self.list("[", "]")? {
            let message = format!("{} is no element of this list", arg.kind.describe());
            let number = read(arg.kind).ok_or_else(|| Diagnostic::new(arg.span, message))?;
            numbers.push(number);
        }
        Ok(numbers)
    }
}

/// What a text with more parameters or results than a signature can count is told.
pub(crate) const TOO_MANY_PARAMETERS: &str =
    "a byte counts the parameters and results of each class";

/// How many parameters and results of each class there are; `None` when a byte cannot count them.
pub(crate) fn signature_of(params: &[Param], results: &[Param]) -> Option<Signature> {
    let count = |list: &[Param], class: Class| {
        u8::try_from(
            list.iter()
                .filter(|param| param.kind.class() == class)
                .count(),
        )
        .ok()
    };
    Some(Signature {
        int_params: count(params, Class::Int)?,
        ref_params: count(params, Class::Ref)?,
        int_results: count(results, Class::Int)?,
        ref_results: count(results, Class::Ref)?,
    })
}

/// The double that an operand says, where nothing but a double can stand.
pub(crate) fn float_of(kind: ArgKind) -> Option<f64> {
    match kind {
        ArgKind::Float(value) => Some(value),
        // Compared in 128 bits: a conversion to 64 would make 2^63 its neighbour.
        ArgKind::Int(value) if value as f64 as i128 == i128::from(value) => Some(value as f64),
        ArgKind::Name(name) if name == "inf" => Some(f64::INFINITY),
        ArgKind::Name(name) if name == "nan" => Some(f64::NAN),
        _ => None,
    }
}
