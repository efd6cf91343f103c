//! Ranks of a real MPI.

use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use crate::measure::RankPort;

/// This rank, with what it sends and room for what it receives.
pub(super) struct RealPort {
    pub(super) world: SimpleCommunicator,
    pub(super) started: f64,
    /// What is sent is what came last: programs send what they have written, not what has lain in all caches for long.
    pub(super) sent: Vec<u8>,
    pub(super) received: Vec<u8>,
    /// Room for several messages at a time.
    several: Vec<u8>,
    /// By how much computing for a stated time takes longer, seconds: the clock has steps.
    excess: f64,
}

impl RealPort {
    /// A rank that sends messages of at most so many bytes. MPI runs already.
    pub fn new(most: u64) -> RealPort {
        const TIMES: u32 = 2000;
        let (sent, received) = (vec![1; most as usize], vec![2; most as usize]);
        let world = SimpleCommunicator::world();
        let mut port = RealPort { world, started: mpi::time(), sent, received, several: Vec::new(), excess: 0.0 };
        let begun = port.now();
        (0..TIMES).for_each(|_| port.compute(1e-6));
        port.excess = ((port.now() - begun) / f64::from(TIMES) - 1e-6).clamp(0.0, 1e-6);
        port
    }

    /// Room for `count` messages.
    fn make_room(&mut self, bytes: u64, count: u32) -> usize {
        let needed = (bytes * u64::from(count)) as usize;
        if self.several.len() < needed {
            self.several.resize(needed, 3);
        }
        needed
    }
}

impl RankPort for RealPort {
    fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    fn size(&self) -> u32 {
        self.world.size() as u32
    }

    fn now(&mut self) -> f64 {
        mpi::time() - self.started
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.world.process_at_rank(to as i32).send(&self.sent[..bytes as usize]);
    }

    fn recv(&mut self, from: u32, bytes: u64) {
        let process = self.world.process_at_rank(from as i32);
        process.receive_into(&mut self.received[..bytes as usize]);
        std::mem::swap(&mut self.sent, &mut self.received);
    }

    fn send_window(&mut self, to: u32, bytes: u64, count: u32) {
        let process = self.world.process_at_rank(to as i32);
        let part = &self.sent[..bytes as usize];
        multiple_scope(count as usize, |scope, all| {
            (0..count).for_each(|_| _ = all.add(process.immediate_send(scope, part)));
            all.wait_all(&mut Vec::with_capacity(count as usize));
        });
    }

    fn recv_window(&mut self, from: u32, bytes: u64, count: u32) {
        let needed = self.make_room(bytes, count);
        let process = self.world.process_at_rank(from as i32);
        let mut rest = &mut self.several[..needed];
        multiple_scope(count as usize, |scope, all| {
            for _ in 0..count {
                let (part, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                all.add(process.immediate_receive_into(scope, part));
                rest = further;
            }
            all.wait_all(&mut Vec::with_capacity(count as usize));
        });
    }

    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        let (to, from) = (self.world.process_at_rank(to as i32), self.world.process_at_rank(from as i32));
        let bytes = bytes as usize;
        send_receive_into(&self.sent[..bytes], &to, &mut self.received[..bytes], &from);
        std::mem::swap(&mut self.sent, &mut self.received);
    }

    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32) {
        let needed = self.make_room(bytes, count);
        let process = self.world.process_at_rank(with as i32);
        let mut rest = &mut self.several[..needed];
        let part = &self.sent[..bytes as usize];
        multiple_scope(2 * count as usize, |scope, all| {
            for _ in 0..count {
                let (room, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                all.add(process.immediate_receive_into(scope, room));
                rest = further;
            }
            (0..count).for_each(|_| _ = all.add(process.immediate_send(scope, part)));
            all.wait_all(&mut Vec::with_capacity(2 * count as usize));
        });
        // What came is sent next.
        std::mem::swap(&mut self.sent, &mut self.received);
        self.sent[..bytes as usize].copy_from_slice(&self.several[..bytes as usize]);
    }

    fn compute(&mut self, seconds: f64) {
        let end = self.now() + seconds - self.excess;
        while self.now() < end {
            std::hint::spin_loop();
        }
    }

    fn barrier(&mut self) {
        self.world.barrier();
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        let root = self.world.process_at_rank(from as i32);
        let mut count = values.len() as u64;
        root.broadcast_into(&mut count);
        values.resize(count as usize, 0.0);
        root.broadcast_into(&mut values[..]);
    }
}
