//! Measuring rank that uses a real MPI library.

use std::time::Duration;

use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::request::{multiple_scope, scope};
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use crate::measure::{GroupPort, NeighbourMethod, ProgramVec, RankPort, pass_over};
use crate::platform::Collective;
use mcpsim_host_mpi::HostWindow;

use super::pages::PageBuffer;

/// MPI tag of control messages between the measuring ranks.
const TOLD: i32 = 1;

/// Measuring rank with its send and receive buffers.
pub(super) struct RealPort {
    pub(super) world: SimpleCommunicator,
    pub(super) started: f64,
    /// Send buffer, which was the receive buffer of the previous message. Programs send data that they have just
    /// written, not data that have been in all caches for a long time.
    pub(super) sent: PageBuffer,
    pub(super) received: PageBuffer,
    /// Receive and send buffer for several concurrent messages.
    pub(super) several: PageBuffer,
    /// Send buffers of several messages, one buffer per message.
    apart: PageBuffer,
    /// Array that computing code traverses to evict message buffers from the caches.
    passed: ProgramVec<u64>,
    /// Memory window for one-sided MPI access.
    pub(super) window: Option<HostWindow>,
    /// Communicator of measured collectives; `None` if this rank takes no part in the collectives.
    members: Option<SimpleCommunicator>,
    /// Operands and result of reductions.
    numbers: [ProgramVec<f64>; 2],
    /// Excess of the actual over the requested compute time so far, in seconds. The excess compute time results from
    /// the clock's resolution.
    excess: f64,
}

impl RealPort {
    /// Creates a measuring rank for messages of at most `most` bytes. MPI is already initialised.
    pub fn new(most: u64) -> RealPort {
        const TIMES: u32 = 2000;
        let (sent, received) = (PageBuffer::new(most as usize, 1), PageBuffer::new(most as usize, 2));
        let world = SimpleCommunicator::world();
        let mut port = RealPort {
            world,
            started: mpi::time(),
            sent,
            received,
            several: PageBuffer::new(0, 3),
            apart: PageBuffer::new(0, 4),
            passed: ProgramVec::new(0, 0),
            window: None,
            members: None,
            numbers: [ProgramVec::new(0.0, 0), ProgramVec::new(0.0, 0)],
            excess: 0.0,
        };
        let begun = port.now();
        (0..TIMES).for_each(|_| port.compute(1e-6));
        port.excess = ((port.now() - begun) / f64::from(TIMES) - 1e-6).clamp(0.0, 1e-6);
        port
    }

    /// Allocates buffers for `count` messages of `bytes` bytes.
    pub(super) fn make_room(&mut self, bytes: u64, count: u32) -> usize {
        let needed = (bytes * u64::from(count)) as usize;
        self.several.make_room(needed, 3);
        needed
    }

    /// Calls MPI_Irecv from and MPI_Isend to each rank of `with`, then MPI_Waitall.
    pub(super) fn with_each(&mut self, with: &[u32], bytes: u64) {
        let needed = self.make_room(bytes, with.len() as u32);
        let RealPort { world, sent, several, .. } = self;
        let part = &sent[..bytes as usize];
        let mut rest = &mut several[..needed];
        multiple_scope(2 * with.len(), |scope, all| {
            for rank in with {
                let (here, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                all.add(world.process_at_rank(*rank as i32).immediate_receive_into(scope, here));
                rest = further;
            }
            with.iter().for_each(|rank| _ = all.add(world.process_at_rank(*rank as i32).immediate_send(scope, part)));
            all.wait_all(&mut Vec::with_capacity(2 * with.len()));
        });
    }

    /// Calls MPI_Alltoallv with `bytes` bytes to and from each rank of `with`.
    fn all_to_all_two(&mut self, with: [u32; 2], bytes: u64) {
        let mut counts = vec![0; self.size() as usize];
        with.iter().for_each(|rank| counts[*rank as usize] += bytes as i32);
        let starts: Vec<i32> = counts
            .iter()
            .scan(0, |next, count: &i32| {
                *next += count;
                Some(*next - count)
            })
            .collect();
        let needed = self.make_room(bytes, 4);
        let (out, into) = self.several[..needed].split_at_mut(needed / 2);
        let out = Partition::new(&*out, &counts[..], &starts[..]);
        let mut into = PartitionMut::new(into, &counts[..], &starts[..]);
        self.world.all_to_all_varcount_into(&out, &mut into);
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

    fn recv_windows(&mut self, from: &[u32], bytes: u64, count: u32) {
        let messages = count as usize * from.len();
        let needed = self.make_room(bytes, messages as u32);
        let RealPort { world, several, .. } = self;
        let mut rest = &mut several[..needed];
        multiple_scope(messages, |scope, all| {
            for rank in (0..count).flat_map(|_| from.iter()) {
                let (part, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                all.add(world.process_at_rank(*rank as i32).immediate_receive_into(scope, part));
                rest = further;
            }
            all.wait_all(&mut Vec::with_capacity(messages));
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
        // The data that the rank has received are sent in the next message.
        std::mem::swap(&mut self.sent, &mut self.received);
        self.sent[..bytes as usize].copy_from_slice(&self.several[..bytes as usize]);
    }

    fn exchange_buffers(&mut self, with: u32, bytes: u64, count: u32) {
        let needed = self.make_room(bytes, count);
        self.apart.make_room(needed, 4);
        let RealPort { world, several, apart, .. } = self;
        let process = world.process_at_rank(with as i32);
        multiple_scope(2 * count as usize, |scope, all| {
            let rooms = several[..needed].chunks_exact_mut(bytes as usize);
            rooms.for_each(|room| _ = all.add(process.immediate_receive_into(scope, room)));
            let parts = apart[..needed].chunks_exact(bytes as usize);
            parts.for_each(|part| _ = all.add(process.immediate_send(scope, part)));
            all.wait_all(&mut Vec::with_capacity(2 * count as usize));
        });
    }

    fn recv_beside(&mut self, from: u32, bytes: u64, work: f64) -> f64 {
        let RealPort { world, sent, received, started, excess, .. } = self;
        let process = world.process_at_rank(from as i32);
        let mut waited = 0.0;
        scope(|scope| {
            let request = process.immediate_receive_into(scope, &mut received[..bytes as usize]);
            process.send(&sent[..0]);
            let end = mpi::time() + work - *excess;
            while mpi::time() < end {
                std::hint::spin_loop();
            }
            let begun = mpi::time() - *started;
            request.wait();
            waited = mpi::time() - *started - begun;
        });
        waited
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
        self.world.barrier();
    }

    fn tell(&mut self, to: u32, values: &[f64]) {
        self.world.process_at_rank(to as i32).send_with_tag(values, TOLD);
    }

    fn told(&mut self, from: u32) -> Vec<f64> {
        self.world.process_at_rank(from as i32).receive_vec_with_tag(TOLD).0
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        let root = self.world.process_at_rank(from as i32);
        let mut count = values.len() as u64;
        root.broadcast_into(&mut count);
        values.resize(count as usize, 0.0);
        root.broadcast_into(&mut values[..]);
    }
}

impl GroupPort for RealPort {
    fn neighbours(&mut self, with: [u32; 2], bytes: u64, how: NeighbourMethod) {
        let [before, after] = with;
        match how {
            NeighbourMethod::Exchange => {
                self.exchange(after, before, bytes);
                self.exchange(before, after, bytes);
            }
            NeighbourMethod::AtOnce => self.with_each(&with, bytes),
            NeighbourMethod::Collective => self.all_to_all_two(with, bytes),
        }
    }

    fn among(&mut self, members: u32) {
        let inside = self.rank() < members;
        let color = if inside { Color::with_value(0) } else { Color::undefined() };
        self.members = self.world.split_by_color(color);
    }

    fn collective(&mut self, collective: Collective, root: u32, bytes: u64) {
        let RealPort { world, sent, received, several, numbers: [one, other], members, .. } = self;
        let Some(members) = members else {
            // By default all ranks take part in a measured collective.
            match collective {
                Collective::Bcast => {
                    world.process_at_rank(root as i32).broadcast_into(&mut sent[..bytes as usize]);
                }
                _ => world.barrier(),
            }
            return;
        };
        let ranks = members.size() as usize;
        let is_root = members.rank() as u32 == root;
        let at = members.process_at_rank(root as i32);
        let (block, all) = (bytes as usize, bytes as usize * ranks);
        several.make_room(2 * all, 3);
        let (out, into) = several.split_at_mut(all);
        let count = block / size_of::<f64>();
        one.make_room(count, 1.0);
        other.make_room(count, 1.0);
        let (one, other) = (&one[..count], &mut other[..count]);
        match collective {
            Collective::Barrier => members.barrier(),
            Collective::Bcast => at.broadcast_into(&mut sent[..block]),
            Collective::Scatter if is_root => at.scatter_into_root(&*out, &mut received[..block]),
            Collective::Scatter => at.scatter_into(&mut received[..block]),
            Collective::Gather if is_root => at.gather_into_root(&sent[..block], &mut into[..all]),
            Collective::Gather => at.gather_into(&sent[..block]),
            Collective::Alltoall => members.all_to_all_into(&*out, &mut into[..all]),
            Collective::Reduce if is_root => at.reduce_into_root(one, other, SystemOperation::sum()),
            Collective::Reduce => at.reduce_into(one, SystemOperation::sum()),
            Collective::Allreduce => members.all_reduce_into(one, other, SystemOperation::sum()),
            Collective::Scan => members.scan_into(one, other, SystemOperation::sum()),
            _ => unreachable!("{collective:?} is not measured"),
        }
    }
}
