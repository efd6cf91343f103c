//! Max-min fair shares of bandwidth by progressive filling in its simplest form: all rates are computed at every start
//! and end of a flow.

use mcpsim::platform::{Level, Platform};
use mcpsim::units::{Bandwidth, Bytes};

/// A transfer that uses all resources on its path from its start to its end.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Time at which the flow starts to use its resources, seconds.
    pub start: f64,
    pub bytes: f64,
    /// Greatest rate of the flow, bytes per second.
    pub pace: f64,
    /// Indices of the resources on the flow's path. A resource that occurs n times has n bytes per byte of the flow.
    pub uses: Vec<usize>,
}

/// Returns the end time of each flow in seconds. `capacities` contains the capacities of the resources, bytes per
/// second.
pub fn ends(capacities: &[f64], flows: &[Flow]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|a, b| flows[*b].start.total_cmp(&flows[*a].start));
    let mut left: Vec<f64> = flows.iter().map(|flow| flow.bytes).collect();
    let mut ends = vec![f64::NAN; flows.len()];
    let mut active: Vec<usize> = Vec::new();
    let mut now = 0.0;
    loop {
        let rates = rates(capacities, flows, &active);
        let next_end =
            active.iter().zip(&rates).map(|(flow, rate)| now + left[*flow] / rate).fold(f64::INFINITY, f64::min);
        let next_start = order.last().map_or(f64::INFINITY, |flow| flows[*flow].start);
        let next = next_end.min(next_start);
        if next.is_infinite() {
            return ends;
        }
        for (flow, rate) in active.iter().zip(&rates) {
            left[*flow] -= rate * (next - now);
        }
        now = next;
        // A remainder of a flow below a thousandth of a byte is a rounding error, so the flow has ended.
        active.retain(|flow| {
            let is_over = left[*flow] < 1e-3;
            if is_over {
                ends[*flow] = now;
            }
            !is_over
        });
        while order.last().is_some_and(|flow| flows[*flow].start <= now) {
            active.extend(order.pop());
        }
    }
}

/// Returns the rates of the active flows. All rates rise together until a resource is full or a flow has its greatest
/// rate; the rates of the flows on a full resource or at their greatest rate are then fixed.
fn rates(capacities: &[f64], flows: &[Flow], active: &[usize]) -> Vec<f64> {
    let mut room = capacities.to_vec();
    let mut rising = vec![0u32; capacities.len()];
    active.iter().flat_map(|flow| &flows[*flow].uses).for_each(|resource| rising[*resource] += 1);
    let mut rates = vec![f64::NAN; active.len()];
    let mut open: Vec<usize> = (0..active.len()).collect();
    while !open.is_empty() {
        let level = |resource: usize| room[resource] / f64::from(rising[resource]);
        let full = (0..room.len()).filter(|of| rising[*of] > 0).min_by(|a, b| level(*a).total_cmp(&level(*b)));
        let limit = full.map_or(f64::INFINITY, level);
        let slowest = open.iter().map(|at| flows[active[*at]].pace).fold(f64::INFINITY, f64::min);
        let stays = |at: usize| {
            let flow = &flows[active[at]];
            if slowest <= limit { flow.pace <= slowest } else { flow.uses.contains(&full.expect("it is full")) }
        };
        let (stay, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|at| stays(**at));
        for at in stay {
            rates[at] = limit.min(slowest);
            for resource in &flows[active[at]].uses {
                room[*resource] = (room[*resource] - rates[at]).max(0.0);
                rising[*resource] -= 1;
            }
        }
        open = rest;
    }
    rates
}

/// A message from one node to another, which is sent at a stated time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub from: u32,
    pub to: u32,
    pub start: u64,
    pub bytes: u64,
}

/// Converts transfers between nodes to the capacities and flows of the solver. The resources are the two directions of
/// each adapter. If the machine limits them, further resources are the two directions of an adapter together, the link
/// of each pair of nodes, and each direction of the uplinks of node groups.
pub fn flows(platform: &Platform, transfers: &[Transfer]) -> (Vec<f64>, Vec<Flow>) {
    let link = platform.link(Level::InterNode);
    let rate = |stated: Option<Bandwidth>| stated.map_or(f64::INFINITY, |rate| rate.get() as f64);
    let occupancy = link.occupancy();
    let nodes = platform.shape.nodes as usize;
    let [capacity, duplex, pair] = [occupancy.capacity, occupancy.duplex, occupancy.pair_duplex].map(rate);
    let mut capacities = vec![capacity; 2 * nodes];
    capacities.extend(vec![duplex; nodes]);
    capacities.extend(vec![pair; nodes * nodes]);
    // For every kind of node group, the vector contains the index of the first uplink among the resources. A group has
    // one uplink out and one uplink in.
    let mut kinds = Vec::new();
    for group in &platform.places.groups {
        kinds.push((group, capacities.len()));
        capacities.extend(vec![rate(group.uplink); 2 * nodes]);
    }
    let flow = |transfer: &Transfer| {
        let size = Bytes::new(transfer.bytes);
        let row = link.row(size);
        let handshakes = if size > link.eager_threshold() { 2.0 * link.handshake().as_seconds() } else { 0.0 };
        let left = transfer.start as f64 * 1e-9 + row.send_overhead.as_seconds() + handshakes;
        let (from, to) = (transfer.from as usize, transfer.to as usize);
        let between = 3 * nodes + from.min(to) * nodes + from.max(to);
        let all = [from, nodes + to, 2 * nodes + from, 2 * nodes + to, between];
        let left_groups = kinds.iter().take_while(|(group, _)| group.of(transfer.from) != group.of(transfer.to));
        let uplinks = left_groups.flat_map(|(group, first)| {
            [first + group.of(transfer.from) as usize, first + nodes + group.of(transfer.to) as usize]
        });
        let uses = all.into_iter().chain(uplinks).filter(|resource| capacities[*resource].is_finite()).collect();
        let (start, bytes) = (left + row.latency.as_seconds(), transfer.bytes as f64);
        Flow { start, bytes, pace: row.bandwidth.get() as f64, uses }
    };
    let flows = transfers.iter().map(flow).collect();
    (capacities, flows)
}
