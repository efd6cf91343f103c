//! A formula in the expression language of applications. The caller of the formula supplies the values of the names.
//! Truth values become 0 and 1.

use crate::config::ConfigError;

use super::expr::{Env, Expr};
use super::functions::NumericFunction;
use super::grid::NONE;
use super::lexer::{KEYWORDS, SyntaxError, Token, tokens};
use super::parser;
use super::random::Random;
use super::scope::{RESERVED, Scope};
use super::slots::Slots;
use super::value::Value;
use super::world::AppWorld;

/// An equation: `DEFINITION; …; FORMULA`, where a definition is `NAME = EXPRESSION`.
#[derive(Clone, Debug)]
pub struct Equation {
    text: String,
    /// Names that the equation uses but does not define, in the order of their first use.
    names: Vec<String>,
    /// Definitions in order, each with its name and expression. The variables of the definitions follow the variables
    /// of `names`.
    definitions: Vec<(String, Expr)>,
    result: Expr,
}

impl Equation {
    /// Parses the equation in `text`.
    ///
    /// # Errors
    /// Description of the syntax error, with the column of the error.
    pub fn parse(text: &str) -> Result<Equation, ConfigError> {
        let mut statements = Vec::new();
        let mut start = 0;
        for part in text.split(';') {
            statements.push(Statement::read(part).map_err(|error| wrong(text, start, error))?.at(start));
            start += part.len() + 1;
        }
        let loose = |statement: &&Statement<'_>| statement.name.is_none();
        if let Some(statement) = statements[..statements.len() - 1].iter().find(loose) {
            let column = statement.words.first().map_or(1, |(_, column)| *column);
            let what = "expected a definition such as I = 1000 before each \";\"".to_owned();
            return Err(wrong(text, statement.start, SyntaxError { column, what }));
        }
        let Some(last) = statements.pop().filter(|last| !last.body.trim().is_empty()) else {
            return Err(ConfigError::new(format!("formula \"{text}\": expected a formula after the last \";\"")));
        };
        if last.name.is_some() {
            return Err(ConfigError::new(format!(
                "formula \"{text}\": expected a formula after the definitions, such as \"I = 1000; Tv*I/n + I*t\""
            )));
        }
        let mut names: Vec<String> = Vec::new();
        let mut defined: Vec<&str> = Vec::new();
        for statement in statements.iter().chain([&last]) {
            for (name, column) in statement.free(&defined).map_err(|error| wrong(text, statement.body_start, error))? {
                if RESERVED.contains(&name) {
                    let what = format!("\"{name}\" has no value in a formula of a fit; the number of ranks is n");
                    return Err(wrong(text, statement.body_start, SyntaxError { column, what }));
                }
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            if let Some(name) = statement.name {
                let what = if names.iter().any(|known| known == name) {
                    format!("\"{name}\" is used before it is defined")
                } else if defined.contains(&name) {
                    format!("\"{name}\" is defined twice")
                } else if RESERVED.contains(&name) || KEYWORDS.contains(&name) || is_function(name) {
                    format!("\"{name}\" has a fixed meaning, choose another name")
                } else {
                    defined.push(name);
                    continue;
                };
                let blanks = text[statement.start..].chars().take_while(|c| c.is_whitespace()).count();
                let column = text[..statement.start].chars().count() + blanks + 1;
                return Err(wrong(text, 0, SyntaxError { column, what }));
            }
        }
        let mut scope = Scope::new(std::collections::BTreeMap::new(), None);
        for (slot, name) in (0..).zip(names.iter().map(String::as_str).chain(defined.iter().copied())) {
            scope.add_global(name, slot);
        }
        let read = |statement: &Statement<'_>| {
            let expr = parser::parse(statement.body, &scope).map_err(|error| wrong(text, statement.body_start, error));
            expr.map(|expr| number(expr).fold())
        };
        let definitions =
            statements.iter().zip(&defined).map(|(statement, name)| Ok(((*name).to_owned(), read(statement)?)));
        let definitions = definitions.collect::<Result<_, ConfigError>>()?;
        let result = read(&last)?;
        Ok(Equation { text: text.trim().to_owned(), names, definitions, result })
    }

    /// Returns the text of the equation.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names for which the caller must supply values, in the order of their first use in the equation.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Value of the equation if the names of the equation have the values `values`, in the order of
    /// [`Equation::names`].
    ///
    /// # Errors
    /// Reason why the equation has no value, such as a division by zero.
    pub fn value(&self, values: &[f64]) -> Result<f64, ConfigError> {
        let mut slots = Slots::new((values.len() + self.definitions.len()) as u32);
        for (slot, value) in (0..).zip(values) {
            slots.set(slot, Value::Float(*value));
        }
        let world = AppWorld::default();
        for (index, (name, definition)) in self.definitions.iter().enumerate() {
            let value = evaluate(definition, &slots, &world);
            let value = value.map_err(|fault| ConfigError::new(format!("{name}: {fault}")))?;
            slots.set((values.len() + index) as u32, Value::Float(value));
        }
        evaluate(&self.result, &slots, &world).map_err(ConfigError::new)
    }
}

fn evaluate(expr: &Expr, slots: &Slots, world: &AppWorld) -> Result<f64, String> {
    let env = &mut Env { world, rank: 0, slots, random: &mut Random::default(), peer: NONE };
    let value = expr.evaluate(env).and_then(Value::number).map_err(|fault| fault.to_string())?;
    if value.is_finite() { Ok(value) } else { Err("the result is out of range".to_owned()) }
}

/// A part of an equation's text between two semicolons.
struct Statement<'a> {
    name: Option<&'a str>,
    body: &'a str,
    /// Byte offsets of the statement and of the statement's body in the equation's text.
    start: usize,
    body_start: usize,
    /// Names in the statement that are not functions, with their columns in the statement's body.
    words: Vec<(&'a str, usize)>,
}

impl<'a> Statement<'a> {
    fn read(part: &'a str) -> Result<Statement<'a>, SyntaxError> {
        let all = tokens(part)?;
        let name = match (&all[0].0, all.get(1).map(|(token, _)| token)) {
            (Token::Word(name), Some(Token::Symbol("="))) => Some(*name),
            _ => None,
        };
        // Offset of the text after the `=` of a definition. A column is in characters; the `=` is one byte.
        let body_start = match name {
            Some(_) => part.char_indices().nth(all[1].1).map_or(part.len(), |(at, _)| at),
            None => 0,
        };
        let body = &part[body_start..];
        let inner = tokens(body)?;
        let calls = |index: usize| matches!(inner.get(index + 1), Some((Token::Symbol("("), _)));
        let words = inner.iter().enumerate().filter_map(|(index, (token, column))| match token {
            Token::Word(word) if !KEYWORDS.contains(word) && !calls(index) => Some((*word, *column)),
            _ => None,
        });
        let words = words.filter(|(word, _)| !["true", "false"].contains(word)).collect();
        Ok(Statement { name, body, start: 0, body_start, words })
    }

    fn at(mut self, start: usize) -> Self {
        self.start = start;
        self.body_start += start;
        self
    }

    /// Names in the statement that `defined` does not contain, with their columns in the body.
    fn free(&self, defined: &[&str]) -> Result<Vec<(&'a str, usize)>, SyntaxError> {
        let free = self.words.iter().filter(|(word, _)| !defined.contains(word));
        free.map(|(word, column)| {
            if is_function(word) {
                let what = format!("\"{word}\" is a function, expected \"(\" after it");
                return Err(SyntaxError { column: *column, what });
            }
            Ok((*word, *column))
        })
        .collect()
    }
}

fn is_function(name: &str) -> bool {
    NumericFunction::ALL.iter().any(|function| function.name() == name)
}

fn wrong(text: &str, start: usize, SyntaxError { column, what }: SyntaxError) -> ConfigError {
    let column = text[..start].chars().count() + column;
    ConfigError::new(format!("formula \"{text}\": column {column}: {what}"))
}

/// Converts a truth value of `expr` to 1 or 0.
fn number(expr: Expr) -> Expr {
    let expr = within(expr);
    if is_truth(&expr) {
        let int = |n| Expr::Const(Value::Int(n));
        return Expr::If(Box::new((expr, int(1), int(0)))).fold();
    }
    expr
}

/// Converts the operands of `expr` to numbers if the operators of `expr` require numbers.
fn within(expr: Expr) -> Expr {
    match expr {
        Expr::Negate(a) => Expr::Negate(Box::new(number(*a))),
        Expr::Not(a) => Expr::Not(Box::new(within(*a))),
        Expr::Binary(op, sides) => Expr::Binary(op, Box::new((number(sides.0), number(sides.1)))),
        Expr::And(sides) => Expr::And(Box::new((within(sides.0), within(sides.1)))),
        Expr::Or(sides) => Expr::Or(Box::new((within(sides.0), within(sides.1)))),
        Expr::If(parts) => Expr::If(Box::new((within(parts.0), number(parts.1), number(parts.2)))),
        Expr::Call(function, arguments) => Expr::Call(function, arguments.into_iter().map(number).collect()),
        other => other,
    }
}

fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Not(_) | Expr::And(_) | Expr::Or(_) | Expr::Const(Value::Bool(_)) => true,
        Expr::Binary(op, _) => op.is_comparison(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, values: &[(&str, f64)]) -> f64 {
        let equation = Equation::parse(text).unwrap();
        let of = |name: &String| values.iter().find(|(known, _)| known == name).expect("a value for each name").1;
        equation.value(&equation.names().iter().map(of).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn definitions_stand_before_the_formula_and_truth_counts_as_one() {
        let text = "I=8720000; part = Tv*I/n; part + I*t*(n>1)";
        assert_eq!(Equation::parse(text).unwrap().names(), ["Tv", "n", "t"]);
        let at = |n: f64| value(text, &[("Tv", 1e-3), ("t", 1e-4), ("n", n)]);
        assert_eq!((at(1.0), at(2.0)), (8720.0, 4360.0 + 872.0));
        for (text, expected) in [
            ("(x > 1) + (x > 2)", 1.0),
            ("x > 1", 1.0),
            ("-(x == 2)", -1.0),
            ("min(x > 1, 5)", 1.0),
            ("3 if x > 1 and not x > 5 else 4", 3.0),
            ("true + 1", 2.0),
            ("log2(x) ** 2 + 2 us * 1000000", 3.0),
            ("x // 2", 1.0),
        ] {
            assert_eq!(value(text, &[("x", 2.0)]), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_column() {
        for (text, error) in [
            ("", "expected a formula after the last \";\""),
            ("a = 1;", "expected a formula after the last \";\""),
            ("a = 1", "expected a formula after the definitions, such as \"I = 1000; Tv*I/n + I*t\""),
            ("a +", "column 4: expected a number, a name or \"(\", found the end"),
            ("I = 2; I * * t", "column 12: expected a number, a name or \"(\", found \"*\""),
            ("a * rank", "column 5: \"rank\" has no value in a formula of a fit; the number of ranks is n"),
            ("b * a; a", "column 1: expected a definition such as I = 1000 before each \";\""),
            ("c = a; a = 2; a", "column 8: \"a\" is used before it is defined"),
            ("a = 1; a = 2; a", "column 8: \"a\" is defined twice"),
            ("log = 1; 2", "column 1: \"log\" has a fixed meaning, choose another name"),
            ("a * log", "column 5: \"log\" is a function, expected \"(\" after it"),
            ("a $ b", "column 3: unexpected character \"$\""),
            ("a * foo(2)", "column 5: unknown function \"foo\""),
        ] {
            assert_eq!(Equation::parse(text).unwrap_err().to_string(), format!("formula \"{text}\": {error}"));
        }
        let equation = Equation::parse("b = 1 / x; a / b").unwrap();
        assert_eq!(equation.value(&[0.0, 1.0]).unwrap_err().to_string(), "b: division by zero");
    }
}
