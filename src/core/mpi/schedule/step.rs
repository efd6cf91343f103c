//! Steps of a schedule and the blocks of data that a step moves. The layout ([`super::BlockLayout`]) defines the sizes
//! of blocks.

/// Buffer of a rank. Each space has room for every block of the schedule's layout. Some collectives use only some
/// blocks of a space: in a gather's input and a scatter's output, a rank has only its own block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Input buffer of the program. Schedules never write to this buffer.
    Input,
    /// Output buffer of the program. A bcast uses only this space, which contains the data at the root from the start.
    Output,
    /// Temporary buffer of the schedule.
    Temp,
    /// Second temporary buffer of the schedule, for packed data or data that were just received.
    Scratch,
    /// Buffer for the combined data of a node's members in node-aware collectives. Schedules do not use this space.
    Node,
}

/// Blocks of a layout, in the order of sending, receiving or copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// All blocks, from block 0 to the last.
    All,
    /// `count` blocks in ascending order from `first` on, continuing with block 0 after the last block.
    Up {
        /// First block.
        first: u32,
        /// Number of blocks.
        count: u32,
    },
    /// All blocks in descending order from this block on, continuing with the last block after block 0.
    Down(u32),
    /// The blocks whose number has this bit set (bit 0 is the least significant), in ascending order.
    Bit(u32),
}

/// A piece of data: some blocks of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Space that contains the blocks.
    pub space: Space,
    /// Blocks of the space.
    pub blocks: Blocks,
}

/// Side of the operator on which the other member's operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// own = other ∘ own.
    Left,
    /// own = own ∘ other.
    Right,
}

/// Use of received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The received data are stored in the piece.
    Store,
    /// The received data are combined with the contents of the piece, as the operand on this side.
    Combine(Side),
}

/// A step of a schedule. Peers are ranks of the communicator other than the rank itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends `piece`; continues when `piece` may be changed.
    Send {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Blocks to send.
        piece: Piece,
    },
    /// Receives data and continues when they have arrived.
    Recv {
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        piece: Piece,
        /// Use of the received data.
        then: Then,
    },
    /// Sends and receives at the same time. The sent data are the contents of `send` before `recv` changes.
    Exchange {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Blocks to send.
        send: Piece,
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        recv: Piece,
        /// Use of the received data.
        then: Then,
    },
    /// Starts a send of `piece`, which does not change until [`Step::WaitAll`].
    StartSend {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Blocks to send.
        piece: Piece,
    },
    /// Posts a receive and continues without waiting.
    StartRecv {
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        piece: Piece,
        /// Use of the data when the receive is waited for.
        then: Then,
    },
    /// Waits for all started sends and receives.
    WaitAll,
    /// Waits for the receive that was posted `back` receives before the last open receive.
    WaitRecv {
        /// 0 for the last open receive.
        back: u32,
    },
    /// Waits for all started sends.
    WaitSends,
    /// Copies `from` to `to`, block by block. The pieces have equally many blocks and do not overlap.
    Copy {
        /// Blocks that are copied.
        from: Piece,
        /// Blocks to which the data are copied.
        to: Piece,
    },
    /// Combines `from` with `to`, block by block.
    Combine {
        /// Blocks of the other operand.
        from: Piece,
        /// Blocks of this member's operand, which become the result.
        to: Piece,
        /// Side of the operator on which `from` is.
        side: Side,
    },
    /// This member's part in the collective is complete.
    Done,
}

impl Blocks {
    /// A single block.
    pub const fn one(block: u32) -> Self {
        Blocks::Up { first: block, count: 1 }
    }

    /// Number of blocks in a layout of `parts` blocks.
    pub fn count(self, parts: u32) -> u32 {
        match self {
            Blocks::All | Blocks::Down(_) => parts,
            Blocks::Up { count, .. } => count,
            Blocks::Bit(bit) => {
                // In each range of 2^(bit+1) block numbers, the upper half has the bit set.
                let half = 1u64 << bit;
                let (full, rest) = (u64::from(parts) / (2 * half), u64::from(parts) % (2 * half));
                (full * half + rest.saturating_sub(half)) as u32
            }
        }
    }

    /// Indices of the blocks in order, in a layout of `parts` blocks.
    pub fn indices(self, parts: u32) -> impl Iterator<Item = u32> {
        let wide = u64::from(parts);
        let steps = if let Blocks::Bit(_) = self { parts } else { self.count(parts) };
        (0..u64::from(steps)).filter_map(move |i| match self {
            Blocks::All => Some(i as u32),
            Blocks::Up { first, .. } => Some(((u64::from(first) + i) % wide) as u32),
            Blocks::Down(first) => Some(((u64::from(first) + wide - i) % wide) as u32),
            Blocks::Bit(bit) => (i >> bit & 1 == 1).then_some(i as u32),
        })
    }
}

impl Piece {
    /// Replaces [`Space::Input`] by `input` and [`Space::Output`] by `output`.
    pub(in crate::mpi) fn placed(self, input: Space, output: Space) -> Piece {
        let space = match self.space {
            Space::Input => input,
            Space::Output => output,
            other => other,
        };
        Piece { space, ..self }
    }
}

impl Space {
    /// All blocks of this space.
    pub const fn all(self) -> Piece {
        Piece { space: self, blocks: Blocks::All }
    }

    /// One block of this space.
    pub const fn one(self, block: u32) -> Piece {
        Piece { space: self, blocks: Blocks::one(block) }
    }

    /// No block: the piece of a message without data.
    pub(super) const fn nothing(self) -> Piece {
        self.up(0, 0)
    }

    /// `count` blocks of this space upwards from `first`, cyclically.
    pub const fn up(self, first: u32, count: u32) -> Piece {
        Piece { space: self, blocks: Blocks::Up { first, count } }
    }
}

impl Side {
    /// Side of the operand of `peer` in rank order, if the data of `peer` and of this member `me` belong to adjacent
    /// ranges of ranks.
    pub(super) const fn of(peer: u32, me: u32) -> Self {
        if peer < me { Side::Left } else { Side::Right }
    }
}
