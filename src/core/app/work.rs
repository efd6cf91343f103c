//! Costs of blocks of local computing in described applications.

use crate::platform::{CoreRates, MemoryPart, MemorySharing, Work};
use crate::rank::MemoryBlock;
use crate::units::{Bytes, SimSpan};

use super::code::{Block, Cost};
use super::expr::Env;
use super::formula::Formula;
use super::program::{ProgramState, SharedProgram};
use super::value::{EvalError, Evaluated, Value};

/// Cost of a block of computing, independent of the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    /// A fixed span of virtual time.
    Span(SimSpan),
    /// Work whose time the roofline model computes.
    Work(Work),
}

/// Virtual time of a block of computing on a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Taken {
    /// The block takes this span of virtual time.
    Span(SimSpan),
    /// The time depends on the other ranks that use the memory at the same time.
    Shared(MemoryBlock),
}

impl ProgramState {
    /// Virtual time of `block`. The time is stated in the file, random, or computed by the roofline model.
    #[inline]
    pub(super) fn taken(&mut self, shared: &SharedProgram, block: &Block) -> Evaluated<Taken> {
        let memory = MemoryPart { bandwidth: self.bandwidth, cache: f64::from(self.cache) };
        let amount = block.amount(&mut self.env(&shared.code))?;
        match shared.rates.memory_sharing {
            MemorySharing::Placed => amount.span(&shared.rates, memory).map(Taken::Span),
            MemorySharing::Fair => amount.taken(&shared.rates, memory),
        }
    }
}

impl Amount {
    /// Virtual time of the block on a core with the rates `rates` and the share `memory` of the memory bandwidth and
    /// caches.
    #[inline]
    pub(super) fn span(self, rates: &CoreRates, memory: MemoryPart) -> Evaluated<SimSpan> {
        match self {
            Amount::Span(span) => Ok(span),
            Amount::Work(work) => rates.span_with(work, memory).ok_or_else(|| {
                let Work { flops, instructions, bytes, .. } = work;
                let [flops, instructions, bytes] = [flops, instructions, bytes].map(Value::Float);
                let found = format!("{flops} flops, {instructions} instructions, {bytes} bytes");
                EvalError::new(format!("expected amounts of at least 0 that take less than 213 days; found {found}"))
            }),
        }
    }
}

impl Amount {
    /// Virtual time of the block on a simulated machine whose ranks share memory bandwidth over time.
    fn taken(self, rates: &CoreRates, memory: MemoryPart) -> Evaluated<Taken> {
        // A block is an error if its time is too long even with the whole memory bandwidth.
        let alone = self.span(rates, MemoryPart { bandwidth: rates.memory.get() as f64, ..memory })?;
        Ok(match self {
            Amount::Work(work) if work.bytes > 0.0 && !rates.fits(work, memory) => {
                let core = Amount::Work(Work { bytes: 0.0, ..work }).span(rates, memory)?;
                Taken::Shared(MemoryBlock { core, bytes: Bytes::new(work.bytes.round() as u64) })
            }
            Amount::Work(_) | Amount::Span(_) => Taken::Span(alone),
        })
    }
}

impl Block {
    /// Cost of `block` for the present values of its expressions. The cost may be random.
    #[inline]
    pub(super) fn amount(&self, env: &mut Env<'_>) -> Evaluated<Amount> {
        let times = self.times.as_ref().map_or(Ok(1.0), |times| times.number(env))?;
        let seconds = match &self.cost {
            Cost::Time(time) => time.number(env)?,
            Cost::Draw { family, a, b } => {
                let (first, second) = (a.number(env)?, b.number(env)?);
                let draw = env.random.draw(env.world.seed, env.rank, *family, first, second);
                a.explained(draw)?.max(0.0)
            }
            Cost::Work { flops, instructions, bytes, working_set } => {
                let working_set = working_set.as_ref().map(|set| set.number(env)).transpose()?;
                if let Some(set) = working_set.filter(|set| set.is_nan() || *set < 0.0) {
                    let found = Value::Float(set);
                    return Err(EvalError::new(format!("expected a working set of at least 0 bytes; found {found}")));
                }
                return Ok(Amount::Work(Work {
                    flops: flops.number(env)? * times,
                    instructions: instructions.number(env)? * times,
                    bytes: bytes.number(env)? * times,
                    working_set,
                }));
            }
        };
        let span = SimSpan::from_seconds(seconds * times).ok_or_else(|| {
            let name = |formula: &Formula, seconds: f64| {
                let seconds = Value::Float(seconds);
                formula.explain(&EvalError::new(format!("expected a time from 0 to 213 days; found {seconds} s")))
            };
            match &self.cost {
                Cost::Time(time) => name(time, seconds * times),
                Cost::Draw { a, .. } => name(a, seconds * times),
                Cost::Work { .. } => unreachable!("returned above"),
            }
        })?;
        Ok(Amount::Span(span))
    }
}
