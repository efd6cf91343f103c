//! Tests of traces that record collectives as calls and not as messages. On the machine of the recorded run, the replay
//! of a trace gives the result of the recorded run. On a machine with another MPI library, the replay of a trace equals
//! a run of the program with that library.

use std::sync::Arc;

use crate::support::collectives::{Line, each, part_by, record_lines, run_lines, same};
use crate::support::machine;
use crate::support::replays::replay;
use mcpsim::engine::Outcome;
use mcpsim::mpi::{CollectiveCall, CommMember, Group, Sizes, suitable};
use mcpsim::platform::{Collective, CollectiveRules, Contention, Library, Placement, Platform};
use mcpsim::trace::{Trace, info, stats};

const RANKS: u32 = 6;

fn on(library: Library) -> Platform {
    Platform { collectives: CollectiveRules::with_library(library), ..machine([3, 1, 2], Contention::Share) }
}

/// Returns the call of `rank` in a collective on the communicator `id` with the members `group`.
fn part(collective: Collective, id: u32, group: &Group, rank: u32, size: u64) -> Option<CollectiveCall> {
    let comm = CommMember::new(id, group.member(rank)?, group.clone());
    let members = comm.size();
    let sizes: Vec<u64> = (0..u64::from(members)).map(|member| (member * 37 + size) % 3000).collect();
    let root = if matches!(collective, Collective::Allreduce | Collective::Barrier) { 0 } else { members - 1 };
    let sizes = match collective {
        Collective::Gatherv | Collective::Scatterv if comm.rank() != root => Sizes::Same(each_of(&sizes, comm.rank())),
        Collective::Gatherv | Collective::Scatterv | Collective::Allgatherv | Collective::ReduceScatter => each(&sizes),
        // Rank i sends rank j as many bytes as rank j sends rank i.
        Collective::Alltoallv => each(&sizes.iter().map(|size| size + sizes[comm.rank() as usize]).collect::<Vec<_>>()),
        _ => same(size),
    };
    Some(CollectiveCall { collective, comm, root, sizes, algorithm: None })
}

fn each_of(sizes: &[u64], member: u32) -> mcpsim::units::Bytes {
    mcpsim::units::Bytes::new(sizes[member as usize])
}

/// Returns programs with all collectives of all sizes in three communicators, blocking and nonblocking, some in loops.
fn programs() -> Vec<Vec<Line>> {
    let world = Group::Strided { first: 0, stride: 1, size: RANKS };
    let odd = Group::Strided { first: 1, stride: 2, size: 3 };
    let listed = Group::from_ranks(vec![4, 0, 3]);
    let program = |rank: u32| {
        let mut lines = vec![Line::Compute(100 + u64::from(rank) * 7)];
        for (id, group) in [(0, &world), (2, &odd), (5, &listed)] {
            for size in [0, 8, 1000, 5000, 70_000, 1 << 20] {
                let parts = Collective::ALL.into_iter().filter_map(|of| part(of, id, group, rank, size));
                parts.for_each(|call| lines.extend([Line::Collective(call), Line::Compute(11)]));
            }
            let begun = Collective::ALL.into_iter().filter_map(|of| part(of, id, group, rank, 3000));
            begun.for_each(|call| lines.push(Line::Begin(call)));
            lines.push(Line::WaitAll);
        }
        for &algorithm in suitable(Collective::Bcast) {
            lines.push(Line::Collective(part_by(algorithm, Collective::Bcast, rank, RANKS, same(20_000))));
        }
        let turn = [
            Line::Collective(part(Collective::Allreduce, 0, &world, rank, 16).unwrap()),
            Line::Collective(part(Collective::Barrier, 0, &world, rank, 0).unwrap()),
        ];
        lines.extend((0..50).flat_map(|_| turn.clone()));
        lines
    };
    (0..RANKS).map(program).collect()
}

fn without_host(outcome: Outcome, like: &Outcome) -> Outcome {
    Outcome { host: like.host.clone(), ..outcome }
}

#[test]
fn a_replay_is_the_run_that_its_library_would_have_made() {
    let programs = programs();
    for library in [Library::Mpich3Flat, Library::OpenMpi40] {
        let trace = Arc::new(Trace::read(record_lines(&on(library), &programs)).unwrap());
        for other in Library::ALL {
            let platform = on(other);
            let sites = Placement::Block.sites(platform.shape, RANKS, false).unwrap();
            for workers in 1..=4 {
                if other != library && workers > 2 {
                    continue;
                }
                let run = run_lines(&platform, &programs, workers).unwrap();
                // The name of the program and some options differ between the two runs.
                let replayed = replay(&trace, &platform, &sites, workers).unwrap();
                let replayed = Outcome { pairs: run.pairs.clone(), ..without_host(replayed, &run) };
                assert!(replayed == run, "recorded with {library:?}, replayed with {other:?} on {workers}");
            }
        }
    }
}

#[test]
fn collectives_take_a_line_each_in_a_trace_of_any_library() {
    let programs = programs();
    let recorded = |library| Trace::read(record_lines(&on(library), &programs)).unwrap();
    let [trace, other] = [Library::Mpich3Flat, Library::OpenMpi41].map(recorded);
    // The trace does not depend on the MPI library of the recorded machine.
    assert_eq!(stats(&trace), stats(&other));
    // Only collectives send messages in this trace.
    assert!(info(&trace).contains("\n  messages     0, 0 B\n"), "{}", info(&trace));
    let calls: usize =
        programs.iter().flatten().filter(|line| matches!(line, Line::Collective(_) | Line::Begin(_))).count();
    assert!(calls > 1000);
    let row = format!("\n  collectives {calls}");
    assert!(
        info(&trace).replace(',', "").replace("  collectives  ", "  collectives ").contains(&row),
        "{}",
        info(&trace)
    );
}

#[test]
fn a_replay_that_is_recorded_again_is_the_same_trace() {
    let platform = on(Library::OpenMpi40);
    let bytes = record_lines(&platform, &programs());
    let trace = Arc::new(Trace::read(bytes.clone()).unwrap());
    let sites = Placement::Block.sites(platform.shape, RANKS, false).unwrap();
    let again = crate::support::replays::record(&trace, &platform, &sites);
    assert!(again == bytes);
}
