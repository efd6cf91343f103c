//! Random machines, as keys that override keys of the machine `default`.

use std::path::Path;

use mcpsim::platform::Platform;

use super::Draw;

/// Possible values of the keys in a platform table. A value may be valid only together with some values of other keys.
type Values = &'static [(&'static str, &'static [&'static str])];

/// Keys of each platform table, by the name of the table; "level" stands for each of the three network levels. A value
/// may be followed by a line with another key that the value requires.
pub const KEYS: &[(&str, Values)] = &[
    (
        "level",
        &[
            ("contention", &["\"ideal\"", "\"share\"", "\"queue\"", "\"fair\"", "\"measured\""]),
            ("loads", &["[1, 2, 4]"]),
            ("ranks_per_node", &["[1, 2, 4]"]),
            ("latency", &["\"1 us\"", "\"3 us\"", "[\"1 us\", \"1.5 us\", \"2 us\"]"]),
            ("bandwidth", &["\"1 GB/s\"", "\"3.7 GB/s\"", "[\"2 GB/s\", \"1 GB/s\", \"500 MB/s\"]"]),
            ("eager_threshold", &["0", "1000", "\"64 KiB\""]),
            ("handshake", &["\"400 ns\"", "\"2 us\"", "\"30 us\""]),
            ("send_overhead", &["\"0 s\"", "\"200 ns\""]),
            ("recv_overhead", &["\"0 s\"", "\"300 ns\""]),
            ("send_bandwidth", &["\"4 GB/s\""]),
            ("recv_bandwidth", &["\"5 GB/s\""]),
            ("gap", &["\"300 ns\"", "\"1 us\""]),
            ("copies", &["\"none\"", "\"sender\"", "\"receiver\"", "\"both\""]),
            ("transport", &["\"adapter\"", "\"memory\""]),
            ("copy_bandwidth", &["\"2 GB/s\"", "\"8 GB/s\""]),
            ("copy_count", &["1", "2"]),
            ("capacity", &["\"4 GB/s\"", "\"9 GB/s\""]),
            ("duplex", &["\"5 GB/s\"", "\"7 GB/s\""]),
            ("duplex_gap", &["\"150 ns\""]),
            ("pair_duplex", &["\"4.5 GB/s\""]),
            ("rails", &["{ count = 2 }", "{ count = 2, cmp = [0, 1] }"]),
            ("slot", &["\"100 ns\"", "\"200 ns\""]),
            ("tolerance", &["0.02", "0.1"]),
            ("connection_time", &["\"40 us\""]),
            ("credits", &["1", "4"]),
            ("unexpected_copy_bandwidth", &["\"3 GB/s\""]),
            ("latency_factor", &["0.5", "1.3"]),
            ("bandwidth_factor", &["2", "0.7"]),
            (
                "interval",
                &[
                    "[{ up_to = 1000, latency = \"1 us\", bandwidth = \"1 GB/s\", gap = \"100 ns\" }, { above = 1000, \
                     latency = \"4 us\", bandwidth = \"2 GB/s\", send_overhead = \"50 ns\", recv_overhead = \"60 ns\" }]",
                    "[{ up_to = \"8 KiB\", latency = \"2 us\", bandwidth = \"2 GB/s\", send_bandwidth = \"9 GB/s\", \
                     recv_bandwidth = \"9 GB/s\" }, { latency = \"2 us\", bandwidth = \"3 GB/s\", copy_bandwidth = \
                     \"5 GB/s\", copy_count = 2 }]",
                    "[{ latency = [\"1 us\", \"2 us\"], bandwidth = [\"2 GB/s\", \"1 GB/s\"], loads = [1, 2] }]",
                ],
            ),
        ],
    ),
    (
        "core",
        &[
            ("flops", &["\"3 Gflop/s\""]),
            ("instructions", &["\"2 Ginstr/s\""]),
            ("memory_bandwidth", &["\"6 GB/s\""]),
            ("in_cache", &["{ flops = \"9 Gflop/s\", instructions = \"5 Ginstr/s\", memory_bandwidth = \"40 GB/s\" }"]),
            ("poll", &["\"100 ns\"", "\"700 ns\""]),
            ("post_overhead", &["\"50 ns\""]),
            ("context_switch", &["\"1 us\""]),
            ("time_slice", &["\"2 ms\""]),
            ("scale_factor", &["1.5"]),
            ("slowdown", &["[1.0, 1.2]"]),
            ("threads", &["2\nplatform.core.sibling_slowdown=1.6"]),
        ],
    ),
    (
        "cmp",
        &[
            ("memory_bandwidth", &["\"9 GB/s\""]),
            ("memory_sharing", &["\"fair\"", "\"placed\""]),
            ("cache", &["\"4 MB\"", "\"64 KiB\""]),
            ("copy_bandwidth", &["\"6 GB/s\""]),
            ("copy_traffic", &["3"]),
            ("cache_replacement", &["\"random\"", "\"least_recent\""]),
        ],
    ),
    ("node", &[("memory_bandwidth", &["\"12 GB/s\""]), ("copy_bandwidth", &["\"8 GB/s\""])]),
    (
        "",
        &[
            ("progress", &["\"hardware\"", "\"call\"", "\"thread\""]),
            ("progress_share", &["0.2"]),
            (
                "nodes",
                &[
                    "[{ about = \"slow\", only = [0], rate = 0.8, memory = 0.9, slowdown = [1.1, 1.3] }]",
                    "[{ only = [1], adapter = 0.5 }]",
                    "[{ cmp = 0, rate = 0.7 }]",
                ],
            ),
            (
                "network",
                &[
                    "{ topology = \"torus\", dimensions = [2], bandwidth = \"2 GB/s\", latency = \"300 ns\" }",
                    "{ topology = \"mesh\", dimensions = [3], bandwidth = \"2 GB/s\", switch_latency = \"300 ns\" }",
                    "{ topology = \"fat_tree\", down = [2, 2], up = [1], bandwidth = \"1 GB/s\", latency = \"1 us\" }",
                    "{ topology = \"torus\", dimensions = [5], bandwidth = \"2 GB/s\", latency = \"100 ns\" }",
                ],
            ),
            ("pairs", &["{ file = \"pairs.toml\" }"]),
            (
                "places",
                &[
                    "{ l3 = { cores = 1, latency = \"300 ns\" }, rack = { nodes = 2, uplink_latency = \"200 ns\" } }",
                    "{ l3 = { cores = 1, cache = \"100 kB\" }, rack = { nodes = 1, uplink_bandwidth = \"3 GB/s\" } }",
                    "{ numa = { cores = 1, memory_bandwidth = \"2 GB/s\" }, rack = { nodes = 2, uplink_bandwidth = \
                     \"2 GB/s\", latency = \"900 ns\" } }",
                ],
            ),
            ("name", &["\"random\""]),
            ("about", &["\"a random machine\""]),
            ("hosts", &["\"n[01-16]\""]),
            ("origin", &["{ core = \"measured\", \"inter_node.latency\" = \"assumed\" }"]),
        ],
    ),
    (
        "noise",
        &[
            ("system", &["{ period = \"100 us\", length = \"5 us\", deviation = 0.3, distribution = \"lognormal\" }"]),
            (
                "network",
                &[
                    "{ delay = \"1 us\", deviation = 0.2, distribution = \"normal\" }",
                    "{ part = 0.1, deviation = 0.5, distribution = \"lognormal\" }",
                ],
            ),
            ("nodes", &["{ deviation = 0.05, distribution = \"normal\" }"]),
        ],
    ),
    (
        "collectives",
        &[
            ("library", &["\"openmpi-4.0\"", "\"openmpi-4.1\"", "\"openmpi-5.0\"", "\"mpich-4\"", "\"mpich-3-flat\""]),
            ("block_overhead", &["\"40 ns\""]),
            ("datatype_overhead", &["\"90 ns\""]),
            ("rules", &["\"rules.conf\""]),
            (
                "bcast",
                &[
                    "[{ algorithm = \"knomial\", fan = 8, up_to_bytes = \"1 KiB\" }, { algorithm = \"pipeline\", segment = \"32 KiB\", above_ranks = 2 }]",
                ],
            ),
            ("allreduce", &["{ algorithm = \"ring\", above = \"8 KiB\" }"]),
            ("barrier", &["{ algorithm = \"double_ring\" }"]),
            ("alltoall", &["{ algorithm = \"linear_sync\", up_to_ranks = 64 }"]),
        ],
    ),
    (
        "two_level",
        &[
            ("intra_node", &["{ latency = \"1 us\", bandwidth = \"2 GB/s\" }"]),
            ("inter_node", &["{ latency = \"9 us\", bandwidth = \"1 GB/s\" }"]),
        ],
    ),
];

/// Returns the keys of a random machine, each as `platform.KEY=VALUE`. Some of the keys may be invalid together.
pub fn machine(draw: &mut Draw) -> Vec<String> {
    let mut sets = Vec::new();
    for (table, keys) in KEYS {
        let levels: &[&str] = if *table == "level" { &["intra_cmp", "inter_cmp", "inter_node"] } else { &[table] };
        for level in levels {
            // Most machine keys are used only rarely, so that some machines are simple.
            let rare = [2, 4, 12][draw.below(3)];
            for (key, values) in *keys {
                if draw.once_in(rare) {
                    let value = draw.one(values);
                    let table = if level.is_empty() { String::new() } else { format!("{level}.") };
                    sets.push(format!("platform.{table}{key}={value}"));
                }
            }
        }
    }
    if draw.once_in(6) {
        sets.push(format!("run.model={}", draw.one(&["two-level", "hockney", "logp", "loggp"])));
    }
    if draw.once_in(3) {
        sets.push(format!("run.placement={}", draw.one(&["cyclic", "socket"])));
    }
    if draw.once_in(4) {
        sets.push("run.oversubscribe=true".to_owned());
        sets.push("run.ranks=7".to_owned());
    }
    sets
}

/// Writes the files that machine keys name: the default machine, classes of pairs of the cores on one or two CMPs, and
/// a rules file of Open MPI.
pub fn write_files(directory: &Path) {
    let default = Platform::default_document().table().to_string();
    std::fs::write(directory.join("machine.toml"), default).unwrap();
    let pairs = "class = [[0, 1], [1, 0]]\n[[cost]]\ninterval = [{ latency = \"7 us\", bandwidth = \"900 MB/s\" }]\n";
    std::fs::write(directory.join("pairs.toml"), pairs).unwrap();
    // The rules file has rules for one collective, the allreduce (number 2), with one communicator size and two message
    // sizes.
    std::fs::write(directory.join("rules.conf"), "1\n2\n1\n0\n2\n0 3 0 0\n4096 4 0 0\n").unwrap();
}
