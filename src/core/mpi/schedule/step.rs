//! What one step of a schedule does, and to which data. Sizes are the layout's business.

/// Where data is. Each space has a cell for every block of the schedule's layout, of which a collective may use only
/// some: of a gather's input and of a scatter's output, a rank has only the block of its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// What the program gave; never written.
    Input,
    /// What the program gets; of a bcast, the only buffer, filled at the root from the start.
    Output,
    /// A buffer of the schedule.
    Temp,
    /// A second one, for what is packed or only just received.
    Scratch,
    /// What the members of a node have together, where that is not the output; no schedule names it.
    Node,
}

/// Blocks of a layout, in the order in which they are sent, received or copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Block 0 to the last.
    All,
    /// `count` blocks upwards from `first`, past the last going on with block 0.
    Up {
        /// The first block.
        first: u32,
        /// How many.
        count: u32,
    },
    /// All blocks downwards from this one, past block 0 going on with the last.
    Down(u32),
    /// The blocks in whose number this bit (0 is the least) is set, upwards.
    Bit(u32),
}

/// Blocks of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where.
    pub space: Space,
    /// Which.
    pub blocks: Blocks,
}

/// On which side of an operator the other operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// mine = other ∘ mine.
    Left,
    /// mine = mine ∘ other.
    Right,
}

/// What becomes of received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is stored in the piece.
    Store,
    /// It is combined with what the piece holds, being on this side.
    Combine(Side),
}

/// A step. Peers are ranks of the communicator, never the rank itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends; goes on when the piece may be changed.
    Send {
        /// The receiver.
        to: u32,
        /// What.
        piece: Piece,
    },
    /// Receives.
    Recv {
        /// The sender.
        from: u32,
        /// Where to.
        piece: Piece,
        /// What becomes of it.
        then: Then,
    },
    /// Sends and receives at once. What is sent is what `send` holds before anything of `recv` changes.
    Exchange {
        /// The receiver.
        to: u32,
        /// What is sent.
        send: Piece,
        /// The sender.
        from: u32,
        /// Where to receive.
        recv: Piece,
        /// What becomes of it.
        then: Then,
    },
    /// Starts a send; the piece stays as it is until [`Step::WaitAll`].
    StartSend {
        /// The receiver.
        to: u32,
        /// What.
        piece: Piece,
    },
    /// Posts a receive.
    StartRecv {
        /// The sender.
        from: u32,
        /// Where to.
        piece: Piece,
        /// What becomes of it, when it is waited for.
        then: Then,
    },
    /// Waits for all that was started.
    WaitAll,
    /// Waits for the receive that was posted `back` before the last of those that are open.
    WaitRecv {
        /// 0 for the last.
        back: u32,
    },
    /// Waits for the sends that were started.
    WaitSends,
    /// Copies, block after block; the pieces have as many blocks and do not overlap.
    Copy {
        /// What.
        from: Piece,
        /// Where to.
        to: Piece,
    },
    /// Combines, block after block.
    Combine {
        /// The other operand.
        from: Piece,
        /// Mine, and the result.
        to: Piece,
        /// The side of `from`.
        side: Side,
    },
    /// The collective is done here.
    Done,
}

impl Blocks {
    /// One block.
    pub const fn one(block: u32) -> Self {
        Blocks::Up { first: block, count: 1 }
    }

    /// How many they are in a layout of `parts` blocks.
    pub fn count(self, parts: u32) -> u32 {
        match self {
            Blocks::All | Blocks::Down(_) => parts,
            Blocks::Up { count, .. } => count,
            Blocks::Bit(bit) => {
                // Of 2^(bit+1) numbers in a row from 0 the upper half has the bit.
                let half = 1u64 << bit;
                let (full, rest) = (u64::from(parts) / (2 * half), u64::from(parts) % (2 * half));
                (full * half + rest.saturating_sub(half)) as u32
            }
        }
    }

    /// Their numbers in order, in a layout of `parts` blocks.
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
    /// The same where these are in place of input and output.
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
    /// All blocks here.
    pub const fn all(self) -> Piece {
        Piece { space: self, blocks: Blocks::All }
    }

    /// One block here.
    pub const fn one(self, block: u32) -> Piece {
        Piece { space: self, blocks: Blocks::one(block) }
    }

    /// No block: what a message without data is about.
    pub(super) const fn nothing(self) -> Piece {
        self.up(0, 0)
    }

    /// `count` blocks here upwards from `first`, cyclically.
    pub const fn up(self, first: u32, count: u32) -> Piece {
        Piece { space: self, blocks: Blocks::Up { first, count } }
    }
}

impl Side {
    /// The side of `peer`'s data where the operands are in rank order and `me` has those next to it.
    pub(super) const fn of(peer: u32, me: u32) -> Self {
        if peer < me { Side::Left } else { Side::Right }
    }
}
