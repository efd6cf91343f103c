//! Parser of expressions by precedence climbing. The operators in order of increasing precedence:
//!
//! ```text
//! a if c else b  <  or ||  <  and &&  <  not !  <  == != < <= > >=  <  + -  <  * / // %  <  unary -  <  **
//! ```

use super::expr::{Expr, GridFunction};
use super::functions::NumericFunction;
use super::lexer::{KEYWORDS, SyntaxError, Token, tokens};
use super::scope::Scope;
use super::timers::TimerFunction;
use super::value::{Binary, Value};

/// Greatest nesting depth of an expression. The limit prevents a stack overflow.
const MAX_DEPTH: u32 = 100;

/// Compiles the expression `text` with the names of `scope`.
pub(super) fn parse(text: &str, scope: &Scope) -> Result<Expr, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, scope };
    let expr = parser.ternary()?;
    match parser.peek() {
        Token::End => Ok(expr),
        Token::Symbol("=") => Err(parser.error("\"=\" does not compare, write \"==\"")),
        _ => Err(parser.unexpected("an operator")),
    }
}

/// Compiles a reference to fragments: `name` or `name[index, from to last, …]`, optionally followed by `if condition`.
pub(super) fn parse_reference(text: &str, scope: &Scope) -> Result<ReferenceForm, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, scope };
    let Token::Word(name) = parser.take() else {
        parser.next = 0;
        return Err(parser.unexpected("a name such as u[i, j]"));
    };
    let mut form = ReferenceForm { name: name.to_owned(), indices: Vec::new(), condition: None };
    if parser.takes(&["["]) && !parser.takes(&["]"]) {
        loop {
            form.indices.push(parser.range()?);
            if !parser.takes(&[","]) {
                break;
            }
        }
        parser.expect("]")?;
    }
    if parser.takes(&["if"]) {
        form.condition = Some(parser.or()?);
    }
    match parser.peek() {
        Token::End => Ok(form),
        _ => Err(parser.unexpected("\"if\" and a condition, or the end")),
    }
}

/// Compiles an index range: `expression` or `first to last`.
pub(super) fn parse_range(text: &str, scope: &Scope) -> Result<(Expr, Option<Expr>), SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, scope };
    let range = parser.range()?;
    match parser.peek() {
        Token::End => Ok(range),
        _ => Err(parser.unexpected("an operator or \"to\"")),
    }
}

/// A reference to members of a family of fragments.
#[derive(Clone, Debug)]
pub(super) struct ReferenceForm {
    pub(super) name: String,
    /// For each dimension of the family, an index, or the first and last index of a range.
    pub(super) indices: Vec<(Expr, Option<Expr>)>,
    pub(super) condition: Option<Expr>,
}

struct Parser<'a> {
    tokens: Vec<(Token<'a>, usize)>,
    next: usize,
    depth: u32,
    scope: &'a Scope,
}

type Parsed = Result<Expr, SyntaxError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    fn column(&self) -> usize {
        self.tokens[self.next].1
    }

    /// Returns the next token and advances. At the end of the text, returns [`Token::End`] again.
    fn take(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, symbols: &[&str]) -> bool {
        let found = match self.peek() {
            Token::Symbol(symbol) => symbols.contains(symbol),
            Token::Word(word) => symbols.contains(word),
            _ => false,
        };
        if found {
            self.take();
        }
        found
    }

    fn error(&self, what: impl Into<String>) -> SyntaxError {
        SyntaxError { column: self.column(), what: what.into() }
    }

    fn unexpected(&self, expected: &str) -> SyntaxError {
        let found = match self.peek() {
            Token::Number(value) => format!("\"{value}\""),
            Token::Word(word) => format!("\"{word}\""),
            Token::Symbol(symbol) => format!("\"{symbol}\""),
            Token::End => "the end".to_owned(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), SyntaxError> {
        if self.takes(&[symbol]) { Ok(()) } else { Err(self.unexpected(&format!("\"{symbol}\""))) }
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} deep")));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses an expression, or the first and last index of a range.
    fn range(&mut self) -> Result<(Expr, Option<Expr>), SyntaxError> {
        let first = self.ternary()?;
        let last = if self.takes(&["to"]) { Some(self.ternary()?) } else { None };
        Ok((first, last))
    }

    fn ternary(&mut self) -> Parsed {
        self.deeper(|parser| {
            let value = parser.or()?;
            if !parser.takes(&["if"]) {
                return Ok(value);
            }
            let condition = parser.or()?;
            parser.expect("else")?;
            let other = parser.ternary()?;
            Ok(Expr::If(Box::new((condition, value, other))).fold())
        })
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.takes(&["or", "||"]) {
            left = Expr::Or(Box::new((left, self.and()?))).fold();
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.not()?;
        while self.takes(&["and", "&&"]) {
            left = Expr::And(Box::new((left, self.not()?))).fold();
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed {
        if self.takes(&["not", "!"]) {
            let operand = self.deeper(Self::not)?;
            return Ok(Expr::Not(Box::new(operand)).fold());
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let Some(op) = self.operator(&COMPARISONS) else { return Ok(left) };
        let right = self.sum()?;
        if self.operator(&COMPARISONS).is_some() {
            self.next -= 1;
            return Err(self.error("comparisons do not chain, write \"a < b and b < c\""));
        }
        Ok(Expr::Binary(op, Box::new((left, right))).fold())
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        while let Some(op) = self.operator(&SUMS) {
            left = Expr::Binary(op, Box::new((left, self.product()?))).fold();
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while let Some(op) = self.operator(&PRODUCTS) {
            left = Expr::Binary(op, Box::new((left, self.unary()?))).fold();
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        if self.takes(&["-"]) {
            let operand = self.deeper(Self::unary)?;
            return Ok(Expr::Negate(Box::new(operand)).fold());
        }
        if self.takes(&["+"]) {
            return self.deeper(Self::unary);
        }
        let base = self.atom()?;
        if self.takes(&["**"]) {
            let exponent = self.deeper(Self::unary)?;
            return Ok(Expr::Binary(Binary::Power, Box::new((base, exponent))).fold());
        }
        Ok(base)
    }

    fn operator(&mut self, among: &[(&'static str, Binary)]) -> Option<Binary> {
        let Token::Symbol(found) = self.peek() else { return None };
        let op = among.iter().find(|(symbol, _)| symbol == found)?.1;
        self.take();
        Some(op)
    }

    fn atom(&mut self) -> Parsed {
        match *self.peek() {
            Token::Number(value) => {
                self.take();
                Ok(Expr::Const(value))
            }
            Token::Symbol("(") => {
                self.take();
                let inner = self.ternary()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Word(word) if !KEYWORDS.contains(&word) => {
                if matches!(self.tokens[self.next + 1].0, Token::Symbol("(")) {
                    return self.call(word);
                }
                let expr = self.scope.name(word).map_err(|what| self.error(what))?;
                self.take();
                Ok(expr)
            }
            _ => Err(self.unexpected("a number, a name or \"(\"")),
        }
    }

    fn call(&mut self, name: &'a str) -> Parsed {
        let place = self.column();
        let fail = |what: String| SyntaxError { column: place, what };
        self.take();
        self.take();
        match name {
            "comm_rank" | "comm_size" => {
                let comm = self.thing(name, "communicator", |scope, word| scope.comm(word))?;
                self.expect(")")?;
                Ok(match (name, comm, self.scope.size()) {
                    ("comm_rank", 0, _) => Expr::Rank,
                    ("comm_rank", comm, _) => Expr::CommRank(comm),
                    (_, 0, Some(size)) => Expr::Const(Value::Int(i64::from(size))),
                    (_, 0, None) => Expr::Size,
                    (_, comm, _) => Expr::CommSize(comm),
                })
            }
            "coord" | "dims" | "neighbor" | "rank_at" => {
                let grid = self.thing(name, "grid", |scope, word| scope.grid(word))?;
                let mut arguments = Vec::new();
                while self.takes(&[","]) {
                    arguments.push(self.ternary()?);
                }
                self.expect(")")?;
                let dimensions = self.scope.dimensions(grid);
                let (function, usage, fits) = match name {
                    "coord" => (GridFunction::Coord, "coord(grid, dimension)", matches!(arguments.len(), 1 | 2)),
                    "dims" => (GridFunction::Dims, "dims(grid, dimension)", arguments.len() == 1),
                    "neighbor" => (GridFunction::Neighbor, "neighbor(grid, dimension, distance)", arguments.len() == 2),
                    _ => (
                        GridFunction::RankAt,
                        "rank_at(grid, a coordinate for each dimension)",
                        arguments.len() == dimensions,
                    ),
                };
                if !fits {
                    return Err(fail(format!("expected {usage}")));
                }
                Ok(Expr::Grid(function, grid, arguments.into()))
            }
            _ if let Some(function) = TimerFunction::ALL.into_iter().find(|function| function.name() == name) => {
                if !self.scope.results {
                    return Err(fail(format!("\"{name}\" uses the times of all ranks, available only in [results]")));
                }
                let timer = self.thing(name, "timer", |scope, word| scope.timer(word))?;
                let index = if self.takes(&[","]) { self.ternary()? } else { Expr::Const(Value::Int(0)) };
                self.expect(")")?;
                Ok(Expr::Timer(function, timer, Box::new(index)))
            }
            _ => {
                let function = NumericFunction::ALL.iter().copied().find(|function| function.name() == name);
                let function = function.ok_or_else(|| fail(self.scope.unknown_function(name)))?;
                if function.is_random() {
                    self.scope.random().map_err(fail)?;
                }
                let mut arguments = Vec::new();
                if !self.takes(&[")"]) {
                    arguments.push(self.ternary()?);
                    while self.takes(&[","]) {
                        arguments.push(self.ternary()?);
                    }
                    self.expect(")")?;
                }
                let (least, most) = function.arity();
                if !(least..=most).contains(&arguments.len()) {
                    let expected = if least == most { format!("{least}") } else { format!("at least {least}") };
                    let found = arguments.len();
                    let plural = if least == 1 { "" } else { "s" };
                    return Err(fail(format!("{name} takes {expected} argument{plural}, found {found}")));
                }
                Ok(Expr::Call(function, arguments.into()).fold())
            }
        }
    }

    /// Parses the name of a grid, communicator or timer as the first argument of a function.
    fn thing(
        &mut self,
        function: &str,
        kind: &str,
        find: impl FnOnce(&Scope, &str) -> Result<u32, String>,
    ) -> Result<u32, SyntaxError> {
        let Token::Word(word) = *self.peek() else {
            return Err(self.unexpected(&format!("the name of a {kind} as the first argument of {function}")));
        };
        let found = find(self.scope, word).map_err(|what| self.error(what))?;
        self.take();
        Ok(found)
    }
}

const COMPARISONS: [(&str, Binary); 6] = [
    ("==", Binary::Equal),
    ("!=", Binary::NotEqual),
    ("<", Binary::Less),
    ("<=", Binary::LessEqual),
    (">", Binary::Greater),
    (">=", Binary::GreaterEqual),
];

const SUMS: [(&str, Binary); 2] = [("+", Binary::Add), ("-", Binary::Subtract)];

const PRODUCTS: [(&str, Binary); 4] =
    [("*", Binary::Multiply), ("/", Binary::Divide), ("//", Binary::FloorDivide), ("%", Binary::Modulo)];
