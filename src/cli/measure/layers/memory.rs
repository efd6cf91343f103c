//! Messages through memory that two threads share. One core copies data into the memory and the other core copies data
//! out, as MPI libraries do within a node.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::super::pages::PageBuffer;
use super::port::PairLayer;

/// Size of a piece of a message in bytes, and maximum number of message pieces in the ring buffer.
const PIECE: usize = 16 << 10;
const PIECES: usize = 16;
/// Number of unsuccessful polls of the ring buffer after which a rank yields its core.
const SPINS: u32 = 2000;

/// Ring buffer of message pieces for one direction. At any time only one rank may use a message piece, and only this
/// rank locks the piece, so locks never block.
struct Ring {
    pieces: Vec<Mutex<PageBuffer>>,
    filled: Count,
    taken: Count,
}

/// Counter on its own cache line.
#[repr(align(128))]
#[derive(Default)]
struct Count(AtomicU64);

impl Ring {
    fn new() -> Arc<Ring> {
        let pieces = (0..PIECES).map(|_| Mutex::new(PageBuffer::new(PIECE, 0))).collect();
        Arc::new(Ring { pieces, filled: Count::default(), taken: Count::default() })
    }

    /// Copies a message piece into the ring buffer, if there is room. Returns true if the ring buffer had room.
    fn push(&self, data: &[u8]) -> bool {
        let filled = self.filled.0.load(Ordering::Relaxed);
        if filled - self.taken.0.load(Ordering::Acquire) >= PIECES as u64 {
            return false;
        }
        let mut piece = self.pieces[filled as usize % PIECES].lock().expect("nobody panics with a piece");
        piece[..data.len()].copy_from_slice(data);
        drop(piece);
        self.filled.0.store(filled + 1, Ordering::Release);
        true
    }

    /// Copies a message piece out of the ring buffer, if there is a piece. Returns true if the ring buffer had a
    /// message piece.
    fn pop(&self, data: &mut [u8]) -> bool {
        let taken = self.taken.0.load(Ordering::Relaxed);
        if self.filled.0.load(Ordering::Acquire) == taken {
            return false;
        }
        let piece = self.pieces[taken as usize % PIECES].lock().expect("nobody panics with a piece");
        data.copy_from_slice(&piece[..data.len()]);
        drop(piece);
        self.taken.0.store(taken + 1, Ordering::Release);
        true
    }
}

/// Ring buffers of a rank for sending and for receiving.
pub(super) struct SharedMemory {
    out: Arc<Ring>,
    into: Arc<Ring>,
}

impl SharedMemory {
    /// Creates two ranks that are connected by ring buffers.
    pub fn both() -> (SharedMemory, SharedMemory) {
        let (one, other) = (Ring::new(), Ring::new());
        (SharedMemory { out: Arc::clone(&one), into: Arc::clone(&other) }, SharedMemory { out: other, into: one })
    }
}

/// Position in a list of messages that are being transferred.
#[derive(Default)]
struct MemoryProgress {
    message: usize,
    bytes: usize,
}

impl MemoryProgress {
    /// Returns the byte range of the next piece in a message of `length` bytes.
    fn piece(&self, length: usize) -> std::ops::Range<usize> {
        self.bytes..(self.bytes + PIECE).min(length)
    }

    /// Advances the position past a transferred message piece. An empty message consists of one piece.
    fn advance(&mut self, length: usize) {
        self.bytes = (self.bytes + PIECE).min(length);
        if self.bytes == length {
            (self.message, self.bytes) = (self.message + 1, 0);
        }
    }
}

impl PairLayer for SharedMemory {
    fn transfer(&mut self, out: &[&[u8]], into: &mut [&mut [u8]]) -> Result<(), String> {
        let (mut sent, mut received) = (MemoryProgress::default(), MemoryProgress::default());
        let mut idle = 0;
        while sent.message < out.len() || received.message < into.len() {
            let mut moved = false;
            if let Some(data) = out.get(sent.message)
                && self.out.push(&data[sent.piece(data.len())])
            {
                sent.advance(data.len());
                moved = true;
            }
            if let Some(data) = into.get_mut(received.message) {
                let length = data.len();
                if self.into.pop(&mut data[received.piece(length)]) {
                    received.advance(length);
                    moved = true;
                }
            }
            idle = if moved { 0 } else { idle + 1 };
            if idle > SPINS {
                std::thread::yield_now();
            } else if idle > 0 {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_all_lengths_come_in_order_both_ways() {
        let (mut one, mut other) = SharedMemory::both();
        let lengths = [0, 1, PIECE - 1, PIECE, PIECE + 1, 0, 40 * PIECE + 7];
        let data = |seed: usize| -> Vec<Vec<u8>> {
            lengths.iter().map(|length| (0..*length).map(|byte| (byte * 7 + seed) as u8).collect()).collect()
        };
        let both = move |layer: &mut SharedMemory, mine: usize, theirs: usize| {
            let mut found: Vec<Vec<u8>> = lengths.iter().map(|length| vec![0; *length]).collect();
            let out = data(mine);
            let out: Vec<&[u8]> = out.iter().map(Vec::as_slice).collect();
            let mut into: Vec<&mut [u8]> = found.iter_mut().map(Vec::as_mut_slice).collect();
            layer.transfer(&out, &mut into).unwrap();
            assert!(found == data(theirs));
        };
        std::thread::scope(|scope| {
            scope.spawn(move || both(&mut one, 1, 2));
            both(&mut other, 2, 1);
        });
    }
}
