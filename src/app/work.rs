//! What a rank's local blocks cost.

use crate::platform::Work;
use crate::units::SimSpan;

use super::code::{Block, Cost};
use super::formula::Formula;
use super::program::{RankState, Shared};
use super::value::{Evaluated, Fault, Value};

impl RankState {
    /// The time of `block`: as stated, drawn, or by the roofline.
    pub(super) fn span(&mut self, shared: &Shared, block: &Block) -> Evaluated<SimSpan> {
        let memory = self.memory_share;
        let mut env = self.env(&shared.code);
        let times = block.times.as_ref().map_or(Ok(1.0), |times| times.number(&mut env))?;
        let seconds = match &block.cost {
            Cost::Time(time) => time.number(&mut env)?,
            Cost::Draw { family, a, b } => {
                let (first, second) = (a.number(&mut env)?, b.number(&mut env)?);
                let draw = env.random.draw(env.world.seed, env.rank, *family, first, second);
                a.explained(draw)?.max(0.0)
            }
            Cost::Work { flops, instructions, bytes } => {
                let work = Work {
                    flops: flops.number(&mut env)? * times,
                    instructions: instructions.number(&mut env)? * times,
                    bytes: bytes.number(&mut env)? * times,
                };
                return shared.rates.span(work, memory).ok_or_else(|| {
                    let Work { flops, instructions, bytes } = work;
                    let [flops, instructions, bytes] = [flops, instructions, bytes].map(Value::Float);
                    let found = format!("{flops} flops, {instructions} instructions, {bytes} bytes");
                    Fault::new(format!("expected amounts of at least 0 that take less than 213 days; found {found}"))
                });
            }
        };
        SimSpan::from_seconds(seconds * times).ok_or_else(|| {
            let name = |formula: &Formula, seconds: f64| {
                let seconds = Value::Float(seconds);
                formula.explain(&Fault::new(format!("expected a time from 0 to 213 days; found {seconds} s")))
            };
            match &block.cost {
                Cost::Time(time) => name(time, seconds * times),
                Cost::Draw { a, .. } => name(a, seconds * times),
                Cost::Work { .. } => unreachable!("returned above"),
            }
        })
    }
}
