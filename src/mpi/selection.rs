//! MPICH's selection files (`MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`), read as a [`Selection`].
//!
//! A selection file consists of nested JSON objects. A key is a condition, and the object under the key applies if the
//! condition holds. Keys are tested in order. The innermost key names an algorithm. This module assumes flat
//! communicators, built-in operators, separate buffers (no MPI_IN_PLACE) and irregular blocks; conditions about these
//! four properties have a fixed value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::names::collective_word;
use super::schedule::suitable;
use mcpsim_base::platform::{Algorithm, Branch, Collective, Condition, Selection};

/// A JSON object of a selection file, with the keys in the order of the file.
struct SelectionTree(Vec<(String, SelectionTree)>);

impl<'de> Deserialize<'de> for SelectionTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = SelectionTree;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<SelectionTree, M::Error> {
                let mut keys = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    keys.push((key, map.next_value()?));
                }
                Ok(SelectionTree(keys))
            }
        }
        deserializer.deserialize_map(KeyVisitor)
    }
}

/// Reads the text of a selection file. Skips collectives whose algorithm mcpsim does not take from the file, such as
/// non-blocking collectives.
///
/// # Errors
/// Description of the error in the selection file, and the path of JSON keys to the error.
pub fn read_mpich_selection(text: &str) -> Result<Selection, String> {
    let tree: SelectionTree =
        serde_json::from_str(text).map_err(|error| format!("expected MPICH's selection file: {error}"))?;
    let mut selection = Selection::default();
    for (key, below) in tree.0 {
        let key = without_spaces(&key);
        let Some(word) = key.strip_prefix("collective=") else {
            return Err(format!("expected \"collective=NAME\"; found \"{key}\""));
        };
        if !OTHERS.contains(&word) && collective_of(word).is_none() {
            let known: Vec<_> = Collective::ALL.map(collective_word).into();
            return Err(format!("\"{key}\": expected a collective, as {}", known.join(", ")));
        }
        let Some(collective) = collective_of(word) else { continue };
        let branch = branch(collective, &below, &key)?;
        match selection.collectives.iter().any(|(known, _)| *known == collective) {
            true => return Err(format!("\"{key}\" is given twice")),
            false => selection.collectives.push((collective, branch)),
        }
    }
    Ok(selection)
}

/// MPICH's names of collectives that the reader of selection files skips.
const OTHERS: [&str; 31] = [
    "alltoallw",
    "reduce_scatter_block",
    "ibarrier",
    "ibcast",
    "igather",
    "igatherv",
    "iscatter",
    "iscatterv",
    "iallgather",
    "iallgatherv",
    "ialltoall",
    "ialltoallv",
    "ialltoallw",
    "ireduce",
    "iallreduce",
    "ireduce_scatter",
    "ireduce_scatter_block",
    "iscan",
    "iexscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
    "ineighbor_allgather",
    "ineighbor_allgatherv",
    "ineighbor_alltoall",
    "ineighbor_alltoallv",
    "ineighbor_alltoallw",
    "allreduce_group",
    "reduce_local",
];

fn collective_of(word: &str) -> Option<Collective> {
    Collective::ALL.into_iter().find(|collective| collective_word(*collective) == word)
}

fn without_spaces(key: &str) -> String {
    key.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Converts the JSON object under the keys `path` of the selection file.
fn branch(collective: Collective, tree: &SelectionTree, path: &str) -> Result<Branch, String> {
    let mut questions = Vec::new();
    for (key, below) in &tree.0 {
        let key = without_spaces(key);
        let here = format!("{path} / {key}");
        if let Some(name) = key.strip_prefix("algorithm=") {
            return algorithm(collective, name, below).map_err(|what| format!("{here}: {what}"));
        }
        if key.starts_with("composition=") {
            return Err(format!(
                "{here}: expected algorithms, as the file of MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE has them; \
                 found a composition"
            ));
        }
        let condition =
            condition(&key).ok_or_else(|| format!("{here}: expected a condition of MPICH such as comm_size<8"))?;
        let next = branch(collective, below, &here)?;
        // The reader omits conditions that never hold.
        if condition != Condition::Is(false) {
            questions.push((condition, next));
        }
    }
    if tree.0.is_empty() {
        return Err(format!("{path}: expected an algorithm"));
    }
    Ok(Branch::Questions(questions))
}

/// Condition that a key of the selection file states; `None` for an unknown condition.
fn condition(key: &str) -> Option<Condition> {
    // The key `<n` means at most n − 1, so `<0` never holds.
    let number = |prefix: &str, make: fn(u64) -> Condition| {
        let rest = key.strip_prefix(prefix)?.strip_prefix('<')?;
        match rest.strip_prefix('=') {
            Some(most) => most.parse().ok().map(make),
            None => {
                let below: u64 = rest.parse().ok()?;
                Some(below.checked_sub(1).map_or(Condition::Is(false), make))
            }
        }
    };
    Some(match key {
        "comm_size=pow2" => Condition::RanksArePowerOfTwo,
        "count<pow2" => Condition::CountBelowPowerOfTwo,
        "is_commutative=yes" => Condition::Commutes(true),
        "is_commutative=no" => Condition::Commutes(false),
        "comm_type=intra"
        | "comm_hierarchy=flat"
        | "is_multi_threaded=no"
        | "is_sendbuf_inplace=no"
        | "is_op_built_in=yes"
        | "is_block_regular=no"
        | "is_node_consecutive=yes" => Condition::Is(true),
        "comm_type=inter"
        | "comm_size=node_comm_size"
        | "comm_hierarchy=parent"
        | "comm_hierarchy=node_roots"
        | "comm_hierarchy=node"
        | "is_multi_threaded=yes"
        | "is_sendbuf_inplace=yes"
        | "is_op_built_in=no"
        | "is_block_regular=yes"
        | "is_node_consecutive=no" => Condition::Is(false),
        _ if key == "any" || key.ends_with("=any") => Condition::Is(true),
        // The condition always holds, because a node has at least one rank.
        _ if key.starts_with("comm_avg_ppn<") => {
            let Condition::RanksUpTo(most) = number("comm_avg_ppn", Condition::RanksUpTo)? else {
                return Some(Condition::Is(false));
            };
            Condition::Is(most >= 1)
        }
        _ => number("comm_size", Condition::RanksUpTo)
            .or_else(|| number("avg_msg_size", Condition::MeanUpTo))
            .or_else(|| number("total_msg_size", Condition::TotalUpTo))
            .or_else(|| number("count", Condition::CountUpTo))?,
    })
}

/// Algorithm with MPICH's name `name`, and the parameters of the algorithm.
fn algorithm(collective: Collective, name: &str, parameters: &SelectionTree) -> Result<Branch, String> {
    let form = name.strip_prefix("MPIR_").and_then(|rest| {
        rest.split_once("_intra_").or_else(|| rest.split_once("_allcomm_")).or_else(|| rest.split_once("_inter_"))
    });
    let Some((of, form)) = form else {
        return Err(format!("expected an algorithm such as MPIR_Bcast_intra_binomial; found \"{name}\""));
    };
    if !of.eq_ignore_ascii_case(collective_word(collective)) {
        return Err(format!("expected an algorithm of {}; found {name}", collective_word(collective)));
    }
    let algorithm = match (collective, form) {
        (Collective::Allgather | Collective::Allgatherv | Collective::Alltoall, "brucks") => Algorithm::Bruck,
        (Collective::Allreduce, "reduce_scatter_allgather") | (Collective::Reduce, "reduce_scatter_gather") => {
            Algorithm::Rabenseifner
        }
        (Collective::Alltoall | Collective::Alltoallv, "scattered") => Algorithm::Linear,
        (Collective::Barrier, "dissemination" | "k_dissemination") => Algorithm::Dissemination,
        (Collective::Bcast, "scatter_recursive_doubling_allgather") => Algorithm::ScatterAllgather,
        (Collective::Bcast, "scatter_ring_allgather") => Algorithm::ScatterRing,
        (Collective::ReduceScatter, "noncommutative" | "recursive_doubling") => Algorithm::Binomial,
        (_, "recursive_doubling") => Algorithm::RecursiveDoubling,
        (_, "recursive_halving") => Algorithm::RecursiveHalving,
        (_, "binomial") => Algorithm::Binomial,
        (_, "ring") => Algorithm::Ring,
        (_, "pairwise") => Algorithm::Pairwise,
        (_, "linear") => Algorithm::Linear,
        _ => return Ok(Branch::Absent(name.to_owned())),
    };
    if !suitable(collective).contains(&algorithm) || parameters.0.iter().any(|(key, _)| without_spaces(key) != "k=2") {
        return Ok(Branch::Absent(name.to_owned()));
    }
    Ok(Branch::Takes(algorithm.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallForm;
    use crate::library::{ChoiceContext, decide};
    use mcpsim_base::platform::{Library, Method, SelectionContext};

    const FILE: &str = r#"{
      "collective=bcast": { "comm_type=intra": {
          "comm_hierarchy=parent": { "algorithm=MPIR_Bcast_intra_smp": {} },
          "comm_size < 8": { "algorithm=MPIR_Bcast_intra_binomial": {} },
          "avg_msg_size<=12288": { "algorithm=MPIR_Bcast_intra_binomial": {} },
          "comm_size=pow2": { "avg_msg_size<=524288": {
              "algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather": {} } },
          "comm_size=any": { "algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {} } },
        "comm_type=inter": { "algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {} } },
      "collective=ibcast": { "algorithm=MPIR_Ibcast_intra_sched_auto": {} },
      "collective=allreduce": { "is_commutative=no": { "algorithm=MPIR_Allreduce_intra_recursive_doubling": {} },
        "count<pow2": { "algorithm=MPIR_Allreduce_intra_recursive_doubling": {} },
        "count<=1000": { "algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {} },
        "count=any": { "algorithm=MPIR_Allreduce_intra_recexch": { "k=4": {} } } }
    }"#;

    fn of(ranks: u32, size: u64, ordered: bool) -> SelectionContext {
        SelectionContext { ranks, mean: size, total: size, element: 8, ordered }
    }

    #[test]
    fn questions_are_asked_in_their_order() {
        let selection = read_mpich_selection(FILE).unwrap();
        let bcast = |ranks, size| selection.method(Collective::Bcast, of(ranks, size, false)).unwrap();
        assert_eq!(bcast(7, 1 << 20), Some(Algorithm::Binomial.into()));
        assert_eq!(bcast(8, 12_288), Some(Algorithm::Binomial.into()));
        assert_eq!(bcast(8, 524_288), Some(Algorithm::ScatterAllgather.into()));
        // The object for powers of two has no key for the larger size. MPICH then does not try the following keys.
        assert_eq!(bcast(8, 524_289), None);
        assert_eq!(bcast(9, 12_289), Some(Algorithm::ScatterRing.into()));
        assert_eq!(selection.method(Collective::Alltoall, of(8, 8, false)), Ok(None));
        let allreduce = |size, ordered| selection.method(Collective::Allreduce, of(6, size, ordered));
        assert_eq!(allreduce(24, false), Ok(Some(Algorithm::RecursiveDoubling.into())));
        assert_eq!(allreduce(32, false), Ok(Some(Algorithm::Rabenseifner.into())));
        assert_eq!(allreduce(32, true), Ok(Some(Algorithm::RecursiveDoubling.into())));
        assert_eq!(allreduce(8008, false), Err("MPIR_Allreduce_intra_recexch"));
    }

    /// Part of MPICH's own selection file that ignores nodes, for collectives whose choice does not depend on the
    /// assumptions of this module.
    #[test]
    fn mpichs_own_choice_of_bcast_is_that_of_the_library() {
        let selection = read_mpich_selection(FILE).unwrap();
        for ranks in [2, 7, 9, 17, 33] {
            for size in [0, 8, 12_288, 12_289, 524_288, 1 << 20] {
                let question = ChoiceContext {
                    collective: Collective::Bcast,
                    form: CallForm::Blocking,
                    ranks,
                    size,
                    total: size,
                    element: 1,
                    ordered: false,
                    spread: crate::nodes::NodeSpread::FLAT,
                };
                let read: Option<Method> = selection.method(Collective::Bcast, of(ranks, size, false)).unwrap();
                assert_eq!(read, Some(decide(Library::Mpich4, question).method), "{ranks} {size}");
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_selection_file_is_said_with_its_place() {
        let error = |text: &str| read_mpich_selection(text).unwrap_err();
        let cut = error(&FILE[..100]);
        assert!(cut.starts_with("expected MPICH's selection file: EOF while parsing"), "{cut}");
        assert!(
            error("[1]").starts_with("expected MPICH's selection file: invalid type: sequence, expected an object")
        );
        assert_eq!(error("{\"bcast\": {}}"), "expected \"collective=NAME\"; found \"bcast\"");
        assert!(
            error("{\"collective=bcats\": {}}")
                .starts_with("\"collective=bcats\": expected a collective, as barrier, bcast")
        );
        assert_eq!(error("{\"collective=bcast\": {}}"), "collective=bcast: expected an algorithm");
        let with = |key: &str| error(&format!("{{\"collective=bcast\": {{\"comm_size<8\": {{\"{key}\": {{}}}}}}}}"));
        assert_eq!(
            with("comm_size~3"),
            "collective=bcast / comm_size<8 / comm_size~3: expected a condition of MPICH such as comm_size<8"
        );
        assert_eq!(
            with("algorithm=MPIR_Reduce_intra_binomial"),
            "collective=bcast / comm_size<8 / algorithm=MPIR_Reduce_intra_binomial: expected an algorithm of bcast; \
             found MPIR_Reduce_intra_binomial"
        );
        assert!(
            with("algorithm=binomial")
                .ends_with("expected an algorithm such as MPIR_Bcast_intra_binomial; found \"binomial\"")
        );
        assert!(with("composition=MPIDI_Bcast_intra_composition_alpha").ends_with("found a composition"));
    }
}
