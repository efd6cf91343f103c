//! An expression together with its key and text, which error messages state.

use crate::units::Bytes;

use super::expr::{Env, Expr};
use super::value::{Binary, EvalError, Evaluated, Value};

/// An expression in an application file.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub(super) expr: Expr,
    /// Keys of the expression within its statement, and its text: `send.to = "rank + 1"`.
    name: Box<str>,
}

impl Formula {
    /// Creates the formula of an expression with the text `text` at the path `path`.
    pub(super) fn new(expr: Expr, path: &str, text: String) -> Self {
        let key = path.rsplit_once("].").map_or(path, |(_, key)| key);
        Formula { expr, name: format!("{key} = {text}").into() }
    }

    /// Creates a formula for an integer that the file does not state.
    pub(super) fn constant(n: i64) -> Self {
        Formula { expr: Expr::Const(Value::Int(n)), name: "".into() }
    }

    /// Creates a formula without key and text. The caller adds the key and text to the formula's errors.
    pub(super) fn unnamed(expr: Expr) -> Self {
        Formula { expr, name: "".into() }
    }

    /// Returns a formula whose value is one less.
    pub(super) fn less_one(self) -> Self {
        let one = Expr::Const(Value::Int(1));
        Formula { expr: Expr::Binary(Binary::Subtract, Box::new((self.expr, one))).fold(), name: self.name }
    }

    #[inline]
    pub(super) fn value(&self, env: &mut Env<'_>) -> Evaluated {
        match self.expr.int(env) {
            Some(n) => Ok(Value::Int(n)),
            None => self.explained(self.expr.evaluate(env)),
        }
    }

    #[inline]
    pub(super) fn whole(&self, env: &mut Env<'_>) -> Evaluated<i64> {
        match self.expr.int(env) {
            Some(n) => Ok(n),
            None => self.whole_slow(env),
        }
    }

    #[inline]
    pub(super) fn truth(&self, env: &mut Env<'_>) -> Evaluated<bool> {
        match self.expr.test(env) {
            Some(holds) => Ok(holds),
            None => self.truth_slow(env),
        }
    }

    #[inline]
    pub(super) fn number(&self, env: &mut Env<'_>) -> Evaluated<f64> {
        match self.expr {
            Expr::Const(Value::Float(x)) => Ok(x),
            _ => match self.expr.int(env) {
                Some(n) => Ok(n as f64),
                None => self.number_slow(env),
            },
        }
    }

    /// Evaluates the formula as a size, rounded to the nearest byte.
    #[inline]
    pub(super) fn bytes(&self, env: &mut Env<'_>) -> Evaluated<Bytes> {
        match self.expr.int(env) {
            Some(n @ 0..) => Ok(Bytes::new(n as u64)),
            _ => self.bytes_slow(env),
        }
    }

    #[inline(never)]
    fn whole_slow(&self, env: &mut Env<'_>) -> Evaluated<i64> {
        self.explained(self.expr.evaluate(env).and_then(Value::whole))
    }

    #[inline(never)]
    fn truth_slow(&self, env: &mut Env<'_>) -> Evaluated<bool> {
        self.explained(self.expr.evaluate(env).and_then(Value::truth))
    }

    #[inline(never)]
    fn number_slow(&self, env: &mut Env<'_>) -> Evaluated<f64> {
        self.explained(self.expr.evaluate(env).and_then(Value::number))
    }

    #[inline(never)]
    fn bytes_slow(&self, env: &mut Env<'_>) -> Evaluated<Bytes> {
        self.explained(self.expr.evaluate(env).and_then(|value| match value {
            Value::Int(n) if n >= 0 => Ok(Bytes::new(n as u64)),
            Value::Float(x) if (0.0..9e18).contains(&x) => Ok(Bytes::new(x.round() as u64)),
            other => Err(EvalError::new(format!("expected a size of at least 0 bytes; found {other}"))),
        }))
    }

    /// Adds the key and text of this expression to the error `fault`.
    #[cold]
    pub(super) fn explain(&self, fault: &EvalError) -> EvalError {
        if self.name.is_empty() { fault.clone() } else { EvalError::new(format!("{}: {fault}", self.name)) }
    }

    #[inline]
    pub(super) fn explained<T>(&self, result: Evaluated<T>) -> Evaluated<T> {
        match result {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.explain(&fault)),
        }
    }
}
