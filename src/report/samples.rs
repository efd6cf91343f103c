//! Synthetic outcomes of runs for tests: an ordinary run, a run with a million ranks, and a run without messages.

use crate::engine::{HostUse, IntervalMessages, LevelTotals, Messages, Outcome, RankTime};
use crate::platform::{Contention, Level, Shape};
use crate::profile::{Intervals, LevelParts, MessageProfile, PathParts, TimeParts, TransferParts, WhatIf};
use crate::units::{Bytes, SimSpan, SimTime};

/// Returns the Outcome of a stencil on 16 ranks with halo exchanges and small reductions. Rank 5 computes longer than
/// the other ranks.
pub(crate) fn busy() -> Outcome {
    let mut profile = MessageProfile::new(Intervals::default());
    let mut put = |level, size, time, times| {
        (0..times).for_each(|_| profile.record(level, Bytes::new(size), SimSpan::from_ns(time)));
    };
    put(Level::IntraCmp, 8, 310, 2560);
    put(Level::IntraCmp, 5232, 2100, 7680);
    put(Level::InterCmp, 8, 640, 2560);
    put(Level::InterCmp, 10_464, 6400, 5120);
    put(Level::InterNode, 8, 1900, 2560);
    put(Level::InterNode, 20_000, 14_800, 2560);
    let shape = Shape { nodes: 4, cmps: 2, cores: 2 };
    let us = |us: f64| SimSpan::from_ps((us * 1e6) as u64);
    let per_rank: Vec<RankTime> = (0..16)
        .map(|rank| {
            let site = shape.site(u64::from(rank));
            let more = if rank == 5 { 21_000.0 } else { f64::from(rank * 7 % 16) * 900.0 };
            let parts = TimeParts {
                compute: us(812_345.6 + more),
                memory: SimSpan::ZERO,
                send: us(2048.0),
                recv: us(1790.5),
                wait: us(96_000.0 - more * 0.9),
                collective: us(14_321.0),
            };
            let clock = SimTime::ZERO + parts.total();
            RankTime { rank, node: site.node, cmp: site.cmp, core: site.core, clock, parts }
        })
        .collect();
    let mut outcome = outcome("jacobi3d", shape, 16, &profile, per_rank);
    let inter_node =
        TransferParts { latency: us(12_160.0), bytes: us(51_200.0), contention: us(9870.1), ..Default::default() };
    let intra_cmp = TransferParts { latency: us(3104.0), bytes: us(7700.5), ..Default::default() };
    let levels = LevelParts { intra_cmp, inter_node, ..Default::default() };
    let mut path =
        PathParts { compute: us(820_158.1), imbalance: us(13_187.5), combine: us(0.3), levels, ..Default::default() };
    path.recv = us(1790.5);
    path.send = SimSpan::from_ps(outcome.predicted.as_ps()) - path.total();
    outcome.path = path;
    outcome.what_if = WhatIf::all(&path, (None, SimSpan::ZERO), &[], |level| {
        if level == Level::InterNode { Contention::Share } else { Contention::Ideal }
    });
    outcome
}

/// Returns the Outcome of a run with a million ranks, without a list of ranks.
pub(crate) fn huge() -> Outcome {
    let mut profile = MessageProfile::new(Intervals::default());
    let put = |level, size| (level, Bytes::new(size), SimSpan::from_us(size));
    for (level, size, time) in [
        put(Level::IntraCmp, 0),
        put(Level::InterCmp, 300),
        put(Level::InterNode, 70_000),
        put(Level::InterNode, 8 << 20),
    ] {
        profile.record(level, size, time);
    }
    let shape = Shape { nodes: 16_384, cmps: 2, cores: 32 };
    let mut outcome = outcome("weather-forecast-with-a-very-long-name", shape, 1 << 20, &profile, Vec::new());
    let large = 700_000_000_000;
    for row in &mut outcome.profile {
        for cell in [&mut row.levels.intra_cmp, &mut row.levels.inter_cmp, &mut row.levels.inter_node] {
            *cell = Messages { count: cell.count * large, bytes: cell.bytes * large, time: cell.time * large };
        }
    }
    for messages in [&mut outcome.levels.intra_cmp, &mut outcome.levels.inter_cmp, &mut outcome.levels.inter_node] {
        messages.count *= large;
        messages.bytes *= large;
        messages.time = messages.time * large;
    }
    outcome.messages.count *= large;
    outcome.messages.bytes *= large;
    outcome.predicted = SimTime::ZERO + SimSpan::from_seconds(12.5).expect("in range");
    outcome.predicted_s = outcome.predicted.as_seconds();
    let second = SimSpan::from_seconds(1.0).expect("in range");
    outcome.mean_parts.compute = second * 7;
    outcome.mean_parts.wait = second * 4;
    outcome.host = HostUse {
        wall_s: 7321.4,
        messages_per_s: 3.82e7,
        all_messages: 0,
        workers: 64,
        processes: 8,
        peak_rss_bytes: 93 << 30,
        stands_for_target: None,
        ranks_as: None,
        mpi_library: None,
        scale: None,
        noise: None,
        profile: Vec::new(),
    };
    outcome.model = "two-level".to_owned();
    outcome
}

/// Returns the Outcome of a run with one rank that does nothing.
pub(crate) fn empty() -> Outcome {
    let profile = MessageProfile::new(Intervals::default());
    let alone = RankTime { rank: 0, node: 0, cmp: 0, core: 0, clock: SimTime::ZERO, parts: TimeParts::default() };
    let mut outcome = outcome("nothing", Shape { nodes: 1, cmps: 1, cores: 1 }, 1, &profile, vec![alone]);
    outcome.host.wall_s = 0.0;
    outcome.host.messages_per_s = 0.0;
    outcome
}

fn outcome(app: &str, shape: Shape, ranks: u32, profile: &MessageProfile, per_rank: Vec<RankTime>) -> Outcome {
    let predicted = per_rank.iter().map(|rank| rank.clock).max().unwrap_or(SimTime::ZERO);
    let mean = |part: fn(&TimeParts) -> SimSpan| {
        let sum: SimSpan = per_rank.iter().map(|rank| part(&rank.parts)).sum();
        SimSpan::from_ps(sum.as_ps() / u64::from(ranks))
    };
    let mean_parts = TimeParts {
        memory: SimSpan::ZERO,
        compute: mean(|parts| parts.compute),
        send: mean(|parts| parts.send),
        recv: mean(|parts| parts.recv),
        wait: mean(|parts| parts.wait),
        collective: mean(|parts| parts.collective),
    };
    let total = profile.total();
    Outcome {
        jobs: Vec::new(),
        mcpsim: "0.1.0".to_owned(),
        predicted,
        predicted_s: predicted.as_seconds(),
        nct: [shape.nodes, shape.cmps, shape.cores],
        threads: 1,
        ranks,
        app: app.to_owned(),
        platform: "clovertown-gige".to_owned(),
        model: "mcpsim".to_owned(),
        seed: 1,
        messages: total.into(),
        unreceived: 0,
        first_unreceived: Vec::new(),
        unwaited: Vec::new(),
        mistakes: Vec::new(),
        levels: LevelTotals::from(profile),
        profile: IntervalMessages::rows(profile),
        mean_parts,
        collectives: Vec::new(),
        other_algorithms: None,
        path: PathParts::default(),
        uplink_contention: Vec::new(),
        what_if: Vec::new(),
        critical_path: None,
        load_over_time: None,
        efficiencies: None,
        latency_tolerance: None,
        functions: None,
        sites: None,
        kinds: None,
        sent: std::collections::BTreeMap::new(),
        sizes: None,
        tasks: None,
        task_logs: Vec::new(),
        timers: Default::default(),
        results: Vec::new(),
        program: None,
        timelines: Vec::new(),
        places: Vec::new(),
        per_rank,
        per_thread: Vec::new(),
        rank_threads: Vec::new(),
        hybrid: None,
        by_place: Vec::new(),
        pairs: None,
        copies: None,
        blocks: None,
        unread_keys: Vec::new(),
        narrow_uplinks: Vec::new(),
        contention: None,
        links: None,
        utilisation: Vec::new(),
        shares_changed: Vec::new(),
        repeats: None,
        basis: None,
        call_paths: Default::default(),
        config: serde_json::json!({ "run": { "seed": 1 } }),
        host: HostUse {
            wall_s: 0.0234,
            messages_per_s: 984_615.4,
            all_messages: 0,
            workers: 2,
            processes: 1,
            peak_rss_bytes: 9 << 20,
            stands_for_target: None,
            ranks_as: None,
            mpi_library: None,
            scale: None,
            noise: None,
            profile: Vec::new(),
        },
    }
}
