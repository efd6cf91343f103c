//! Checks outputs against MPI-3.1, chapter 5, for every placement, and message counts against counts made by hand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::schedule::{BlockLayout, Blocks, Piece, Side, Space, Then};
use crate::{CallForm, CollectiveCall, CommMember, DataCost, Group, Mover, Runner, Sizes};
use mcpsim_base::platform::{
    Algorithm, Collective, CollectiveRule, CollectiveRules, Library, NodeMap, Platform, PlatformSource, Site,
};
use mcpsim_base::rank::{Call, Completion, Message, Pattern, Payload, Rank, Reply, ReplyKind, Source};
use mcpsim_base::units::{Bytes, SimTime};

/// A buffer of 8-byte items. Each item is the sum of the contributions combined in it.
type Items = Vec<u64>;

/// A [`Mover`] that adds items.
struct Adder {
    spaces: [Items; 5],
}

impl Adder {
    fn places(layout: &BlockLayout, blocks: Blocks) -> Vec<usize> {
        let range = |block: u32| layout.offset(block.into()) / 8..layout.offset(u64::from(block) + 1) / 8;
        blocks.indices(layout.parts()).flat_map(range).map(|item| item as usize).collect()
    }

    fn items(&self, layout: &BlockLayout, piece: Piece) -> Items {
        Adder::places(layout, piece.blocks).into_iter().map(|at| self.spaces[piece.space as usize][at]).collect()
    }

    fn put(&mut self, layout: &BlockLayout, piece: Piece, items: Items, adds: bool) {
        assert_ne!(piece.space, Space::Input, "the input is never written");
        let places = Adder::places(layout, piece.blocks);
        assert_eq!(places.len(), items.len());
        for (at, item) in places.into_iter().zip(items) {
            let place = &mut self.spaces[piece.space as usize][at];
            *place = if adds { place.wrapping_add(item) } else { item };
        }
    }
}

impl Mover for Adder {
    const MOVES: bool = true;

    fn element(&self, _: Collective) -> u32 {
        8
    }
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let items = self.items(layout, piece);
        (!items.is_empty()).then(|| items.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>().into())
    }
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let Some(data) = payload else { return };
        let items = data.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        self.put(layout, piece, items, matches!(then, Then::Combine(_)));
    }
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let items = self.items(layout, from);
        self.put(layout, to, items, false);
    }
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, _: Side) {
        let items = self.items(layout, from);
        self.put(layout, to, items, true);
    }
}

/// Parameters of a test run of a node-aware collective.
struct StagedCase<'a> {
    library: Library,
    collective: Collective,
    /// Index of the node on which each rank runs.
    nodes: &'a [u32],
    root: u32,
    items: usize,
}

/// Outputs and message counts of a test run of a node-aware collective.
struct StagedRun {
    outputs: Vec<Items>,
    /// Numbers of messages and bytes by sender and receiver.
    sends: BTreeMap<(Rank, Rank), (u64, u64)>,
    algorithm: Algorithm,
}

impl StagedRun {
    fn total(&self) -> (u64, u64) {
        self.sends.values().fold((0, 0), |(count, bytes), (more, size)| (count + more, bytes + size))
    }

    /// Number of messages and number of bytes between ranks on different nodes.
    fn across(&self, nodes: &[u32]) -> (u64, u64) {
        let across = self.sends.iter().filter(|((from, to), _)| nodes[*from as usize] != nodes[*to as usize]);
        across.fold((0, 0), |(count, bytes), (_, (more, size))| (count + more, bytes + size))
    }
}

fn item(rank: u32, place: usize) -> u64 {
    (u64::from(rank) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(place as u32 % 61).wrapping_add(place as u64)
}

/// Whether `collective` has one block per rank.
fn is_by_block(collective: Collective) -> bool {
    matches!(collective, Collective::Gather | Collective::Scatter | Collective::Allgather)
}

/// Input buffer of rank `rank`: the rank's own block, or the blocks of all ranks at the root of a scatter.
fn input(case: &StagedCase<'_>, rank: u32) -> Items {
    let StagedCase { collective, root, items, .. } = *case;
    let size = case.nodes.len();
    let own = rank as usize * items..(rank as usize + 1) * items;
    match collective {
        Collective::Scatter if rank == root => (0..items * size).map(|place| item(rank, place)).collect(),
        Collective::Scatter => vec![0; items * size],
        Collective::Gather | Collective::Allgather => {
            (0..items * size).map(|place| if own.contains(&place) { item(rank, place) } else { 0 }).collect()
        }
        _ => (0..items).map(|place| item(rank, place)).collect(),
    }
}

/// State of a rank on the test machine without virtual time.
struct RankAtWork {
    runner: Runner<Adder>,
    /// Started sends and receives by request, with the completion after its arrival.
    open: BTreeMap<u32, Option<Option<Completion>>>,
    waits: Vec<u32>,
    /// Whether the rank's wait ends with the first completion.
    any: bool,
    /// Whether the reply to the rank's wait omits the completions.
    quiet: bool,
    next: u32,
    reply: Option<Vec<u32>>,
    done: bool,
}

fn completion(size: Bytes, payload: Payload) -> Completion {
    Completion { index: 0, source: 0, tag: 0, size, payload, cancelled: false }
}

fn run(case: &StagedCase<'_>) -> StagedRun {
    let StagedCase { library, collective, nodes, root, items } = *case;
    let size = nodes.len() as u32;
    let sites: Vec<Site> = nodes.iter().map(|&node| Site { node, cmp: 0, core: 0 }).collect();
    let mut rules = CollectiveRules::with_library(library);
    rules.nodes = Some(Arc::new(NodeMap::from_sites(&sites)));
    rules.set(collective, vec![CollectiveRule::always(Algorithm::NodeAware.into())]);
    let core = PlatformSource::load(Platform::default_document(), &[]).unwrap().platform.core;
    let seat = |rank: u32| {
        let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size });
        let bytes = Bytes::new(8 * items as u64);
        let call = CollectiveCall { collective, comm, root, sizes: Sizes::Same(bytes), algorithm: None };
        let input = input(case, rank);
        let empty = vec![0; input.len()];
        let output = if collective == Collective::Bcast && rank == root { input.clone() } else { empty.clone() };
        let mover = Adder { spaces: [input, output, empty.clone(), empty.clone(), empty] };
        let runner = Runner::new((call, CallForm::Blocking), &rules, DataCost::new(&core, 1e9), 0, mover).unwrap();
        RankAtWork {
            runner,
            open: BTreeMap::new(),
            waits: Vec::new(),
            any: false,
            quiet: false,
            next: 0,
            reply: Some(Vec::new()),
            done: false,
        }
    };
    let mut seats: Vec<RankAtWork> = (0..size).map(seat).collect();
    let algorithm = seats[0].runner.method().algorithm;
    let mut sends = BTreeMap::new();
    // Unmatched sends and receives by pair of sender and receiver.
    let mut out: BTreeMap<(u32, u32), VecDeque<(u32, Message)>> = BTreeMap::new();
    let mut posted: BTreeMap<(u32, u32), VecDeque<u32>> = BTreeMap::new();
    loop {
        let mut moved = false;
        for me in 0..size {
            while let Some(calls) = advance(&mut seats[me as usize]) {
                moved = true;
                for (request, call) in calls {
                    let pair = match call {
                        StartedCall::Send(message) => {
                            let pair = (me, message.to);
                            let sent: &mut (u64, u64) = sends.entry(pair).or_default();
                            *sent = (sent.0 + 1, sent.1 + message.size.get());
                            out.entry(pair).or_default().push_back((request, message));
                            pair
                        }
                        StartedCall::Receive(pattern) => {
                            let Source::Rank(from) = pattern.from else { panic!("{pattern:?}") };
                            posted.entry((from, me)).or_default().push_back(request);
                            (from, me)
                        }
                    };
                    let (Some(waiting), Some(sent)) = (posted.get_mut(&pair), out.get_mut(&pair)) else { continue };
                    while !waiting.is_empty() && !sent.is_empty() {
                        let (receive, (send, message)) =
                            (waiting.pop_front().expect("some"), sent.pop_front().expect("some"));
                        let size = message.size;
                        seats[pair.1 as usize].open.insert(receive, Some(Some(completion(size, message.payload))));
                        seats[pair.0 as usize].open.insert(send, Some(Some(completion(size, None))));
                    }
                }
            }
        }
        if !moved {
            break;
        }
    }
    assert!(seats.iter().all(|seat| seat.done), "a deadlock: {collective:?} of {library:?} on {nodes:?}");
    assert!(out.values().all(VecDeque::is_empty) && posted.values().all(VecDeque::is_empty));
    let outputs = seats.into_iter().map(|seat| {
        let [_, output, ..] = seat.runner.into_mover().spaces;
        output
    });
    StagedRun { outputs: outputs.collect(), sends, algorithm }
}

enum StartedCall {
    Send(Message),
    Receive(Pattern),
}

/// Executes the next call of a rank that can proceed, and returns the operations that the call starts.
fn advance(seat: &mut RankAtWork) -> Option<Vec<(u32, StartedCall)>> {
    if seat.done || !seat.any && seat.waits.iter().any(|request| seat.open[request].is_none()) {
        return None;
    }
    let mut completions: Vec<Completion> = Vec::new();
    let mut waited = std::mem::take(&mut seat.waits);
    if std::mem::take(&mut seat.any) {
        let Some(index) = waited.iter().position(|request| seat.open[request].is_some()) else {
            (seat.waits, seat.any) = (waited, true);
            return None;
        };
        let completion = seat.open.remove(&waited[index]).flatten().flatten().expect("it is done");
        completions.push(Completion { index: index as u32, ..completion });
        waited.clear();
    }
    for request in waited {
        completions.push(seat.open.remove(&request).flatten().flatten().expect("it is done"));
    }
    let quiet = std::mem::take(&mut seat.quiet);
    let kind = match seat.reply.take() {
        _ if quiet => ReplyKind::Done,
        Some(started) if started.is_empty() => ReplyKind::Done,
        Some(started) => ReplyKind::Started(started[0]),
        None => ReplyKind::Completed(&mut completions),
    };
    let call = seat.runner.next_call(&mut Reply { clock: SimTime::ZERO, kind });
    let start = |seat: &mut RankAtWork, what: StartedCall| {
        let request = seat.next;
        seat.next += 1;
        seat.open.insert(request, None);
        (request, what)
    };
    Some(match call {
        None => {
            assert!(seat.open.is_empty(), "done with requests open");
            seat.done = true;
            Vec::new()
        }
        Some(Call::Compute(_) | Call::Data(_)) => {
            seat.reply = Some(Vec::new());
            Vec::new()
        }
        Some(Call::Send(message)) => {
            let sent = start(seat, StartedCall::Send(message));
            (seat.waits, seat.quiet) = (vec![sent.0], true);
            vec![sent]
        }
        Some(Call::Recv(pattern)) => {
            let received = start(seat, StartedCall::Receive(pattern));
            seat.waits = vec![received.0];
            vec![received]
        }
        Some(Call::Exchange(message, pattern)) => {
            let sent = start(seat, StartedCall::Send(message));
            let received = start(seat, StartedCall::Receive(pattern));
            // The reply lists the completion of the receive first.
            seat.waits = vec![received.0, sent.0];
            vec![sent, received]
        }
        Some(Call::Isend(message)) => {
            let sent = start(seat, StartedCall::Send(message));
            seat.reply = Some(vec![sent.0]);
            vec![sent]
        }
        Some(Call::Irecv(pattern)) => {
            let received = start(seat, StartedCall::Receive(pattern));
            seat.reply = Some(vec![received.0]);
            vec![received]
        }
        Some(Call::WaitAll(requests) | Call::Complete(requests)) => {
            seat.waits = requests.to_vec();
            Vec::new()
        }
        Some(Call::WaitAny(requests)) => {
            (seat.waits, seat.any) = (requests.to_vec(), true);
            Vec::new()
        }
        Some(other) => panic!("{other:?}"),
    })
}

const COLLECTIVES: [Collective; 7] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Gather,
    Collective::Scatter,
    Collective::Allgather,
];
/// One MPI library of each schedule style, and each MPI library that chooses node-aware algorithms by default.
const LIBRARIES: [Library; 3] = [Library::Mpich3Flat, Library::OpenMpi50, Library::Mpich4];

fn check(case: &StagedCase<'_>) -> StagedRun {
    let ran = run(case);
    let StagedCase { library, collective, nodes, root, items } = *case;
    let size = nodes.len() as u32;
    for (rank, output) in (0..).zip(&ran.outputs) {
        for (place, &found) in output.iter().enumerate() {
            let expected = match collective {
                Collective::Barrier => continue,
                Collective::Bcast => item(root, place),
                Collective::Reduce | Collective::Gather if rank != root => continue,
                Collective::Gather | Collective::Allgather => item((place / items) as u32, place),
                Collective::Scatter if place / items != rank as usize => continue,
                Collective::Scatter => item(root, place),
                _ => (0..size).fold(0u64, |sum, other| sum.wrapping_add(item(other, place))),
            };
            let what = format!("{collective:?} of {library:?} from {root}, {items} items on {nodes:?}");
            assert_eq!(found, expected, "item {place} of rank {rank}: {what}");
        }
    }
    ran
}

/// Placements of ranks on nodes: consecutive ranks on a node, ranks dealt to nodes in turn, and irregular.
fn spreads(size: u32) -> Vec<Vec<u32>> {
    let of = |node: &dyn Fn(u32) -> u32| (0..size).map(node).collect::<Vec<u32>>();
    let mut spreads = vec![of(&|rank| rank % 3), of(&|rank| rank * 2 / size), of(&|rank| (rank * rank + rank / 3) % 4)];
    spreads.push(of(&|rank| rank / 4));
    spreads.push(of(&|rank| u32::from(rank == size / 2)));
    spreads
}

#[test]
fn every_rank_ends_with_its_data_wherever_the_ranks_are() {
    for library in LIBRARIES {
        for collective in COLLECTIVES {
            for size in 1..=33u32 {
                for (which, nodes) in spreads(size).iter().enumerate() {
                    let roots: &[u32] = match collective {
                        Collective::Barrier | Collective::Allreduce | Collective::Allgather => &[0],
                        _ => &[0, size / 2, size - 1],
                    };
                    for &root in roots {
                        // Sizes below and above MPICH's thresholds, and sizes that leave incomplete blocks.
                        let all: &[usize] = if size < 10 { &[0, 1, 300, 1601] } else { &[3, 300] };
                        for &items in all {
                            if collective == Collective::Barrier && items != all[0]
                                || size > 6 && !(which as u32 + size).is_multiple_of(5)
                            {
                                continue;
                            }
                            check(&StagedCase { library, collective, nodes, root, items });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn segments_of_open_mpi_s_end_right() {
    let library = Library::OpenMpi50;
    for nodes in [&[0u32, 0, 1, 1][..], &[0, 1, 2, 0, 1, 2], &[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]] {
        for collective in COLLECTIVES.into_iter().filter(|collective| !is_by_block(*collective)) {
            for items in [8192, 8193, 3 * 8192, 5 * 8192 - 7] {
                check(&StagedCase { library, collective, nodes, root: 1, items });
            }
        }
    }
}

#[test]
fn a_collective_by_nodes_crosses_them_no_more_than_it_must() {
    // The machine has four nodes of three ranks.
    let nodes: Vec<u32> = (0..12).map(|rank| rank / 3).collect();
    let n = 800;
    let ran = |library, collective, root| {
        let ran = check(&StagedCase { library, collective, nodes: &nodes, root, items: 100 });
        assert_eq!(ran.algorithm, Algorithm::NodeAware);
        (ran.total(), ran.across(&nodes))
    };
    for library in [Library::Mpich4, Library::OpenMpi50] {
        // Each member except the root receives one message; three of these messages cross nodes.
        assert_eq!(ran(library, Collective::Bcast, 0), ((11, 11 * n), (3, 3 * n)), "{library:?}");
        assert_eq!(ran(library, Collective::Reduce, 0).1.1 % n, 0);
    }
    // The root is not a node leader, so MPICH sends one more message than Open MPI.
    assert_eq!(ran(Library::Mpich4, Collective::Bcast, 4), ((12, 12 * n), (3, 3 * n)));
    assert_eq!(ran(Library::OpenMpi50, Collective::Bcast, 4), ((11, 11 * n), (3, 3 * n)));
    // Below 2 KiB MPICH sends the reduced data of each node to a member of the root's node: 2 messages in each node,
    // and 3 messages between nodes.
    assert_eq!(ran(Library::Mpich4, Collective::Reduce, 4), ((11, 11 * n), (3, 3 * n)));
    // The reductions within nodes send 8 messages. Rabenseifner's algorithm among four leaders has 2 · 2 rounds of 4
    // messages and sends 2 · 3 · n bytes. The bcasts within nodes send 8 messages.
    assert_eq!(ran(Library::Mpich4, Collective::Allreduce, 0), ((32, 22 * n), (16, 6 * n)));
    // The barriers of 3 ranks in each of 4 nodes have 2 rounds of 3 messages, the barrier of 4 leaders 2 rounds of 4.
    // Then 8 ranks receive one byte each.
    assert_eq!(ran(Library::Mpich4, Collective::Barrier, 0), ((24 + 8 + 8, 8), (8, 0)));
}

#[test]
fn blocks_cross_nodes_once_and_together() {
    // The placements are four nodes of three ranks, consecutive or dealt in turn. Each block has n bytes.
    let n = 800;
    for nodes in [(0..12).map(|rank| rank / 3).collect::<Vec<u32>>(), (0..12).map(|rank| rank % 4).collect()] {
        for library in LIBRARIES {
            for root in [0, 7] {
                let ran = |collective| {
                    let ran = check(&StagedCase { library, collective, nodes: &nodes, root, items: 100 });
                    (ran.algorithm, ran.total(), ran.across(&nodes))
                };
                let (algorithm, (_, sent), across) = ran(Collective::Allgather);
                if library != Library::OpenMpi50 {
                    assert_eq!(algorithm, Algorithm::NodeAware);
                    continue;
                }
                // In each node, one member receives two messages. Three messages with a node's blocks follow.
                assert_eq!(ran(Collective::Gather), (Algorithm::NodeAware, (11, 17 * n), (3, 9 * n)));
                assert_eq!(ran(Collective::Scatter), (Algorithm::NodeAware, (11, 17 * n), (3, 9 * n)));
                // Recursive doubling among leaders sends four messages of 3 n bytes and four of 6 n. Then two members
                // of each node receive all blocks.
                assert_eq!(across, (8, 36 * n));
                assert_eq!(sent, (8 + 36 + 2 * 4 * 12) * n);
            }
        }
    }
}

/// Compares message counts with the counts that `pml_monitoring` of Open MPI 5.0.11 reported for one call on a node of
/// two ranks and a node of three ranks.
#[test]
fn blocks_go_as_open_mpi_counts_them() {
    for each in [2u32, 3] {
        let nodes: Vec<u32> = (0..2 * each).map(|rank| rank / each).collect();
        for items in [1, 625, 12_500] {
            let n = 8 * items as u64;
            let (node, all) = (u64::from(each) * n, 2 * u64::from(each) * n);
            let sends = |collective| {
                check(&StagedCase { library: Library::OpenMpi50, collective, nodes: &nodes, root: 0, items }).sends
            };
            let within = |up: Option<u64>, down: Option<u64>| {
                let members =
                    [0, each].into_iter().flat_map(|leader| (leader + 1..leader + each).map(move |m| (leader, m)));
                let both = members.flat_map(move |(leader, member)| {
                    let up = up.map(|bytes| ((member, leader), (1, bytes)));
                    let down = down.map(|bytes| ((leader, member), (1, bytes)));
                    up.into_iter().chain(down)
                });
                both.collect::<BTreeMap<_, _>>()
            };
            let with = |mut sends: BTreeMap<(Rank, Rank), (u64, u64)>, between: &[(Rank, Rank)]| {
                sends.extend(between.iter().map(|&pair| (pair, (1, node))));
                sends
            };
            assert_eq!(sends(Collective::Allgather), with(within(Some(n), Some(all)), &[(0, each), (each, 0)]));
            if items < 12_500 {
                assert_eq!(sends(Collective::Gather), with(within(Some(n), None), &[(each, 0)]));
                assert_eq!(sends(Collective::Scatter), with(within(None, Some(n)), &[(0, each)]));
            }
        }
    }
}

#[test]
fn a_form_that_cannot_be_had_is_the_library_s_flat_one() {
    let ran = |library, nodes: &[u32]| {
        check(&StagedCase { library, collective: Collective::Bcast, nodes, root: 0, items: 1 })
    };
    for library in LIBRARIES {
        // No library uses the node-aware algorithm on one node, or with one rank per node.
        assert_ne!(ran(library, &[0, 0, 0]).algorithm, Algorithm::NodeAware);
        assert_ne!(ran(library, &[0, 1, 2]).algorithm, Algorithm::NodeAware);
    }
    // Open MPI requires equally many ranks on each node.
    assert_ne!(ran(Library::OpenMpi50, &[0, 0, 1]).algorithm, Algorithm::NodeAware);
    assert_eq!(ran(Library::Mpich4, &[0, 0, 1]).algorithm, Algorithm::NodeAware);
    for collective in COLLECTIVES.into_iter().filter(|collective| is_by_block(*collective)) {
        for library in LIBRARIES {
            let ran = check(&StagedCase { library, collective, nodes: &[0, 0, 1], root: 2, items: 3 });
            assert_ne!(ran.algorithm, Algorithm::NodeAware);
        }
    }
}
