//! Ranks of a real MPI.

use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use crate::measure::Port;

/// This rank, with what it sends and room for what it receives.
pub(super) struct RealPort {
    world: SimpleCommunicator,
    started: f64,
    sent: Vec<u8>,
    received: Vec<u8>,
    /// By how much computing for a stated time takes longer, seconds: the clock has steps.
    excess: f64,
}

impl RealPort {
    /// A rank that sends messages of at most so many bytes. MPI runs already.
    pub fn new(most: u64) -> RealPort {
        let most = most as usize;
        let (sent, received) = (vec![1; most.max(1)], vec![2; most.max(1)]);
        let mut port =
            RealPort { world: SimpleCommunicator::world(), started: mpi::time(), sent, received, excess: 0.0 };
        const TIMES: u32 = 2000;
        let begun = port.now();
        (0..TIMES).for_each(|_| port.compute(1e-6));
        port.excess = ((port.now() - begun) / f64::from(TIMES) - 1e-6).clamp(0.0, 1e-6);
        port
    }

    fn rank_of(&self, rank: u32) -> mpi::topology::Process<'_> {
        self.world.process_at_rank(rank as i32)
    }
}

impl Port for RealPort {
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
        self.rank_of(to).send(&self.sent[..bytes as usize]);
    }

    fn recv(&mut self, from: u32, bytes: u64) {
        let process = self.world.process_at_rank(from as i32);
        process.receive_into(&mut self.received[..bytes as usize]);
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
        let needed = (bytes * u64::from(count)) as usize;
        if self.received.len() < needed {
            self.received.resize(needed, 2);
        }
        let process = self.world.process_at_rank(from as i32);
        let mut rest = &mut self.received[..needed];
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
