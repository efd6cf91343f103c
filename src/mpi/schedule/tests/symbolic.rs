//! A simulated machine without virtual time. Every test cell (indivisible byte range) of a buffer contains the list of
//! contributions combined in the cell, in order. Every send waits for its receive. The messages of each pair of ranks
//! are matched in order.
//!
//! A test cell is a range of bytes that no layout of the collective divides further.

use std::collections::{BTreeMap, VecDeque};

use super::super::{
    BlockLayout, Choice, Extent, Fold, Parts, Piece, RootNumbering, Schedule, ScheduleStyle, Seat, Side, Space, Step,
    Then,
};
use mcpsim_base::platform::{Collective, Method};
use mcpsim_base::units::Bytes;

/// A contribution: the contributing rank, and the index of the test cell in the rank's input.
pub(super) type Term = (u32, u32);

/// Contents of a test cell: contributions in the order of combination; `None` before the first write.
pub(super) type Cell = Option<Vec<Term>>;

/// Outputs and message counts of a test run of schedules.
pub(super) struct SymbolicRun {
    /// Test cells of the output buffer of each rank.
    pub(super) outputs: Vec<Vec<Cell>>,
    /// Number of test cells per rank's block, or in the whole buffer.
    pub(super) cells: u32,
    /// Number of messages that all ranks sent.
    pub(super) messages: u64,
    /// Number of bytes that all ranks sent.
    pub(super) bytes: u64,
    /// Greatest number of steps per rank.
    pub(super) steps: u64,
}

struct SymbolicMachine {
    spaces: Vec<[Vec<Cell>; 4]>,
    /// Offsets of the test cells in bytes, followed by the size of the buffer. If there is one block per rank, the
    /// offsets refer to a block.
    bounds: Vec<u64>,
}

/// Contents of a message, one list of contributions per test cell.
type Data = Vec<Vec<Term>>;
/// Data that arrived for a receive for which the rank has not yet waited.
type Arrived = (Piece, Then, Data);

struct PostedStep {
    rank: u32,
    piece: Piece,
    then: Then,
    number: u64,
    starts: bool,
}

/// Sends and receives for which a rank waits, identified by their start order at the rank.
#[derive(Clone, Copy, Debug)]
enum StepWait {
    Not,
    All,
    Sends,
    /// Waits for the most recent sends and receives of the rank. The integer is the number of these operations.
    Last(u64),
    /// Waits for all sends and receives of the rank, starting with this index.
    From(u64),
    /// Waits for the send or receive with this index at the rank.
    Number(u64),
}

impl StepWait {
    /// Whether this wait blocks a rank with the incomplete operations `open`. Each operation is its index, and whether
    /// it is a receive.
    fn holds(self, open: &[(u64, bool)]) -> bool {
        open.iter().any(|&(number, is_receive)| match self {
            StepWait::Not | StepWait::Last(_) => false,
            StepWait::All => true,
            StepWait::Sends => !is_receive,
            StepWait::From(first) => number >= first,
            StepWait::Number(one) => number == one,
        })
    }
}

impl SymbolicMachine {
    /// Indices of the test cells of `piece`, in the order of sending.
    fn cells(&self, layout: &BlockLayout, piece: Piece) -> Vec<usize> {
        let inner = self.bounds.len() - 1;
        let mut cells = Vec::new();
        for block in piece.blocks.indices(layout.parts()) {
            match layout {
                BlockLayout::Uniform { .. } | BlockLayout::Varying(_) => {
                    cells.extend((0..inner).map(|cell| block as usize * inner + cell));
                }
                BlockLayout::Headed { block: size, .. } => {
                    let start = u64::from(block / 2) * size.get();
                    let range = layout.offset(u64::from(block)) - start..layout.offset(u64::from(block) + 1) - start;
                    let inside = (0..inner).filter(|&cell| range.contains(&self.bounds[cell]));
                    cells.extend(inside.map(|cell| (block / 2) as usize * inner + cell));
                }
                _ => {
                    let range = layout.offset(u64::from(block))..layout.offset(u64::from(block) + 1);
                    cells.extend((0..inner).filter(|&cell| range.contains(&self.bounds[cell])));
                }
            }
        }
        cells
    }

    fn read(&self, layout: &BlockLayout, rank: u32, piece: Piece) -> Vec<Vec<Term>> {
        let spaces = &self.spaces[rank as usize][piece.space as usize];
        let cells = self.cells(layout, piece).into_iter();
        cells
            .map(|cell| spaces[cell].clone().unwrap_or_else(|| panic!("rank {rank} reads nothing: {piece:?}")))
            .collect()
    }

    fn write(&mut self, layout: &BlockLayout, rank: u32, piece: Piece, data: Vec<Vec<Term>>, then: Then) {
        let places = self.cells(layout, piece);
        assert!(piece.space != Space::Input || places.is_empty(), "the input is never written");
        let cells = &mut self.spaces[rank as usize][piece.space as usize];
        assert_eq!(places.len(), data.len(), "as many cells sent as received: {piece:?}");
        for (place, terms) in places.into_iter().zip(data) {
            let cell = &mut cells[place];
            *cell = Some(match (then, cell.take()) {
                (Then::Store, _) => terms,
                (Then::Combine(Side::Left), Some(mine)) => [terms, mine].concat(),
                (Then::Combine(Side::Right), Some(mine)) => [mine, terms].concat(),
                (Then::Combine(_), None) => panic!("rank {rank} combines with nothing"),
            });
        }
    }
}

/// Layout of `schedule`'s data: a buffer of `size` bytes, or one block per rank with different sizes.
pub(super) fn layout(schedule: &Schedule, ranks: u32, size: u64, element: u32) -> BlockLayout {
    let total = Bytes::new(size);
    match schedule.parts() {
        Parts::Split(parts) => BlockLayout::Split { total, parts, element },
        Parts::Nested { parts, inner, segment } => BlockLayout::Nested { total, parts, inner, segment, element },
        Parts::Halved(parts) => BlockLayout::Halved { total, parts, element },
        Parts::Headed(head) => BlockLayout::Headed { block: total, head: Bytes::new(head.into()), ranks },
        Parts::Ranks => BlockLayout::Uniform { block: total, parts: ranks },
    }
}

/// Parameters of a test run: collective, algorithm, number of ranks and size.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduleCase {
    pub(super) collective: Collective,
    pub(super) choice: Choice,
    pub(super) style: ScheduleStyle,
    pub(super) size: u32,
    pub(super) root: u32,
    /// Number of bytes in the buffer or block.
    pub(super) bytes: u64,
    pub(super) element: u32,
    /// Whether contributions must be combined in order of ranks.
    pub(super) ordered: bool,
    pub(super) numbering: RootNumbering,
}

impl ScheduleCase {
    /// Test case for the default library with root 0. The data may be divided at any byte.
    pub(super) fn flat(collective: Collective, method: impl Into<Method>, size: u32, bytes: u64) -> Self {
        let choice = Choice::from(method.into());
        ScheduleCase {
            collective,
            choice,
            style: ScheduleStyle::Flat,
            size,
            root: 0,
            bytes,
            element: 1,
            ordered: false,
            numbering: RootNumbering::Rotated,
        }
    }
}

/// Offsets of the test cells: all boundaries between blocks in any of the layouts.
fn bounds(layouts: &[&BlockLayout], bytes: u64) -> Vec<u64> {
    let mut bounds = vec![0, bytes];
    for layout in layouts {
        match layout {
            BlockLayout::Uniform { .. } | BlockLayout::Varying(_) => {}
            BlockLayout::Headed { head, .. } => bounds.push(head.get().min(bytes)),
            _ => bounds.extend((0..layout.parts()).map(|block| layout.offset(block.into()))),
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    if bounds.len() == 1 && layouts.iter().any(|layout| matches!(layout, BlockLayout::Uniform { .. })) {
        // An empty buffer is one test cell if blocks are not divided.
        bounds.push(0);
    }
    bounds
}

/// Executes the schedules of all ranks of a test case.
pub(super) fn run(case: ScheduleCase) -> SymbolicRun {
    let ScheduleCase { collective, choice, style, size, root, bytes, element, ordered, numbering } = case;
    let towards_root = style == ScheduleStyle::Flat || collective == Collective::Reduce;
    let fold = if towards_root { Fold::TowardsRoot } else { Fold::Higher };
    let extent = Extent { size: Bytes::new(bytes), element };
    let plan = |rank| {
        let seat = Seat { root, style, fold, ordered, numbering, ..Seat::with_root_0(size, rank) };
        Schedule::plan(collective, choice, seat, extent).expect("suits")
    };
    let mut schedules: Vec<(Schedule, Option<Schedule>)> = (0..size).map(plan).collect();
    let layouts = [Some(schedules[0].0), schedules[0].1]
        .map(|schedule| schedule.map(|schedule| layout(&schedule, size, bytes, element)));
    let known: Vec<&BlockLayout> = layouts.iter().flatten().collect();
    let bounds = bounds(&known, bytes);
    let inner = bounds.len() as u32 - 1;
    let is_by_rank = matches!(known[0], BlockLayout::Uniform { .. } | BlockLayout::Headed { .. });
    let parts = if is_by_rank { inner * size } else { inner };
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
    let mut machine = SymbolicMachine { spaces: spaces.collect(), bounds };
    let (mut messages, mut sent) = (0, 0);
    // Unmatched sends and receives by pair of sender and receiver, with the index of the send or receive at its rank.
    let mut sends: BTreeMap<(u32, u32), VecDeque<(Data, u64)>> = BTreeMap::new();
    let mut receives: BTreeMap<(u32, u32), VecDeque<PostedStep>> = BTreeMap::new();
    // Incomplete operations of each rank, by index; and the wait of each waiting rank.
    let mut open: Vec<Vec<(u64, bool)>> = vec![Vec::new(); size as usize];
    let mut started = 0u64;
    let mut waits: Vec<StepWait> = vec![StepWait::Not; size as usize];
    // Indices of posted receives for which no step has waited, and the data that have arrived for them.
    let mut posted_by: Vec<Vec<u64>> = vec![Vec::new(); size as usize];
    let mut arrived: Vec<BTreeMap<u64, Arrived>> = vec![BTreeMap::new(); size as usize];
    let mut stages = vec![0usize; size as usize];
    let mut done = vec![false; size as usize];
    let mut steps = vec![0u64; size as usize];
    let mut ready: VecDeque<u32> = (0..size).collect();
    while let Some(rank) = ready.pop_front() {
        let me = rank as usize;
        while !done[me] && !waits[me].holds(&open[me]) {
            let layout = layouts[stages[me]].as_ref().expect("a layout");
            let waited = match std::mem::replace(&mut waits[me], StepWait::Not) {
                StepWait::All => std::mem::take(&mut posted_by[me]),
                StepWait::Number(number) => vec![number],
                _ => Vec::new(),
            };
            for number in waited {
                let (piece, then, data) = arrived[me].remove(&number).expect("it has come");
                machine.write(layout, rank, piece, data, then);
            }
            let step = schedules[me].0.next_step();
            steps[me] += 1;
            let starts = matches!(step, Step::StartRecv { .. });
            let (send, recv, wait) = match step {
                Step::Send { to, piece } => (Some((to, piece)), None, StepWait::Last(1)),
                Step::StartSend { to, piece } => (Some((to, piece)), None, StepWait::Not),
                Step::Recv { from, piece, then } => (None, Some((from, piece, then)), StepWait::Last(1)),
                Step::StartRecv { from, piece, then } => (None, Some((from, piece, then)), StepWait::Not),
                Step::Exchange { to, send, from, recv, then } => {
                    (Some((to, send)), Some((from, recv, then)), StepWait::Last(2))
                }
                Step::WaitAll => (None, None, StepWait::All),
                Step::WaitSends => (None, None, StepWait::Sends),
                Step::WaitRecv { back } => {
                    let place = posted_by[me].len() - 1 - back as usize;
                    (None, None, StepWait::Number(posted_by[me].remove(place)))
                }
                Step::Copy { from, to } => {
                    let data = machine.read(layout, rank, from);
                    machine.write(layout, rank, to, data, Then::Store);
                    continue;
                }
                Step::Combine { from, to, side } => {
                    let data = machine.read(layout, rank, from);
                    machine.write(layout, rank, to, data, Then::Combine(side));
                    continue;
                }
                Step::Done => {
                    assert!(open[me].is_empty(), "rank {rank} is done with requests open");
                    match schedules[me].1.take() {
                        Some(second) => {
                            schedules[me].0 = second;
                            stages[me] = 1;
                        }
                        None => done[me] = true,
                    }
                    continue;
                }
            };
            let mut pairs = Vec::new();
            if let Some((to, piece)) = send {
                assert_ne!(to, rank);
                let volume = layout.bytes(piece.blocks).get();
                messages += 1;
                sent += volume;
                sends.entry((rank, to)).or_default().push_back((machine.read(layout, rank, piece), started));
                open[me].push((started, false));
                started += 1;
                pairs.push((rank, to));
            }
            if let Some((from, piece, then)) = recv {
                assert_ne!(from, rank);
                if starts {
                    posted_by[me].push(started);
                }
                let posted = PostedStep { rank, piece, then, number: started, starts };
                receives.entry((from, rank)).or_default().push_back(posted);
                open[me].push((started, true));
                started += 1;
                pairs.push((from, rank));
            }
            for pair in pairs {
                let (Some(out), Some(posted)) = (sends.get_mut(&pair), receives.get_mut(&pair)) else { continue };
                while !out.is_empty() && !posted.is_empty() {
                    let ((data, sent), PostedStep { rank, piece, then, number, starts }) =
                        (out.pop_front().expect("not empty"), posted.pop_front().expect("not empty"));
                    if starts {
                        arrived[rank as usize].insert(number, (piece, then, data));
                    } else {
                        let layout = layouts[stages[rank as usize]].as_ref().expect("a layout");
                        machine.write(layout, rank, piece, data, then);
                    }
                    for (end, number) in [(pair.0, sent), (pair.1, number)] {
                        open[end as usize].retain(|(other, _)| *other != number);
                        if end != me as u32 {
                            ready.push_back(end);
                        }
                    }
                }
            }
            waits[me] = match wait {
                // The step waits for the sends and receives that the step itself started.
                StepWait::Last(count) => StepWait::From(started - count),
                wait => wait,
            };
        }
    }
    assert!(done.iter().all(|done| *done), "{case:?}: deadlock");
    assert!(sends.values().all(VecDeque::is_empty) && receives.values().all(VecDeque::is_empty));
    let outputs = machine.spaces.into_iter().map(|[_, output, ..]| output).collect();
    SymbolicRun { outputs, cells: inner, messages, bytes: sent, steps: steps.into_iter().max().unwrap_or(0) }
}
