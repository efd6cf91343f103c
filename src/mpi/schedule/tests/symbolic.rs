//! A machine without time: every cell of every space holds the contributions combined in it, in order; every send waits
//! for its receive; the messages of a pair are matched in order.

use std::collections::{BTreeMap, VecDeque};

use super::super::{Layout, Parts, Piece, Schedule, Seat, Side, Space, Step, Then};
use crate::platform::{Algorithm, Collective};
use crate::units::Bytes;

/// A contribution: the block of a rank's input.
pub(super) type Term = (u32, u32);

/// What a cell holds: contributions in the order in which they were combined; `None` if nothing was written.
pub(super) type Cell = Option<Vec<Term>>;

/// What all ranks together did.
pub(super) struct Ran {
    /// The output cells of each rank.
    pub(super) outputs: Vec<Vec<Cell>>,
    /// Messages sent.
    pub(super) messages: u64,
    /// Bytes sent.
    pub(super) bytes: u64,
    /// The greatest number of steps of a rank.
    pub(super) steps: u64,
}

struct Machine {
    spaces: Vec<[Vec<Cell>; 4]>,
    parts: u32,
}

struct Posted {
    rank: u32,
    piece: Piece,
    then: Then,
}

impl Machine {
    fn read(&self, rank: u32, piece: Piece) -> Vec<Vec<Term>> {
        let cells = &self.spaces[rank as usize][piece.space as usize];
        piece
            .blocks
            .indices(self.parts)
            .map(|block| {
                cells[block as usize].clone().unwrap_or_else(|| panic!("rank {rank} reads nothing: {piece:?}"))
            })
            .collect()
    }

    fn write(&mut self, rank: u32, piece: Piece, data: Vec<Vec<Term>>, then: Then) {
        assert_ne!(piece.space, Space::Input, "the input is never written");
        let cells = &mut self.spaces[rank as usize][piece.space as usize];
        assert_eq!(piece.blocks.count(self.parts) as usize, data.len(), "as many blocks sent as received");
        for (block, terms) in piece.blocks.indices(self.parts).zip(data) {
            let cell = &mut cells[block as usize];
            *cell = Some(match (then, cell.take()) {
                (Then::Store, _) => terms,
                (Then::Combine(Side::Left), Some(mine)) => [terms, mine].concat(),
                (Then::Combine(Side::Right), Some(mine)) => [mine, terms].concat(),
                (Then::Combine(_), None) => panic!("rank {rank} combines with nothing"),
            });
        }
    }
}

/// The layout of `schedule`'s data: of `size` bytes in all, or of blocks that differ from rank to rank.
pub(super) fn layout(schedule: &Schedule, seat: Seat, size: u64) -> Layout {
    match schedule.parts() {
        Parts::Split(parts) => Layout::Split { total: Bytes::new(size), parts, element: 1 },
        Parts::Ranks => Layout::Uniform { block: Bytes::new(size), parts: seat.size },
    }
}

/// Runs `collective` by `algorithm` among `size` ranks, with `bytes` in the buffer or block.
pub(super) fn run(collective: Collective, algorithm: Algorithm, size: u32, root: u32, bytes: u64) -> Ran {
    let seat = |rank| Seat { size, rank, root };
    let mut schedules: Vec<Schedule> = (0..size)
        .map(|rank| Schedule::new(collective, algorithm, seat(rank), Bytes::new(bytes)).expect("suits"))
        .collect();
    let layout = layout(&schedules[0], seat(0), bytes);
    let parts = layout.parts();
    let spaces = (0..size).map(|rank| {
        let input = (0..parts).map(|block| Some(vec![(rank, block)])).collect();
        let empty = vec![None; parts as usize];
        let filled = match collective {
            Collective::Barrier => true,
            Collective::Bcast => rank == root,
            _ => false,
        };
        let output = if filled { Vec::clone(&input) } else { empty.clone() };
        [input, output, empty.clone(), empty]
    });
    let mut machine = Machine { spaces: spaces.collect(), parts };
    let (mut messages, mut sent) = (0, 0);
    // Sends and receives not yet matched, by pair; and how many of its own a rank waits for.
    let mut sends: BTreeMap<(u32, u32), VecDeque<Vec<Vec<Term>>>> = BTreeMap::new();
    let mut receives: BTreeMap<(u32, u32), VecDeque<Posted>> = BTreeMap::new();
    let mut open = vec![0u32; size as usize];
    let mut waits = vec![false; size as usize];
    let mut done = vec![false; size as usize];
    let mut steps = vec![0u64; size as usize];
    let mut ready: VecDeque<u32> = (0..size).collect();
    while let Some(rank) = ready.pop_front() {
        let me = rank as usize;
        while !(done[me] || waits[me] && open[me] > 0) {
            waits[me] = false;
            let step = schedules[me].next_step();
            steps[me] += 1;
            let (send, recv, wait) = match step {
                Step::Send { to, piece } => (Some((to, piece)), None, true),
                Step::StartSend { to, piece } => (Some((to, piece)), None, false),
                Step::Recv { from, piece, then } => (None, Some((from, piece, then)), true),
                Step::StartRecv { from, piece } => (None, Some((from, piece, Then::Store)), false),
                Step::Exchange { to, send, from, recv, then } => (Some((to, send)), Some((from, recv, then)), true),
                Step::WaitAll => (None, None, true),
                Step::Copy { from, to } => {
                    let data = machine.read(rank, from);
                    machine.write(rank, to, data, Then::Store);
                    continue;
                }
                Step::Combine { from, to, side } => {
                    let data = machine.read(rank, from);
                    machine.write(rank, to, data, Then::Combine(side));
                    continue;
                }
                Step::Done => {
                    assert_eq!(open[me], 0, "rank {rank} is done with requests open");
                    done[me] = true;
                    continue;
                }
            };
            let mut pairs = Vec::new();
            if let Some((to, piece)) = send {
                assert_ne!(to, rank);
                messages += 1;
                sent += layout.bytes(piece.blocks).get();
                sends.entry((rank, to)).or_default().push_back(machine.read(rank, piece));
                open[me] += 1;
                pairs.push((rank, to));
            }
            if let Some((from, piece, then)) = recv {
                assert_ne!(from, rank);
                receives.entry((from, rank)).or_default().push_back(Posted { rank, piece, then });
                open[me] += 1;
                pairs.push((from, rank));
            }
            for pair in pairs {
                let (Some(out), Some(posted)) = (sends.get_mut(&pair), receives.get_mut(&pair)) else { continue };
                while !out.is_empty() && !posted.is_empty() {
                    let (data, Posted { rank, piece, then }) =
                        (out.pop_front().expect("not empty"), posted.pop_front().expect("not empty"));
                    machine.write(rank, piece, data, then);
                    for end in [pair.0, pair.1] {
                        open[end as usize] -= 1;
                        if open[end as usize] == 0 && end != me as u32 {
                            ready.push_back(end);
                        }
                    }
                }
            }
            waits[me] = wait;
        }
    }
    assert!(done.iter().all(|done| *done), "{collective:?} {algorithm:?} {size} ranks, root {root}: deadlock");
    assert!(sends.values().all(VecDeque::is_empty) && receives.values().all(VecDeque::is_empty));
    let outputs = machine.spaces.into_iter().map(|[_, output, ..]| output).collect();
    Ran { outputs, messages, bytes: sent, steps: steps.into_iter().max().unwrap_or(0) }
}
