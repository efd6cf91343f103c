//! Compares the end times of many transfers in the engine with the end times by a simple solver for max-min fair
//! shares.

use super::*;

/// A transfer between nodes in the solver: start time of its bytes, source, destination and size.
#[derive(Clone, Copy, Debug)]
struct Alike {
    start: f64,
    from: usize,
    to: usize,
    bytes: f64,
}

/// Returns the end times of the transfers, computed by progressive filling. The solver computes all rates again at
/// every start and end of a transfer. Each adapter has 1 byte per ns in each direction.
fn exact(flows: &[Alike], nodes: usize, pace: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|&a, &b| flows[a].start.total_cmp(&flows[b].start));
    let mut order = order.into_iter().peekable();
    let (mut left, mut end) = (flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), vec![0.0; flows.len()]);
    let (mut active, mut time) = (Vec::<usize>::new(), 0.0);
    loop {
        let mut room = vec![1.0; 2 * nodes];
        let mut rate = vec![0.0; active.len()];
        let mut open: Vec<usize> = (0..active.len()).collect();
        let path = |i: usize| [flows[i].from, nodes + flows[i].to];
        while !open.is_empty() {
            let mut count = vec![0.0; 2 * nodes];
            open.iter().for_each(|&k| path(active[k]).into_iter().for_each(|p| count[p] += 1.0));
            let share = |p: usize| if count[p] > 0.0 { room[p] / count[p] } else { f64::INFINITY };
            let least = (0..2 * nodes).map(share).fold(pace, f64::min);
            let tight: Vec<bool> = (0..2 * nodes).map(|p| share(p) <= least * (1.0 + 1e-12)).collect();
            let (fixed, rest): (Vec<usize>, Vec<usize>) =
                open.into_iter().partition(|&k| least >= pace || path(active[k]).into_iter().any(|p| tight[p]));
            for &k in &fixed {
                rate[k] = least;
                path(active[k]).into_iter().for_each(|p| room[p] = f64::max(room[p] - least, 0.0));
            }
            open = rest;
        }
        let ends = active.iter().zip(&rate).map(|(&i, rate)| time + left[i] / rate);
        let next = ends.chain(order.peek().map(|&i| flows[i].start)).fold(f64::INFINITY, f64::min);
        if next.is_infinite() {
            return end;
        }
        active.iter().zip(&rate).for_each(|(&i, rate)| left[i] -= rate * (next - time));
        time = next;
        active.retain(|&i| {
            let goes_on = left[i] > 1e-3;
            if !goes_on {
                end[i] = time;
            }
            goes_on
        });
        while let Some(&i) = order.peek().filter(|&&i| flows[i].start <= time) {
            active.push(i);
            order.next();
        }
    }
}

/// Returns the end times of the transfers in the engine. Each transfer has a separate source rank and destination rank.
fn simulated(flows: &[Alike], nodes: usize, pace: f64, change: impl Fn(&mut Occupancy)) -> Vec<f64> {
    let (mut used, mut places) = (vec![0; nodes], Vec::new());
    let mut scripts = Vec::new();
    let mut place = |node: usize| {
        used[node] += 1;
        places.push(mcpsim::platform::Site { node: node as u32, cmp: 0, core: used[node] - 1 });
    };
    for flow in flows {
        let me = scripts.len() as u32;
        place(flow.from);
        place(flow.to);
        scripts.push(vec![Compute((flow.start - 1000.0) as u64), Send(me + 1, flow.bytes as u64)]);
        scripts.push(vec![Recv(me)]);
    }
    let cores = *used.iter().max().unwrap();
    let paced = Row { bandwidth: rate(pace).unwrap(), ..row(1000) };
    let link = Link::new(Contention::Fair, Bytes::MAX, ns(1000), vec![paced]);
    let mut occupancy = Occupancy { capacity: rate(1.0), ..link.occupancy().clone() };
    change(&mut occupancy);
    let platform =
        with_link(machine([nodes as u32, 1, cores], Contention::Fair), Level::InterNode, link.occupying(occupancy));
    let options = RunOptions { workers: Some(1), per_rank: true, ..RunOptions::default() };
    let make = |rank: u32| Script::new(rank, scripts[rank as usize].clone(), Log::default());
    let simulation = Simulation::new(&platform, places, options, Labels::default());
    let outcome = simulation.run(make, &Progress::default()).unwrap();
    outcome.per_rank.iter().skip(1).step_by(2).map(|rank| rank.clock.as_ps() as f64 / 1000.0).collect()
}

/// Returns four errors of the engine: the mean and the 99th percentile of the relative error of long transfers, the
/// 99th percentile of the error of short transfers in slots, and the relative error of the last end beyond one slot. A
/// transfer is long if it takes at least 20 latencies without contention.
fn errors(flows: &[Alike], nodes: usize, pace: f64, change: impl Fn(&mut Occupancy)) -> [f64; 4] {
    let mut wire = Occupancy::default();
    change(&mut wire);
    let slot = wire.slot.map_or(500.0, |slot| slot.as_ps() as f64 / 1000.0);
    let (exact, found) = (exact(flows, nodes, pace), simulated(flows, nodes, pace, change));
    let off = |i: usize| (found[i] - exact[i]).abs();
    let duration = |i: usize| exact[i] - flows[i].start;
    let (long, short): (Vec<usize>, Vec<usize>) = (0..flows.len()).partition(|&i| flows[i].bytes / pace >= 20_000.0);
    let mut long: Vec<f64> = long.into_iter().map(|i| off(i) / duration(i)).collect();
    // The error of the duration of short transfers may be two slots of 500 ns or 6 %.
    let mut short: Vec<f64> =
        short.into_iter().map(|i| f64::min(off(i) / 1000.0, off(i) / duration(i) / 0.06)).collect();
    let last = |ends: &[f64]| ends.iter().copied().fold(0.0, f64::max);
    let percentile = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        if all.is_empty() { 0.0 } else { all[all.len() * 99 / 100] }
    };
    let mean = long.iter().sum::<f64>() / long.len().max(1) as f64;
    // A transfer that ends within a slot of virtual time occupies its share of bandwidth until the next slot begins, so
    // an error of one slot is unavoidable.
    let late = ((last(&found) - last(&exact)).abs() - slot).max(0.0) / last(&exact);
    [mean, percentile(&mut long), percentile(&mut short), late]
}

/// Generator of pseudorandom numbers.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * end
    }

    fn index(&mut self, end: usize) -> usize {
        self.below(end as f64) as usize
    }
}

fn traffic(noise: &mut Noise, kind: &str, nodes: usize, skew: f64) -> Vec<Alike> {
    let mut flows = Vec::new();
    let mut add = |start: f64, from: usize, to: usize, bytes: f64| {
        if from != to {
            flows.push(Alike { start: 1000.0 + start.floor(), from, to, bytes: bytes.floor() });
        }
    };
    match kind {
        "random" => {
            for _ in 0..600 {
                let (from, to) = (noise.index(nodes), noise.index(nodes));
                add(noise.below(20.0 * skew), from, to, 10f64.powf(3.5 + noise.below(3.0)));
            }
        }
        "alltoall" => {
            for from in 0..nodes {
                let start = noise.below(skew);
                (0..nodes).for_each(|to| add(start, from, to, 100_000.0));
            }
        }
        "incast" => (1..nodes).for_each(|from| {
            add(noise.below(skew), from, 0, 100_000.0);
            add(noise.below(skew), from, from % (nodes - 1) + 1, 200_000.0);
        }),
        "halo" | "small halo" => {
            let bytes = if kind == "halo" { 65_536.0 } else { 8192.0 };
            for node in 0..nodes {
                for (by, _) in [1, nodes - 1, 4, nodes - 4].into_iter().flat_map(|by| [(by, 0), (by, 1), (by, 2)]) {
                    add(noise.below(skew), node, (node + by) % nodes, bytes);
                }
            }
        }
        _ => unreachable!(),
    }
    flows
}

#[test]
fn transfers_end_when_a_plain_solver_says_so() {
    let mut noise = Noise(88_172_645_463_325_252);
    let mut wrong = Vec::new();
    for kind in ["random", "alltoall", "incast", "halo", "small halo"] {
        for skew in [20_000.0, 100_000.0] {
            for pace in [1.0, 0.3] {
                let flows = traffic(&mut noise, kind, 16, skew);
                let found = errors(&flows, 16, pace, |_| {});
                let finer = errors(&flows, 16, pace, |wire| {
                    wire.slot = Some(ns(100));
                    wire.tolerance = Tolerance::new(0.01).unwrap();
                });
                let within =
                    |found: [f64; 4], most: [f64; 4]| found.iter().zip(most).all(|(found, most)| *found <= most);
                wrong.extend((!within(found, [0.01, 0.06, 1.0, 0.003])).then_some((kind, skew, pace, found)));
                wrong.extend((!within(finer, [0.003, 0.015, 1.0, 0.001])).then_some((kind, skew, pace, finer)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
