//! Values of expressions and arithmetic on values. This module does not use names of variables or ranks.

use std::cmp::Ordering;
use std::fmt;

/// Value of an expression or of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// The value of a variable to which no statement has assigned a value.
    Unset,
    /// An integer value.
    Int(i64),
    /// A finite floating-point value.
    Float(f64),
    /// A truth value, true or false.
    Bool(bool),
}

/// Reason why an expression has no value, as one lower-case line.
///
/// The text is boxed, so that a register pair can hold the result of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::box_collection)]
pub(super) struct EvalError(Box<String>);

/// Result of evaluating an expression.
pub(super) type Evaluated<T = Value> = Result<T, EvalError>;

impl EvalError {
    #[cold]
    pub(super) fn new(what: impl Into<String>) -> Self {
        EvalError(Box::new(what.into()))
    }

    #[cold]
    fn overflow() -> Self {
        EvalError::new("the result is out of range")
    }

    #[cold]
    fn division_by_zero() -> Self {
        EvalError::new("division by zero")
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unset => f.write_str("nothing"),
            Value::Int(n) => write!(f, "{n}"),
            // Scientific notation avoids numbers with many digits.
            Value::Float(x) if x.abs() >= 1e17 => write!(f, "{x:e}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Bool(b) => write!(f, "{b}"),
        }
    }
}

/// An operator with two operands that are always evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Value {
    /// Converts a finite float to a value. An infinite float or a NaN is an error.
    #[inline]
    pub(super) fn finite(x: f64) -> Evaluated {
        if x.is_finite() { Ok(Value::Float(x)) } else { Err(EvalError::overflow()) }
    }

    /// Converts a float without fractional part to an integer.
    pub(super) fn int_of(x: f64) -> Evaluated {
        // 2^63 is the least double above the range of i64.
        if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) {
            Ok(Value::Int(x as i64))
        } else {
            Err(EvalError::overflow())
        }
    }

    /// Converts the value to a float.
    #[inline]
    pub(super) fn number(self) -> Evaluated<f64> {
        match self {
            Value::Int(n) => Ok(n as f64),
            Value::Float(x) => Ok(x),
            other => Err(EvalError::new(format!("expected a number; found {other}"))),
        }
    }

    /// Converts the value to an integer. A float must have no fractional part.
    #[inline]
    pub(super) fn whole(self) -> Evaluated<i64> {
        match self {
            Value::Int(n) => Ok(n),
            Value::Float(x) if x.fract() == 0.0 && x.abs() < 9e18 => Ok(x as i64),
            other => Err(EvalError::new(format!("expected a whole number; found {other}"))),
        }
    }

    /// Converts the value to a truth value.
    #[inline]
    pub(super) fn truth(self) -> Evaluated<bool> {
        match self {
            Value::Bool(b) => Ok(b),
            other => Err(EvalError::new(format!("expected a condition such as rank == 0; found {other}"))),
        }
    }

    pub(super) fn negate(self) -> Evaluated {
        match self {
            Value::Int(n) => n.checked_neg().map(Value::Int).ok_or_else(EvalError::overflow),
            other => Ok(Value::Float(-other.number()?)),
        }
    }
}

impl Binary {
    /// Computes `a op b`. The result of two integers is an integer if possible. An integer outside 64 bits or an
    /// infinite result is an error.
    #[inline]
    pub(super) fn apply(self, a: Value, b: Value) -> Evaluated {
        if let (Value::Int(a), Value::Int(b)) = (a, b) {
            return self.apply_ints(a, b);
        }
        if let (Value::Bool(a), Value::Bool(b), Binary::Equal | Binary::NotEqual) = (a, b, self) {
            return Ok(Value::Bool((a == b) == (self == Binary::Equal)));
        }
        self.apply_floats(a.number()?, b.number()?)
    }

    /// Result of the operator for two integers, if the result is an integer.
    #[inline]
    pub(super) fn ints(self, a: i64, b: i64) -> Option<i64> {
        // Division of 32-bit numbers is several times as fast as division of 64-bit numbers, and ranks are small
        // numbers.
        if let (Ok(small), Ok(divisor @ 1..)) = (u32::try_from(a), u32::try_from(b)) {
            match self {
                Binary::Divide if small.is_multiple_of(divisor) => return Some(i64::from(small / divisor)),
                Binary::Divide => return None,
                Binary::FloorDivide => return Some(i64::from(small / divisor)),
                Binary::Modulo => return Some(i64::from(small % divisor)),
                _ => {}
            }
        }
        match self {
            Binary::Add => a.checked_add(b),
            Binary::Subtract => a.checked_sub(b),
            Binary::Multiply => a.checked_mul(b),
            Binary::Divide => match a.checked_rem(b)? {
                0 => a.checked_div(b),
                _ => None,
            },
            Binary::FloorDivide => {
                let quotient = a.checked_div(b)?;
                Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
            }
            Binary::Modulo => {
                let rest = a.checked_rem(b)?;
                Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
            }
            Binary::Power => a.checked_pow(u32::try_from(b).ok()?),
            _ => None,
        }
    }

    /// Result of the comparison of two integers, if the operator is a comparison.
    #[inline]
    pub(super) fn compare_ints(self, a: i64, b: i64) -> Option<bool> {
        self.is_comparison().then(|| self.holds(a.cmp(&b)))
    }

    /// Whether the operator is a comparison, whose result is a truth value.
    pub(super) fn is_comparison(self) -> bool {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }

    fn apply_ints(self, a: i64, b: i64) -> Evaluated {
        if let Some(result) = self.ints(a, b) {
            return Ok(Value::Int(result));
        }
        match self {
            Binary::Divide | Binary::FloorDivide | Binary::Modulo if b == 0 => Err(EvalError::division_by_zero()),
            Binary::Divide if b != -1 => Ok(Value::Float(a as f64 / b as f64)),
            Binary::Power if b < 0 => self.apply_floats(a as f64, b as f64),
            _ if self.is_comparison() => Ok(Value::Bool(self.holds(a.cmp(&b)))),
            _ => Err(EvalError::overflow()),
        }
    }

    fn apply_floats(self, a: f64, b: f64) -> Evaluated {
        let result = match self {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide | Binary::FloorDivide | Binary::Modulo if b == 0.0 => {
                return Err(EvalError::division_by_zero());
            }
            Binary::Divide => a / b,
            Binary::FloorDivide => (a / b).floor(),
            Binary::Modulo => a - b * (a / b).floor(),
            Binary::Power if a == 0.0 && b < 0.0 => return Err(EvalError::division_by_zero()),
            Binary::Power => a.powf(b),
            // Finite numbers can always be compared.
            _ => return Ok(Value::Bool(self.holds(a.partial_cmp(&b).unwrap_or(Ordering::Equal)))),
        };
        Value::finite(result)
    }

    #[inline]
    fn holds(self, order: Ordering) -> bool {
        match self {
            Binary::Equal => order.is_eq(),
            Binary::NotEqual => order.is_ne(),
            Binary::Less => order.is_lt(),
            Binary::LessEqual => order.is_le(),
            Binary::Greater => order.is_gt(),
            _ => order.is_ge(),
        }
    }
}
