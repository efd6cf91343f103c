//! Numeric functions of the expression language.

use super::expr::{Env, Expr};
use super::permute;
use super::value::{Binary, EvalError, Evaluated, Value};

macro_rules! functions {
    ($($variant:ident $name:literal $least:literal ..= $most:literal,)*) => {
        /// A function of numbers in the expression language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum NumericFunction { $($variant),* }

        impl NumericFunction {
            /// All functions, in the order of the language reference.
            pub(super) const ALL: &[NumericFunction] = &[$(NumericFunction::$variant),*];

            /// Name of the function in expressions.
            pub(super) fn name(self) -> &'static str {
                match self { $(NumericFunction::$variant => $name),* }
            }

            /// Least and greatest number of arguments of the function.
            pub(super) fn arity(self) -> (usize, usize) {
                match self { $(NumericFunction::$variant => ($least, $most)),* }
            }
        }
    };
}

functions! {
    Min "min" 1..=64,
    Max "max" 1..=64,
    Abs "abs" 1..=1,
    Floor "floor" 1..=1,
    Ceil "ceil" 1..=1,
    Round "round" 1..=1,
    Int "int" 1..=1,
    Float "float" 1..=1,
    Sqrt "sqrt" 1..=1,
    Exp "exp" 1..=1,
    Log "log" 1..=1,
    Log2 "log2" 1..=1,
    BitAnd "bit_and" 2..=2,
    BitOr "bit_or" 2..=2,
    BitXor "bit_xor" 2..=2,
    Random "random" 0..=0,
    Randint "randint" 2..=2,
    Permuted "permuted" 3..=3,
    Unpermuted "unpermuted" 3..=3,
    Share "share" 3..=3,
    CyclicShare "cyclic_share" 4..=4,
}

impl NumericFunction {
    /// Whether the function draws a random number.
    pub(super) fn is_random(self) -> bool {
        matches!(self, NumericFunction::Random | NumericFunction::Randint)
    }

    /// Value of the function for `arguments`, whose number must be within the arity.
    pub(super) fn apply(self, arguments: &[Expr], env: &mut Env<'_>) -> Evaluated {
        match arguments {
            [] => Ok(Value::Float(env.random.unit(env.world.seed, env.rank))),
            [a] => {
                let a = a.evaluate(env)?;
                self.apply_one(a)
            }
            _ if matches!(self, NumericFunction::Min | NumericFunction::Max) => self.extreme(arguments, env),
            [a, b] => {
                let (a, b) = (a.evaluate(env)?.whole()?, b.evaluate(env)?.whole()?);
                Ok(Value::Int(match self {
                    NumericFunction::BitAnd => a & b,
                    NumericFunction::BitOr => a | b,
                    NumericFunction::BitXor => a ^ b,
                    _ => env.random.int(env.world.seed, env.rank, a, b)?,
                }))
            }
            _ if matches!(self, NumericFunction::Share | NumericFunction::CyclicShare) => self.share(arguments, env),
            _ => self.permutation(arguments, env),
        }
    }

    fn apply_one(self, a: Value) -> Evaluated {
        match (self, a) {
            (NumericFunction::Min | NumericFunction::Max, a) => a.number().map(|_| a),
            (NumericFunction::Abs, Value::Int(n)) => {
                n.checked_abs().map(Value::Int).ok_or_else(|| EvalError::new("the result is out of range"))
            }
            (
                NumericFunction::Floor | NumericFunction::Ceil | NumericFunction::Round | NumericFunction::Int,
                Value::Int(_),
            ) => Ok(a),
            (NumericFunction::Int, Value::Bool(b)) => Ok(Value::Int(i64::from(b))),
            (NumericFunction::Abs, a) => Ok(Value::Float(a.number()?.abs())),
            (NumericFunction::Floor, a) => Value::int_of(a.number()?.floor()),
            (NumericFunction::Ceil, a) => Value::int_of(a.number()?.ceil()),
            (NumericFunction::Round, a) => Value::int_of(a.number()?.round()),
            (NumericFunction::Int, a) => Value::int_of(a.number()?.trunc()),
            (NumericFunction::Float, a) => Ok(Value::Float(a.number()?)),
            (NumericFunction::Exp, a) => Value::finite(a.number()?.exp()),
            (function, a) => {
                let x = a.number()?;
                let y = match function {
                    NumericFunction::Sqrt => x.sqrt(),
                    NumericFunction::Log2 => x.log2(),
                    _ => x.ln(),
                };
                if y.is_finite() {
                    Ok(Value::Float(y))
                } else {
                    Err(EvalError::new(format!("{}({a}) is not defined", function.name())))
                }
            }
        }
    }

    fn extreme(self, arguments: &[Expr], env: &mut Env<'_>) -> Evaluated {
        let better = if self == NumericFunction::Min { Binary::Less } else { Binary::Greater };
        let mut best = arguments[0].evaluate(env)?;
        for argument in &arguments[1..] {
            let other = argument.evaluate(env)?;
            if better.apply(other, best)? == Value::Bool(true) {
                best = other;
            }
        }
        Ok(best)
    }

    /// Number of elements that process `i` of `p` has if `n` elements are distributed. In an even distribution, the
    /// first processes may have one element more. In a block-cyclic distribution, blocks are assigned cyclically,
    /// starting with process 0 (ScaLAPACK's NUMROC).
    fn share(self, arguments: &[Expr], env: &mut Env<'_>) -> Evaluated {
        let mut whole = |index: usize| arguments[index].evaluate(env)?.whole();
        let cyclic = self == NumericFunction::CyclicShare;
        let (n, block) = (whole(0)?, if cyclic { whole(1)? } else { 1 });
        let (i, p) = (whole(arguments.len() - 2)?, whole(arguments.len() - 1)?);
        if n < 0 || block < 1 || !(0..p).contains(&i) {
            let blocks = if cyclic { format!(" in blocks of {block}") } else { String::new() };
            return Err(EvalError::new(format!("{n} elements{blocks} have no part {i} of {p}")));
        }
        let (blocks, rest) = (n / block, n % block);
        let last = blocks % p;
        let mine = blocks / p * block + if i < last { block } else { 0 };
        Ok(Value::Int(mine + if i == last { rest } else { 0 }))
    }

    fn permutation(self, arguments: &[Expr], env: &mut Env<'_>) -> Evaluated {
        let mut whole = |index: usize| arguments[index].evaluate(env)?.whole();
        let (seed, i, n) = (whole(0)?, whole(1)?, whole(2)?);
        if !(0..n).contains(&i) {
            return Err(EvalError::new(format!("element {i} is not in a permutation of {n} elements")));
        }
        let apply = if self == NumericFunction::Permuted { permute::permuted } else { permute::unpermuted };
        Ok(Value::Int(apply(seed as u64, i as u64, n as u64) as i64))
    }
}
