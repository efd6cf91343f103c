//! Compiled expressions. The compiler replaces names by variable indices, and constant subexpressions by their values.
//! Module `parser` defines the syntax.

use super::functions::NumericFunction;
use super::grid::NONE;
use super::random::Random;
use super::slots::Slots;
use super::timers::{self, TimerFunction};
use super::value::{Binary, EvalError, Evaluated, Value};
use super::world::AppWorld;

/// A compiled expression of an application, stored as a tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Const(Value),
    /// A variable of the rank: the variable's index, and its name for messages.
    Name(u32, Box<str>),
    Rank,
    /// Number of ranks, if the expression was compiled before the number of ranks is known.
    Size,
    /// Seed of the run, if the expression was compiled before the seed is known.
    Seed,
    /// Rank to which a block of a v-collective (such as alltoallv) is sent, or from which it is received.
    Peer,
    Negate(Box<Expr>),
    Not(Box<Expr>),
    Binary(Binary, Box<(Expr, Expr)>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    /// Conditional expression: condition, value if the condition is true, value otherwise.
    If(Box<(Expr, Expr, Expr)>),
    Call(NumericFunction, Box<[Expr]>),
    /// Function of the grid with this index.
    Grid(GridFunction, u32, Box<[Expr]>),
    CommRank(u32),
    CommSize(u32),
    /// Function of the times that all ranks measured in one element of the timer with this index.
    Timer(TimerFunction, u32, Box<Expr>),
}

/// Functions whose first argument is the name of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GridFunction {
    /// `coord(g, d)` of this rank, or `coord(g, d, r)` of rank r.
    Coord,
    /// `dims(g, d)`: extent of dimension d of grid g.
    Dims,
    /// `neighbor(g, d, distance)`: rank at this distance along dimension d of grid g.
    Neighbor,
    /// `rank_at(g, x, y, …)`: rank at these coordinates of grid g.
    RankAt,
}

/// Values on which an expression may depend.
pub(super) struct Env<'a> {
    pub(super) world: &'a AppWorld,
    pub(super) rank: u32,
    pub(super) slots: &'a Slots,
    pub(super) random: &'a mut Random,
    pub(super) peer: i64,
}

impl Expr {
    /// Evaluates the expression.
    #[inline]
    pub(super) fn evaluate(&self, env: &mut Env<'_>) -> Evaluated {
        match self {
            Expr::Const(value) => Ok(*value),
            Expr::Name(slot, name) => match env.slots.get(*slot) {
                Value::Unset => Err(EvalError::new(format!("{name} is used before it is set"))),
                value => Ok(value),
            },
            Expr::Rank => Ok(Value::Int(i64::from(env.rank))),
            _ => self.evaluate_deep(env),
        }
    }

    /// Evaluates an expression of integers. `None` means that the caller must call [`Expr::evaluate`]; no random number
    /// has been drawn in this case. For most expressions of a run, this function returns the value in registers.
    #[inline]
    pub(super) fn int(&self, env: &mut Env<'_>) -> Option<i64> {
        match self {
            Expr::Const(Value::Int(n)) => Some(*n),
            Expr::Name(slot, _) => env.slots.int(*slot),
            Expr::Rank => Some(i64::from(env.rank)),
            _ => self.int_deep(env),
        }
    }

    fn int_deep(&self, env: &mut Env<'_>) -> Option<i64> {
        match self {
            Expr::Binary(op, sides) => op.ints(sides.0.int(env)?, sides.1.int(env)?),
            Expr::If(parts) => if parts.0.test(env)? { &parts.1 } else { &parts.2 }.int(env),
            Expr::Size => Some(i64::from(env.world.size)),
            Expr::Peer => Some(env.peer),
            Expr::Grid(GridFunction::Neighbor, grid, arguments) => {
                let [Expr::Const(Value::Int(d)), Expr::Const(Value::Int(distance))] = **arguments else { return None };
                env.world.grids[*grid as usize].neighbor(env.rank, d, distance).ok()
            }
            Expr::Grid(function, grid, arguments) if arguments.iter().all(|a| matches!(a, Expr::Const(_))) => {
                evaluate_grid(*function, *grid, arguments, env).ok()
            }
            _ => None,
        }
    }

    /// Like [`Expr::int`], for conditions.
    #[inline]
    pub(super) fn test(&self, env: &mut Env<'_>) -> Option<bool> {
        match self {
            Expr::Binary(op, sides) => op.compare_ints(sides.0.int(env)?, sides.1.int(env)?),
            Expr::Not(a) => a.test(env).map(|holds| !holds),
            // The second operand is not evaluated if the first operand determines the result.
            Expr::And(sides) => {
                if sides.0.test(env)? {
                    sides.1.test(env)
                } else {
                    Some(false)
                }
            }
            Expr::Or(sides) => {
                if sides.0.test(env)? {
                    Some(true)
                } else {
                    sides.1.test(env)
                }
            }
            _ => None,
        }
    }

    fn evaluate_deep(&self, env: &mut Env<'_>) -> Evaluated {
        Ok(match self {
            Expr::Const(_) | Expr::Name(..) | Expr::Rank => return self.evaluate(env),
            Expr::Size => Value::Int(i64::from(env.world.size)),
            Expr::Seed => Value::Int(env.world.seed as i64),
            Expr::Peer => Value::Int(env.peer),
            Expr::Negate(a) => return a.evaluate(env)?.negate(),
            Expr::Not(a) => Value::Bool(!a.evaluate(env)?.truth()?),
            Expr::Binary(op, sides) => {
                let a = sides.0.evaluate(env)?;
                let b = sides.1.evaluate(env)?;
                return op.apply(a, b);
            }
            Expr::And(sides) => Value::Bool(sides.0.evaluate(env)?.truth()? && sides.1.evaluate(env)?.truth()?),
            Expr::Or(sides) => Value::Bool(sides.0.evaluate(env)?.truth()? || sides.1.evaluate(env)?.truth()?),
            Expr::If(parts) => {
                let (condition, yes, no) = &**parts;
                return if condition.evaluate(env)?.truth()? { yes } else { no }.evaluate(env);
            }
            Expr::Call(function, arguments) => return function.apply(arguments, env),
            Expr::Grid(function, grid, arguments) => Value::Int(evaluate_grid(*function, *grid, arguments, env)?),
            Expr::CommRank(comm) => {
                Value::Int(env.world.comms[*comm as usize].rank_of(env.rank).map_or(NONE, i64::from))
            }
            Expr::CommSize(comm) => Value::Int(i64::from(env.world.comms[*comm as usize].size_for(env.rank))),
            Expr::Timer(function, timer, index) => return timers::evaluate(*function, *timer, index, env),
        })
    }

    /// Value of the expression, if the expression is a constant.
    pub(super) fn constant(&self) -> Option<Value> {
        if let Expr::Const(value) = self { Some(*value) } else { None }
    }

    /// Whether this expression or a subexpression satisfies `wanted`.
    pub(super) fn any(&self, wanted: &mut dyn FnMut(&Expr) -> bool) -> bool {
        wanted(self)
            || match self {
                Expr::Negate(a) | Expr::Not(a) | Expr::Timer(_, _, a) => a.any(wanted),
                Expr::Binary(_, sides) | Expr::And(sides) | Expr::Or(sides) => {
                    sides.0.any(wanted) || sides.1.any(wanted)
                }
                Expr::If(parts) => parts.0.any(wanted) || parts.1.any(wanted) || parts.2.any(wanted),
                Expr::Call(_, arguments) | Expr::Grid(_, _, arguments) => arguments.iter().any(|a| a.any(wanted)),
                _ => false,
            }
    }

    /// Replaces a constant expression by its value. A constant expression without a value (such as 1 / 0) is unchanged,
    /// and fails only when the rank evaluates it.
    pub(super) fn fold(self) -> Expr {
        let constant = |e: &Expr| e.constant().is_some();
        let ready = match &self {
            Expr::Negate(a) | Expr::Not(a) => constant(a),
            Expr::Binary(_, sides) | Expr::And(sides) | Expr::Or(sides) => constant(&sides.0) && constant(&sides.1),
            Expr::Call(function, arguments) => !function.is_random() && arguments.iter().all(constant),
            Expr::If(parts) => {
                return match parts.0.constant() {
                    Some(Value::Bool(condition)) => {
                        let Expr::If(parts) = self else { unreachable!("matched above") };
                        let (_, yes, no) = *parts;
                        if condition { yes } else { no }
                    }
                    _ => self,
                };
            }
            _ => false,
        };
        if !ready {
            return self;
        }
        let (world, slots) = (AppWorld::default(), Slots::new(0));
        let env = &mut Env { world: &world, rank: 0, slots: &slots, random: &mut Random::default(), peer: NONE };
        match self.evaluate(env) {
            Ok(value) => Expr::Const(value),
            Err(_) => self,
        }
    }
}

fn evaluate_grid(function: GridFunction, grid: u32, arguments: &[Expr], env: &mut Env<'_>) -> Evaluated<i64> {
    let world = env.world;
    let grid = &world.grids[grid as usize];
    match (function, arguments) {
        (GridFunction::Coord, [d]) => grid.coord(env.rank, d.evaluate(env)?.whole()?),
        (GridFunction::Coord, [d, rank]) => {
            let (d, rank) = (d.evaluate(env)?.whole()?, rank.evaluate(env)?.whole()?);
            match u32::try_from(rank) {
                Ok(rank) if rank < world.size => grid.coord(rank, d),
                _ => Err(EvalError::new(format!("rank {rank} is outside the grid of {} ranks", world.size))),
            }
        }
        (GridFunction::Dims, [d]) => grid.extent(d.evaluate(env)?.whole()?),
        (GridFunction::Neighbor, [d, distance]) => {
            let (d, distance) = (d.evaluate(env)?.whole()?, distance.evaluate(env)?.whole()?);
            grid.neighbor(env.rank, d, distance)
        }
        _ => {
            let coords: smallvec::SmallVec<[i64; 4]> =
                arguments.iter().map(|a| a.evaluate(env)?.whole()).collect::<Evaluated<_>>()?;
            grid.rank_at(&coords)
        }
    }
}
