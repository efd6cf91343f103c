//! Checks the consistency of fragments: each fragment is created once, its input data are produced, and no fragment
//! waits for itself. Also determines the MPI processes that execute fragments and store data.

use crate::config::ConfigError;

use super::description::Description;
use super::graph::{DYNAMIC, Data, Fragment, HERE, Keeping, Lists, NOBODY, TaskGraph, family};
use super::options::Manager;

/// Greatest number of lines in the error's table of waiting fragments.
const MOST_LINES: usize = 10;

/// Checks `graph`, and adds the creator and the process of each fragment.
///
/// # Errors
/// Description of the inconsistency, with the names of the fragments.
pub(super) fn complete(graph: &mut TaskGraph, description: &Description<'_>) -> Result<(), ConfigError> {
    let creator = creators(graph, description)?;
    every_input_is_made(graph, description)?;
    let count = graph.count();
    let uses = (0..count).flat_map(|fragment| graph.inputs.of(fragment).iter().map(move |&data| (data, fragment)));
    let readers = Lists::sorted(graph.maker.len(), uses);
    let order = order(graph, &creator, &readers, description)?;
    place(graph, &creator, &order);
    if graph.options.manager == Manager::Queue {
        graph.readers = Some(readers);
    }
    Ok(())
}

/// Returns the creator of each fragment. Fragments of a family whose members no fragment creates exist from the start
/// of the run.
fn creators(graph: &TaskGraph, description: &Description<'_>) -> Result<Vec<Fragment>, ConfigError> {
    let mut creator = vec![NOBODY; graph.count() as usize];
    let mut unfolded = vec![false; graph.families.len()];
    for reference in description.fragments.iter().flat_map(|form| &form.children) {
        unfolded[reference.family] = true;
    }
    for parent in 0..graph.count() {
        for &child in graph.children.of(parent) {
            let before = std::mem::replace(&mut creator[child as usize], parent);
            if before != NOBODY {
                let node = &description.fragments[family(&graph.families, parent)].family.node;
                let (child, one, two) = (graph.name(child), graph.name(before), graph.name(parent));
                return Err(node.error(format!("{child} is created by {one} and by {two}")));
            }
        }
    }
    for (number, members) in graph.families.iter().enumerate().filter(|&(number, _)| unfolded[number]) {
        let all = members.first..members.first + members.space.count();
        if let Some(orphan) = all.into_iter().find(|&fragment| creator[fragment as usize] == NOBODY) {
            let node = &description.fragments[number].family.node;
            return Err(node.error(format!("no fragment creates {}", graph.name(orphan))));
        }
    }
    Ok(creator)
}

fn every_input_is_made(graph: &TaskGraph, description: &Description<'_>) -> Result<(), ConfigError> {
    for fragment in 0..graph.count() {
        let inputs = graph.inputs.of(fragment);
        if let Some(&data) = inputs.iter().find(|&&data| graph.maker[data as usize] == NOBODY) {
            let node = &description.fragments[family(&graph.families, fragment)].family.node;
            let (fragment, data) = (graph.name(fragment), graph.data_name(data));
            return Err(node.error(format!("{fragment} needs {data}, which no fragment makes,")));
        }
    }
    Ok(())
}

/// All fragments in an order in which a single process could execute them.
fn order(
    graph: &TaskGraph,
    creator: &[Fragment],
    readers: &Lists,
    description: &Description<'_>,
) -> Result<Vec<Fragment>, ConfigError> {
    let count = graph.count();
    let mut missing: Vec<u32> = (0..count)
        .map(|fragment| graph.inputs.of(fragment).len() as u32 + u32::from(creator[fragment as usize] != NOBODY))
        .collect();
    let mut order: Vec<Fragment> = (0..count).filter(|&fragment| missing[fragment as usize] == 0).collect();
    let mut next = 0;
    while let Some(&fragment) = order.get(next) {
        next += 1;
        let made = graph.outputs.of(fragment).iter().flat_map(|&data| readers.of(data));
        for &later in made.chain(graph.children.of(fragment)) {
            let left = &mut missing[later as usize];
            *left -= 1;
            if *left == 0 {
                order.push(later);
            }
        }
    }
    if order.len() < count as usize {
        return Err(stuck(graph, creator, &order, description));
    }
    Ok(order)
}

/// Error for fragments that wait for each other. The error states one cycle and a table of all waiting fragments.
fn stuck(graph: &TaskGraph, creator: &[Fragment], done: &[Fragment], description: &Description<'_>) -> ConfigError {
    let mut runs = vec![false; graph.count() as usize];
    done.iter().for_each(|&fragment| runs[fragment as usize] = true);
    let waiting: Vec<Fragment> = (0..graph.count()).filter(|&fragment| !runs[fragment as usize]).collect();
    let wait = |fragment: Fragment| cause(graph, creator, &runs, fragment);
    // After as many steps as there are waiting fragments, the search has reached a cycle.
    let start = waiting.iter().fold(waiting[0], |at, _| wait(at).0);
    let mut cycle = vec![start];
    loop {
        let next = wait(*cycle.last().expect("it begins somewhere")).0;
        if next == start {
            break;
        }
        cycle.push(next);
    }
    let least = (0..cycle.len()).min_by_key(|&place| cycle[place]).unwrap_or(0);
    cycle.rotate_left(least);
    let mut in_cycle = vec![false; graph.count() as usize];
    cycle.iter().for_each(|&fragment| in_cycle[fragment as usize] = true);
    let others: Vec<Fragment> = waiting.iter().copied().filter(|&fragment| !in_cycle[fragment as usize]).collect();
    let table = |text: &mut String, fragments: &[Fragment]| {
        for &fragment in fragments.iter().take(MOST_LINES) {
            let line = match wait(fragment) {
                (parent, None) => format!("{} is created by {}", graph.name(fragment), graph.name(parent)),
                (maker, Some(data)) => {
                    format!("{} waits for {} of {}", graph.name(fragment), graph.data_name(data), graph.name(maker))
                }
            };
            text.push_str(&format!("\n  {line}"));
        }
        if fragments.len() > MOST_LINES {
            text.push_str(&format!("\n  … and {} more", fragments.len() - MOST_LINES));
        }
    };
    let what = format!("{} of {} fragments can never be executed", waiting.len(), graph.count());
    let mut text = format!("{}; these wait for each other:", description.fields.node.error(what));
    table(&mut text, &cycle);
    if !others.is_empty() {
        text.push_str("\nand these fragments wait for them:");
        table(&mut text, &others);
    }
    ConfigError::new(text)
}

/// Reason why a fragment never runs: its creator, or the producer of missing data.
fn cause(graph: &TaskGraph, creator: &[Fragment], runs: &[bool], fragment: Fragment) -> (Fragment, Option<Data>) {
    let parent = creator[fragment as usize];
    if parent != NOBODY && !runs[parent as usize] {
        return (parent, None);
    }
    let mut inputs = graph.inputs.of(fragment).iter();
    let &data = inputs.find(|&&data| !runs[graph.maker[data as usize] as usize]).expect("it waits for something");
    (graph.maker[data as usize], Some(data))
}

/// Determines the processes of fragments and data that do not depend on decisions during the run.
fn place(graph: &mut TaskGraph, creator: &[Fragment], order: &[Fragment]) {
    let processes = graph.processes;
    let stays = graph.options.manager == Manager::Static;
    // A fragment without a locator runs on the MPI process of its creator.
    let mut settled = graph.at.clone();
    for &fragment in order {
        if settled[fragment as usize] == HERE {
            let parent = creator[fragment as usize];
            settled[fragment as usize] = if parent == NOBODY { 0 } else { settled[parent as usize] };
        }
    }
    let mut homed = vec![0u32; processes as usize];
    for (data, Keeping { home, kept, .. }) in graph.keeping.iter_mut().enumerate() {
        if *home == HERE {
            let maker = graph.maker[data] as usize;
            // Data that no fragment reads may have no producer.
            let place = match graph.maker[data] {
                NOBODY => DYNAMIC,
                _ if stays => settled[maker],
                _ => graph.at[maker],
            };
            *home = if place < processes { place } else { data as u32 % processes };
        }
        if graph.maker[data] != NOBODY {
            *kept = homed[*home as usize];
            homed[*home as usize] += 1;
        }
    }
    graph.homed = homed;
    if stays && settled.iter().all(|&place| place < processes) {
        let mut expected = vec![0u32; processes as usize];
        settled.iter().for_each(|&place| expected[place as usize] += 1);
        graph.expected = Some(expected);
    }
    let queue = graph.options.manager == Manager::Queue;
    let roots = (0..graph.count()).filter(|&fragment| creator[fragment as usize] == NOBODY).map(|fragment| {
        let place = graph.at[fragment as usize];
        (if queue || place >= processes { 0 } else { place }, fragment)
    });
    graph.roots = Lists::sorted(processes as usize, roots);
}
