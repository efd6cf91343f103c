//! Measuring rank that uses any software layer that transfers messages between two ranks.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::cli::processes::end_process;
use crate::measure::{ProgramVec, RankPort, pass_over};

use super::super::super::exit::Exit;
use super::super::pages::PageBuffer;

/// Software layer that transfers messages between two ranks, in order.
pub(super) trait PairLayer: Send {
    /// Sends the messages `out` and receives the messages `into` concurrently. No message waits for a message that the
    /// other rank has not started.
    ///
    /// # Errors
    /// The other rank has ended, or the layer reports a failure.
    fn transfer(&mut self, out: &[&[u8]], into: &mut [&mut [u8]]) -> Result<(), String>;
}

/// Measuring rank with its send and receive buffers.
pub(super) struct LayerPort {
    rank: u32,
    layer: Box<dyn PairLayer>,
    started: Instant,
    sent: PageBuffer,
    received: PageBuffer,
    several: PageBuffer,
    /// Send buffers for several concurrent messages, one buffer per message.
    apart: PageBuffer,
    /// Array that computing code traverses to evict message buffers from the caches.
    passed: ProgramVec<u64>,
    /// Excess of the actual over the requested compute time so far, in seconds.
    excess: f64,
}

impl LayerPort {
    pub fn new(rank: u32, layer: Box<dyn PairLayer>) -> LayerPort {
        const TIMES: u32 = 2000;
        let [sent, received, several, apart] = std::array::from_fn(|_| PageBuffer::new(0, 0));
        let (started, passed) = (Instant::now(), ProgramVec::new(0, 0));
        let mut port = LayerPort { rank, layer, started, sent, received, several, apart, passed, excess: 0.0 };
        let begun = port.now();
        (0..TIMES).for_each(|_| port.compute(1e-6));
        port.excess = ((port.now() - begun) / f64::from(TIMES) - 1e-6).clamp(0.0, 1e-6);
        port
    }

    /// Allocates buffers for messages of at most `most` bytes.
    pub fn make_room(&mut self, most: u64) {
        (self.sent, self.received) = (PageBuffer::new(most as usize, 1), PageBuffer::new(most as usize, 2));
    }

    /// Sends `out` messages and receives `into` messages of `bytes` bytes.
    fn messages(&mut self, bytes: u64, out: u32, into: u32) {
        let bytes = bytes as usize;
        let needed = bytes * into as usize;
        self.several.make_room(needed, 3);
        let out: Vec<&[u8]> = (0..out).map(|_| &self.sent[..bytes]).collect();
        let mut rest = &mut self.several[..needed];
        let mut parts: Vec<&mut [u8]> = Vec::with_capacity(into as usize);
        for _ in 0..into {
            let (part, further) = std::mem::take(&mut rest).split_at_mut(bytes);
            parts.push(part);
            rest = further;
        }
        told(self.rank, self.layer.transfer(&out, &mut parts));
    }

    /// Sends a message of `bytes` bytes if `out` is true, and receives a message if `into` is true. The buffer of a
    /// received message is the send buffer of the next message.
    fn one(&mut self, bytes: u64, out: bool, into: bool) {
        let bytes = bytes as usize;
        let sent = [&self.sent[..bytes]];
        let mut received = [&mut self.received[..bytes]];
        let (out, parts) = (&sent[..usize::from(out)], &mut received[..usize::from(into)]);
        told(self.rank, self.layer.transfer(out, parts));
        if into {
            std::mem::swap(&mut self.sent, &mut self.received);
        }
    }
}

/// Ends the process if the layer has failed, because a failed layer cannot be measured.
fn told(rank: u32, result: Result<(), String>) {
    let Err(what) = result else { return };
    // Rank 1 also fails when rank 0 ends, and then prints no error message.
    if rank == 0 {
        let _ = writeln!(std::io::stderr(), "error: --layer: {what}");
    }
    end_process(Exit::BadInput.code().into())
}

impl RankPort for LayerPort {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        2
    }

    fn now(&mut self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn send(&mut self, _to: u32, bytes: u64) {
        self.one(bytes, true, false);
    }

    fn recv(&mut self, _from: u32, bytes: u64) {
        self.one(bytes, false, true);
    }

    fn send_window(&mut self, _to: u32, bytes: u64, count: u32) {
        self.messages(bytes, count, 0);
    }

    fn recv_windows(&mut self, from: &[u32], bytes: u64, count: u32) {
        self.messages(bytes, 0, count * from.len() as u32);
    }

    fn exchange(&mut self, _to: u32, _from: u32, bytes: u64) {
        self.one(bytes, true, true);
    }

    fn exchange_window(&mut self, _with: u32, bytes: u64, count: u32) {
        self.messages(bytes, count, count);
    }

    fn exchange_buffers(&mut self, _with: u32, bytes: u64, count: u32) {
        let (bytes, needed) = (bytes as usize, bytes as usize * count as usize);
        self.several.make_room(needed, 3);
        self.apart.make_room(needed, 4);
        let out: Vec<&[u8]> = self.apart[..needed].chunks_exact(bytes).collect();
        let mut parts: Vec<&mut [u8]> = self.several[..needed].chunks_exact_mut(bytes).collect();
        told(self.rank, self.layer.transfer(&out, &mut parts));
    }

    /// During computation the layer receives data only if the operating system does; the receive call follows the
    /// computation.
    fn recv_beside(&mut self, from: u32, bytes: u64, work: f64) -> f64 {
        self.send(from, 0);
        self.compute(work);
        let begun = self.now();
        self.recv(from, bytes);
        self.now() - begun
    }

    fn compute(&mut self, seconds: f64) {
        let end = self.now() + seconds - self.excess;
        while self.now() < end {
            std::hint::spin_loop();
        }
    }

    fn pause(&mut self, seconds: f64) {
        std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    }

    fn pass_memory(&mut self) {
        pass_over(&mut self.passed);
    }

    fn barrier(&mut self) {
        self.exchange(0, 0, 0);
    }

    fn tell(&mut self, _to: u32, values: &[f64]) {
        let count = (values.len() as u64).to_le_bytes();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        told(self.rank, self.layer.transfer(&[&count, &bytes], &mut []));
    }

    fn told(&mut self, _from: u32) -> Vec<f64> {
        let mut count = [0; 8];
        told(self.rank, self.layer.transfer(&[], &mut [&mut count]));
        let mut bytes = vec![0; u64::from_le_bytes(count) as usize * 8];
        told(self.rank, self.layer.transfer(&[], &mut [&mut bytes]));
        bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        if self.rank == from {
            let other = 1 - from;
            self.tell(other, values);
        } else {
            *values = self.told(from);
        }
    }
}
