//! Builds the fragments of a run from families of fragments and their expressions. The builder enumerates every index
//! and resolves every reference only once.

use crate::config::ConfigError;

use super::super::bind::TargetMachine;
use super::super::expr::Env;
use super::super::grid::NONE;
use super::super::random::Random;
use super::super::scope::Scope;
use super::super::slots::Slots;
use super::super::value::{EvalError, Evaluated, Value};
use super::super::work::Amount;
use super::super::world::AppWorld;
use super::check;
use super::description::{DataForm, Description, Family, FragmentForm, Locator, Reference};
use super::graph::{DYNAMIC, FamilyMembers, HERE, Keeping, Lists, MOST, NOBODY, TaskGraph};
use super::options;
use super::space::{IndexSpace, Indices};

/// Values of names with which expressions of fragments are evaluated.
struct Context {
    world: AppWorld,
    slots: Slots,
    random: Random,
    /// Identifier of the present fragment, which seeds the fragment's random numbers.
    number: u32,
}

impl Context {
    fn env(&mut self) -> Env<'_> {
        let Context { world, slots, random, number } = self;
        Env { world, rank: *number, slots, random, peer: NONE }
    }

    /// Sets the indices and the identifier of the fragment for which the next expressions are evaluated.
    fn set(&mut self, number: u32, indices: &[i64]) {
        self.number = number;
        self.random = Random::default();
        for (slot, &index) in (0..).zip(indices) {
            self.slots.set(slot, Value::Int(index));
        }
    }
}

/// Builds the fragments of a task-based run.
///
/// # Errors
/// An expression has no value; a locator does not name a process; no fragment or several fragments produce the same
/// data; no fragment or several fragments create the same fragment; or fragments wait for each other in a cycle.
pub(super) fn build(
    description: &Description<'_>,
    scope: &Scope,
    target: TargetMachine,
) -> Result<TaskGraph, ConfigError> {
    let world = AppWorld { size: target.ranks, seed: target.seed, ..AppWorld::default() };
    let mut context = Context { world, slots: Slots::new(8), random: Random::default(), number: 0 };
    let options = options::read(&description.fields, scope, Some(&mut context.env()))?;
    let data = members(description.data.iter().map(|form| &form.family), &mut context)?;
    let families = members(description.fragments.iter().map(|form| &form.family), &mut context)?;
    let mut graph = TaskGraph {
        options,
        processes: target.ranks,
        seed: target.seed,
        rates: target.rates,
        families,
        data,
        at: Vec::new(),
        cost: Vec::new(),
        amounts: Vec::new(),
        inputs: Lists::new(),
        outputs: Lists::new(),
        children: Lists::new(),
        keeping: Vec::new(),
        maker: Vec::new(),
        readers: None,
        roots: Lists::new(),
        homed: Vec::new(),
        expected: None,
    };
    for (family, form) in description.data.iter().enumerate() {
        lay_out_data(&mut graph, family, form, &mut context)?;
    }
    for (family, form) in description.fragments.iter().enumerate() {
        lay_out_fragments(&mut graph, family, form, &mut context)?;
    }
    check::complete(&mut graph, description)?;
    Ok(graph)
}

/// Computes the members of each family of fragments. Members get consecutive identifiers, family after family.
fn members<'a>(
    families: impl Iterator<Item = &'a Family<'a>>,
    context: &mut Context,
) -> Result<Vec<FamilyMembers>, ConfigError> {
    let mut first = 0u32;
    let mut all = Vec::new();
    for family in families {
        let too_many = || family.node.error(format!("expected at most {MOST} members of all families"));
        context.set(first, &[]);
        let range = |level: usize, before: &[i64]| {
            for (slot, &index) in (0..).zip(before) {
                context.slots.set(slot, Value::Int(index));
            }
            let index = &family.index[level];
            let mut env = context.env();
            let bounds = index.first.whole(&mut env).and_then(|first| Ok((first, index.last.whole(&mut env)?)));
            bounds.map_err(|fault| index.node.error(fault))
        };
        let same = |level: usize| family.index[level].is_constant();
        let space = IndexSpace::enumerate(family.index.len(), MOST - first, same, range, too_many)?;
        let count = space.count();
        all.push(FamilyMembers { name: family.name.clone(), first, space });
        first += count;
    }
    Ok(all)
}

/// MPI process that the locator of a family assigns to the member with index `number` of `count` members.
fn locate(locator: &Locator<'_>, number: u32, count: u32, processes: u32, context: &mut Context) -> Result<u32, Stray> {
    match locator {
        Locator::Block => Ok((u64::from(number) * u64::from(processes) / u64::from(count)) as u32),
        Locator::Cyclic => Ok(number % processes),
        Locator::Dynamic => Ok(DYNAMIC),
        Locator::Expression(_, formula) => {
            let place = formula.whole(&mut context.env()).map_err(Stray::Fault)?;
            u32::try_from(place).ok().filter(|&place| place < processes).ok_or(Stray::Outside(place))
        }
    }
}

/// Reason why a locator does not determine a process.
enum Stray {
    Fault(EvalError),
    Outside(i64),
}

impl Stray {
    fn error(self, family: &Family<'_>, name: &str, processes: u32) -> ConfigError {
        let Some(Locator::Expression(node, _)) = &family.at else { unreachable!("others give a process") };
        match self {
            Stray::Fault(fault) => node.error(format!("{name}: {fault}")),
            Stray::Outside(place) => {
                node.expected_value(format!("a process from 0 to {}", processes - 1), format!("{place} for {name}"))
            }
        }
    }
}

fn lay_out_data(
    graph: &mut TaskGraph,
    family: usize,
    form: &DataForm<'_>,
    context: &mut Context,
) -> Result<(), ConfigError> {
    let processes = graph.processes;
    let FamilyMembers { first, space, .. } = graph.data[family].clone();
    space.each(|number, indices| {
        context.set(first + number, indices);
        let (node, formula) = &form.bytes;
        let name = || graph.data_name(first + number);
        let bytes = formula.bytes(&mut context.env()).map_err(|fault| node.error(format!("{}: {fault}", name())))?;
        let home = match &form.family.at {
            // All processes must know the process that stores a data fragment, so the locator cannot be dynamic.
            None | Some(Locator::Dynamic) => Ok(HERE),
            Some(locator) => locate(locator, number, space.count(), processes, context),
        };
        let home = home.map_err(|stray| stray.error(&form.family, &name(), processes))?;
        graph.keeping.push(Keeping { home, kept: 0, bytes: bytes.get() });
        graph.maker.push(NOBODY);
        Ok(())
    })
}

fn lay_out_fragments(
    graph: &mut TaskGraph,
    family: usize,
    form: &FragmentForm<'_>,
    context: &mut Context,
) -> Result<(), ConfigError> {
    let processes = graph.processes;
    let FamilyMembers { first, space, .. } = graph.families[family].clone();
    let mut found = Vec::new();
    space.each(|number, indices| {
        let fragment = first + number;
        context.set(fragment, indices);
        let place = match &form.family.at {
            None => Ok(HERE),
            Some(locator) => locate(locator, number, space.count(), processes, context),
        };
        let place = place.map_err(|stray| stray.error(&form.family, &graph.name(fragment), processes))?;
        graph.at.push(place);
        for reference in &form.inputs {
            reference
                .members(&graph.data, context, &mut found)
                .map_err(|miss| miss.error(graph, fragment, reference))?;
            found.iter().for_each(|&data| graph.inputs.push(data));
        }
        graph.inputs.close();
        for reference in &form.outputs {
            reference
                .members(&graph.data, context, &mut found)
                .map_err(|miss| miss.error(graph, fragment, reference))?;
            for &data in &found {
                let maker = std::mem::replace(&mut graph.maker[data as usize], fragment);
                if maker != NOBODY {
                    let (data, one, two) = (graph.data_name(data), graph.name(maker), graph.name(fragment));
                    return Err(reference.node.error(format!("{data} is made by {one} and by {two}")));
                }
                graph.outputs.push(data);
            }
        }
        graph.outputs.close();
        for reference in &form.children {
            let members = reference.members(&graph.families, context, &mut found);
            members.map_err(|miss| miss.child_error(graph, fragment, reference))?;
            found.iter().for_each(|&child| graph.children.push(child));
        }
        graph.children.close();
        let amount = match &form.cost {
            None => Amount::Span(crate::units::SimSpan::ZERO),
            Some((node, block)) => {
                let amount = block.amount(&mut context.env()).and_then(|amount| {
                    amount.span(&graph.rates, f64::MAX.into())?;
                    Ok(amount)
                });
                amount.map_err(|fault| node.error(format!("{}: {fault}", graph.name(fragment))))?
            }
        };
        if graph.amounts.last() != Some(&amount) {
            graph.amounts.push(amount);
        }
        graph.cost.push(graph.amounts.len() as u32 - 1);
        Ok(())
    })
}

/// Reason why a reference to fragments has no members.
enum Miss {
    Fault(EvalError),
    /// The family of fragments has no member with these indices.
    Outside(Indices),
}

impl Reference<'_> {
    /// Appends the identifiers of the members to which the reference refers to `found`, in the order of nested loops.
    fn members(&self, families: &[FamilyMembers], context: &mut Context, found: &mut Vec<u32>) -> Result<(), Miss> {
        found.clear();
        let mut env = context.env();
        if let Some(condition) = &self.condition
            && !condition.truth(&mut env).map_err(Miss::Fault)?
        {
            return Ok(());
        }
        let family = &families[self.family];
        let mut at = Indices::new();
        let mut ranges: smallvec::SmallVec<[(usize, i64, i64); 4]> = smallvec::SmallVec::new();
        for (place, (first, last)) in self.indices.iter().enumerate() {
            let low = first.whole(&mut env).map_err(Miss::Fault)?;
            at.push(low);
            if let Some(last) = last {
                ranges.push((place, low, last.whole(&mut env).map_err(Miss::Fault)?));
            }
        }
        if ranges.iter().any(|&(_, low, high)| high < low) {
            return Ok(());
        }
        loop {
            let number = family.space.number(&at).ok_or_else(|| Miss::Outside(at.clone()))?;
            found.push(family.first + number);
            // The index ranges of the reference advance like nested loops: the last unfinished range proceeds to its
            // next index, and later ranges restart.
            let Some(&(place, ..)) = ranges.iter().rev().find(|&&(place, _, high)| at[place] < high) else {
                return Ok(());
            };
            at[place] += 1;
            for &(later, low, _) in ranges.iter().filter(|&&(later, ..)| later > place) {
                at[later] = low;
            }
        }
    }
}

impl Miss {
    fn explain(self, family: &str) -> Evaluated<String> {
        match self {
            Miss::Fault(fault) => Err(fault),
            Miss::Outside(indices) => {
                let indices: Vec<String> = indices.iter().map(i64::to_string).collect();
                Ok(format!("{family}[{}]", indices.join(", ")))
            }
        }
    }

    fn error(self, graph: &TaskGraph, fragment: u32, reference: &Reference<'_>) -> ConfigError {
        let (name, family) = (graph.name(fragment), &graph.data[reference.family].name);
        reference.node.error(match self.explain(family) {
            Ok(data) => format!("{name} names {data}, which is outside of the index of {family},"),
            Err(fault) => format!("{name}: {fault}"),
        })
    }

    fn child_error(self, graph: &TaskGraph, fragment: u32, reference: &Reference<'_>) -> ConfigError {
        let (name, family) = (graph.name(fragment), &graph.families[reference.family].name);
        reference.node.error(match self.explain(family) {
            Ok(child) => format!("{name} creates {child}, which is outside of the index of {family},"),
            Err(fault) => format!("{name}: {fault}"),
        })
    }
}
