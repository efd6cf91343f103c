//! Steps of a schedule, and the data blocks that a step moves. The layout ([`super::BlockLayout`]) defines the sizes of
//! blocks.

/// Buffer of a rank. Each buffer has room for every block of the schedule's layout. Some collectives use only some
/// blocks of a buffer: in a gather's input and a scatter's output, a rank has only its own block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Input buffer of the program. Schedules never write to this buffer.
    Input,
    /// Output buffer of the program. A bcast uses only this buffer, which contains the data at the root from the start.
    Output,
    /// Temporary buffer that the schedule uses for intermediate data.
    Temp,
    /// Second temporary buffer of the schedule, for packed data or data that were just received.
    Scratch,
    /// Buffer for the combined data of a node's members in node-aware collectives. Schedules do not use this buffer.
    Node,
}

/// Selection of data blocks, in the order of sending, receiving or copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// All blocks, from block 0 to the last.
    All,
    /// `count` blocks in ascending order, starting with block `first`, continuing with block 0 after the last block.
    Up {
        /// Index of the first selected block.
        first: u32,
        /// Number of selected blocks.
        count: u32,
    },
    /// All blocks in descending order, starting with this block, and continuing with the last block after block 0.
    Down(u32),
    /// The blocks whose index has this bit set (bit 0 is the least significant), in ascending order.
    Bit(u32),
}

/// Data that a step moves: some blocks of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Buffer that contains the blocks.
    pub space: Space,
    /// Selected blocks of the buffer.
    pub blocks: Blocks,
}

/// Position of the other member's data in an operation: left or right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The other member's data are the left operand: own = other ∘ own.
    Left,
    /// The other member's data are the right operand: own = own ∘ other.
    Right,
}

/// What a member does with received data: store or combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The received data are stored in the member's blocks.
    Store,
    /// The received data are combined with the contents of the member's blocks, as the left or right operand.
    Combine(Side),
}

/// A step of a schedule. The ranks in a step are ranks of the communicator other than the member itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends `piece`, and continues when the buffer of `piece` may be changed.
    Send {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Data blocks that the member sends.
        piece: Piece,
    },
    /// Receives data, and continues when the data have arrived.
    Recv {
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        piece: Piece,
        /// Whether the member stores or combines the received data.
        then: Then,
    },
    /// Sends data to one member and receives data from one member at the same time. The sent data are the contents of
    /// `send` before the received data change the blocks `recv`.
    Exchange {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Data blocks that the member sends.
        send: Piece,
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        recv: Piece,
        /// Whether the member stores or combines the received data.
        then: Then,
    },
    /// Starts a send of `piece`. The blocks of `piece` do not change until [`Step::WaitAll`].
    StartSend {
        /// Rank of the receiver in the communicator.
        to: u32,
        /// Data blocks that the member sends.
        piece: Piece,
    },
    /// Posts a receive and continues without waiting.
    StartRecv {
        /// Rank of the sender in the communicator.
        from: u32,
        /// Blocks in which the received data are stored or combined.
        piece: Piece,
        /// Use of the data when a later step waits for the receive.
        then: Then,
    },
    /// Waits for all sends and receives that the schedule started.
    WaitAll,
    /// Waits for one receive: the receive that was posted `back` receives before the last receive that no step has
    /// waited for.
    WaitRecv {
        /// 0 selects the last posted receive that no step has waited for.
        back: u32,
    },
    /// Waits for all sends that the schedule started.
    WaitSends,
    /// Copies the blocks of `from` to the blocks of `to`. Both selections have equally many blocks and do not overlap.
    Copy {
        /// Data blocks that the member copies.
        from: Piece,
        /// Blocks to which the data are copied.
        to: Piece,
    },
    /// Combines each block of `from` with the corresponding block of `to`.
    Combine {
        /// Blocks whose contents are combined with the blocks of `to`.
        from: Piece,
        /// Blocks of this member's operand, in which the result is stored.
        to: Piece,
        /// Whether `from` is the left or the right operand.
        side: Side,
    },
    /// The member has no more steps in the collective.
    Done,
}

impl Blocks {
    /// Selects the single block `block`.
    pub const fn one(block: u32) -> Self {
        Blocks::Up { first: block, count: 1 }
    }

    /// Number of selected blocks in a layout of `parts` blocks.
    pub fn count(self, parts: u32) -> u32 {
        match self {
            Blocks::All | Blocks::Down(_) => parts,
            Blocks::Up { count, .. } => count,
            Blocks::Bit(bit) => {
                // In each range of 2^(bit+1) block indices, the upper half has the bit set.
                let half = 1u64 << bit;
                let (full, rest) = (u64::from(parts) / (2 * half), u64::from(parts) % (2 * half));
                (full * half + rest.saturating_sub(half)) as u32
            }
        }
    }

    /// Indices of the selected blocks in order, in a layout of `parts` blocks.
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
    pub(crate) fn placed(self, input: Space, output: Space) -> Piece {
        let space = match self.space {
            Space::Input => input,
            Space::Output => output,
            other => other,
        };
        Piece { space, ..self }
    }
}

impl Space {
    /// All blocks of this buffer.
    pub const fn all(self) -> Piece {
        Piece { space: self, blocks: Blocks::All }
    }

    /// Block `block` of this buffer.
    pub const fn one(self, block: u32) -> Piece {
        Piece { space: self, blocks: Blocks::one(block) }
    }

    /// No blocks of this buffer, for a message without data.
    pub(super) const fn nothing(self) -> Piece {
        self.up(0, 0)
    }

    /// `count` blocks of this buffer in ascending order, starting with block `first`, and continuing with block 0 after
    /// the last block.
    pub const fn up(self, first: u32, count: u32) -> Piece {
        Piece { space: self, blocks: Blocks::Up { first, count } }
    }
}

impl Side {
    /// Position (left or right) of the data of member `peer` in an operation with the data of member `me`, if the
    /// operands are in rank order.
    pub(super) const fn of(peer: u32, me: u32) -> Self {
        if peer < me { Side::Left } else { Side::Right }
    }
}
