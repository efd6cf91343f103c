//! Selection of a collective's algorithm. The algorithm requested by the call has priority, then the platform's rules,
//! then the choice of the modelled MPI library.

use super::library::{ChoiceContext, complete, decide, has_nodes_form, settle};
use super::names::{algorithm_word, collective_word};
use super::nodes::{NodeSpread, Nodes};
use super::schedule::{Choice, keeps_rank_order, suitable, takes};
use super::{CallForm, CollectiveCall, Sizes};
use mcpsim_base::config::ConfigError;
use mcpsim_base::platform::{Algorithm, Collective, CollectiveRules, Method, Platform, SelectionContext};
use mcpsim_base::units::Bytes;

/// Algorithms that a user may select for `collective`.
fn asked_for(collective: Collective) -> impl Iterator<Item = Algorithm> {
    let by_nodes = has_nodes_form(collective).then_some(Algorithm::NodeAware);
    suitable(collective).iter().copied().chain(by_nodes)
}

/// Checks that `algorithm` can execute the collective operation `collective`.
///
/// An algorithm that supports only some communicator sizes is suitable. For other communicator sizes another algorithm
/// runs: an allgather by recursive doubling becomes Bruck's algorithm unless there are 2^k ranks.
///
/// # Errors
/// Text that names the collective, the unsuitable algorithm and the suitable algorithms.
pub fn suits(collective: Collective, algorithm: Algorithm) -> Result<(), String> {
    if asked_for(collective).any(|other| other == algorithm) {
        return Ok(());
    }
    let words: Vec<_> = asked_for(collective).map(algorithm_word).collect();
    let (algorithm, collective) = (algorithm_word(algorithm), collective_word(collective));
    let one_of = if words.len() == 1 { "" } else { "one of " };
    Err(format!("algorithm \"{algorithm}\" does not suit {collective}: expected {one_of}{}", words.join(", ")))
}

/// Checks that `method` suits `collective`, and that the algorithm of `method` uses all parameters in `method`.
///
/// # Errors
/// The error of [`suits`], or a text with the name of a parameter that the algorithm does not use.
pub fn fits(collective: Collective, method: Method) -> Result<(), String> {
    suits(collective, method.algorithm)?;
    let (segments, fan) = takes(collective, method.algorithm);
    let in_vain = match (method.segment, method.fan) {
        (1.., _) if !segments => "\"segment\": this algorithm has no segments of a given size",
        (_, 1..) if !fan => "\"fan\": this algorithm has no number of chains, children or messages at a time",
        _ => return Ok(()),
    };
    let (algorithm, collective) = (algorithm_word(method.algorithm), collective_word(collective));
    Err(format!("algorithm \"{algorithm}\" of {collective} takes no {in_vain}"))
}

/// Checks that every algorithm in a platform's rules for collectives suits its collective.
///
/// # Errors
/// The first unsuitable algorithm, with its collective and the suitable algorithms.
pub fn check_rules(platform: &Platform) -> Result<(), ConfigError> {
    for (collective, rules) in platform.collectives.iter() {
        for (index, rule) in rules.iter().enumerate() {
            fits(collective, rule.method).map_err(|what| {
                let (word, name) = (collective_word(collective), &platform.name);
                ConfigError::new(format!("collectives.{word}[{index}] of platform {name}: {what}"))
            })?;
        }
    }
    Ok(())
}

/// Returns the message size in bytes to which the platform's selection rules refer. The size is the same at every rank.
///
/// | collective | size |
/// |---|---|
/// | bcast, reduce, allreduce, scan, exscan | the buffer |
/// | gather, scatter, alltoall | one block |
/// | allgather, allgatherv, reduce_scatter | all blocks together |
/// | barrier, gatherv, scatterv, alltoallv | 0: ranks do not know each other's sizes |
pub fn rule_size(call: &CollectiveCall) -> Bytes {
    let sum = |sizes: &[Bytes]| sizes.iter().fold(0u64, |sum, size| sum.saturating_add(size.get()));
    match call.collective {
        Collective::Barrier | Collective::Gatherv | Collective::Scatterv | Collective::Alltoallv => Bytes::ZERO,
        Collective::Allgather | Collective::Allgatherv | Collective::ReduceScatter => match &call.sizes {
            Sizes::Same(block) => Bytes::new(block.get().saturating_mul(u64::from(call.comm.size()))),
            Sizes::Each(blocks) => Bytes::new(sum(blocks)),
        },
        Collective::Bcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Gather
        | Collective::Scatter
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => match &call.sizes {
            Sizes::Same(size) => *size,
            Sizes::Each(_) => Bytes::ZERO,
        },
    }
}

/// Mean block size of `call` in bytes (or the size of its buffer), and the sum of all blocks in bytes.
fn volumes(call: &CollectiveCall) -> (u64, u64) {
    let ranks = u64::from(call.comm.size());
    match (call.collective, &call.sizes) {
        (Collective::Barrier, _) => (0, 0),
        (Collective::Allgatherv | Collective::ReduceScatter, Sizes::Each(_)) => {
            let total = rule_size(call).get();
            (total / ranks, total)
        }
        (Collective::Allgather | Collective::Allgatherv | Collective::ReduceScatter, Sizes::Same(block)) => {
            (block.get(), block.get().saturating_mul(ranks))
        }
        (Collective::Gather | Collective::Scatter | Collective::Alltoall, Sizes::Same(block)) => {
            (block.get(), block.get().saturating_mul(ranks))
        }
        (_, Sizes::Same(size)) => (size.get(), size.get()),
        (_, Sizes::Each(_)) => (0, 0),
    }
}

/// Chooses the algorithm of `call` under the platform's `rules` for collectives. If `ordered` is set, contributions
/// must be combined in order of ranks. `element` is the number of bytes of an element; an algorithm divides a buffer
/// only between elements.
///
/// # Errors
/// The error of [`suits`], or a text that the selected algorithm cannot handle the call.
pub fn choose(
    (call, form): (&CollectiveCall, CallForm),
    rules: &CollectiveRules,
    ordered: bool,
    element: u32,
) -> Result<Choice, String> {
    let (collective, ranks) = (call.collective, call.comm.size());
    let (size, total) = volumes(call);
    let asked = call.algorithm.map(Method::from);
    let ruled = asked.or_else(|| rules.method(collective, ranks, rule_size(call)));
    let looks = rules.library.sees_nodes() || ruled.is_some_and(|method| method.algorithm == Algorithm::NodeAware);
    let spread = match &rules.nodes {
        Some(map) if looks && has_nodes_form(collective) => Nodes::new(&call.comm, map).spread(),
        _ => NodeSpread::FLAT,
    };
    let element = element.max(1);
    let question = ChoiceContext { collective, form, ranks, size, total, element, ordered, spread };
    let Some(method) = ruled.map_or_else(|| selected(rules, question), |method| Ok(Some(method)))? else {
        return Ok(decide(rules.library, question));
    };
    fits(collective, method)?;
    let choice = complete(rules.library, question, settle(rules.library, question, method));
    able(question, choice)?;
    Ok(choice)
}

/// Algorithm that the platform's selection file chooses for a blocking collective; `None` if the file leaves the choice
/// to the MPI library.
fn selected(rules: &CollectiveRules, question: ChoiceContext) -> Result<Option<Method>, String> {
    let ChoiceContext { collective, form, ranks, size, total, element, ordered, .. } = question;
    let Some(selection) = rules.selection.as_ref().filter(|_| form == CallForm::Blocking) else { return Ok(None) };
    let of = SelectionContext { ranks, mean: size, total, element, ordered };
    selection.method(collective, of).map_err(|name| {
        let words: Vec<_> = asked_for(collective).map(algorithm_word).collect();
        let (word, words) = (collective_word(collective), words.join(", "));
        format!("the selection file takes {name}, which mcpsim does not have: expected one of {words} for {word}")
    })
}

/// Checks that the selected algorithm can handle this call of the collective.
fn able(question: ChoiceContext, choice: Choice) -> Result<(), String> {
    let ChoiceContext { collective, ranks, ordered, .. } = question;
    let (algorithm, word) = (choice.method.algorithm, collective_word(collective));
    let name = algorithm_word(algorithm);
    if algorithm == Algorithm::TwoProcs && ranks > 2 {
        return Err(format!("algorithm \"{name}\" of {word}: expected 2 ranks; found {ranks}"));
    }
    let in_order = match algorithm {
        Algorithm::Nonoverlapping => keeps_rank_order(Collective::Reduce, choice.first.algorithm),
        _ => keeps_rank_order(collective, algorithm),
    };
    if ordered && !in_order {
        let keeps = suitable(collective).iter().filter(|&&other| keeps_rank_order(collective, other));
        let words: Vec<_> = keeps.map(|&other| algorithm_word(other)).collect();
        return Err(format!(
            "algorithm \"{name}\" of {word} combines out of order, and the operator does not commute: expected one of {}",
            words.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::library::default_algorithm;
    use super::*;

    pub(crate) const COLLECTIVES: [Collective; 15] = Collective::ALL;

    #[test]
    fn defaults_are_those_of_mpich() {
        use Algorithm::*;
        let kib = |n: u64| n << 10;
        for (collective, ranks, size, expected) in [
            (Collective::Barrier, 1 << 20, 0, Dissemination),
            (Collective::Bcast, 7, kib(1024), Binomial),
            (Collective::Bcast, 8, kib(12) - 1, Binomial),
            (Collective::Bcast, 8, kib(12), ScatterAllgather),
            (Collective::Reduce, 16, kib(2), Binomial),
            (Collective::Reduce, 16, kib(2) + 8, Rabenseifner),
            (Collective::Allreduce, 16, kib(2), RecursiveDoubling),
            (Collective::Allreduce, 16, kib(2) + 8, Rabenseifner),
            // 513 elements cannot be divided among 1024 ranks.
            (Collective::Allreduce, 1024, kib(4) + 8, RecursiveDoubling),
            // 600 elements can be divided among 512 of 1000 ranks.
            (Collective::Allreduce, 1000, 4800, Rabenseifner),
            (Collective::Gather, 100, kib(1024), Binomial),
            (Collective::Scatterv, 100, 0, Linear),
            (Collective::Allgather, 16, kib(512) - 1, RecursiveDoubling),
            (Collective::Allgather, 16, kib(512), Ring),
            (Collective::Allgather, 17, kib(80) - 1, Bruck),
            (Collective::Allgather, 17, kib(80), Ring),
            (Collective::Alltoall, 7, 256, Linear),
            (Collective::Alltoall, 8, 256, Bruck),
            (Collective::Alltoall, 8, kib(32), Linear),
            (Collective::Alltoall, 8, kib(32) + 1, Pairwise),
            (Collective::Alltoallv, 8, 0, Linear),
            (Collective::Scan, 8, 8, RecursiveDoubling),
            (Collective::ReduceScatter, 8, kib(512) - 1, RecursiveHalving),
            (Collective::ReduceScatter, 8, kib(512), Pairwise),
        ] {
            assert_eq!(
                default_algorithm(collective, ranks, Bytes::new(size)),
                expected,
                "{collective:?} {ranks} {size}"
            );
        }
    }

    #[test]
    fn every_default_suits() {
        for collective in COLLECTIVES {
            for ranks in [1, 2, 7, 8, 1000, u32::MAX] {
                for size in [0, 8, 256, 4096, 1 << 16, 1 << 20, u64::MAX] {
                    assert_eq!(suits(collective, default_algorithm(collective, ranks, Bytes::new(size))), Ok(()));
                }
            }
        }
    }

    #[test]
    fn an_algorithm_that_does_not_suit_is_answered_with_those_that_do() {
        assert_eq!(
            suits(Collective::Bcast, Algorithm::Ring).unwrap_err(),
            "algorithm \"ring\" does not suit bcast: expected one of binomial, scatter_allgather, linear, chain, \
             pipeline, chains, binary, split_binary, knomial, scatter_ring, node_aware"
        );
        assert_eq!(
            suits(Collective::Gatherv, Algorithm::Binomial).unwrap_err(),
            "algorithm \"binomial\" does not suit gatherv: expected linear"
        );
    }
}
