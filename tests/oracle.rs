//! Expected times, computed by hand on tiny machines: the costs of each message, collective, copy and wait.

#[path = "support/mod.rs"]
mod support;

#[path = "oracle/between_cmps.rs"]
mod between_cmps;
#[path = "oracle/blocks.rs"]
mod blocks;
#[path = "oracle/buffers.rs"]
mod buffers;
#[path = "oracle/code.rs"]
mod code;
#[path = "oracle/collectives.rs"]
mod collectives;
#[path = "oracle/conditions.rs"]
mod conditions;
#[path = "oracle/contention.rs"]
mod contention;
#[path = "oracle/fair.rs"]
mod fair;
#[path = "oracle/in_node_adapter.rs"]
mod in_node_adapter;
#[path = "oracle/jobs.rs"]
mod jobs;
#[path = "oracle/memory.rs"]
mod memory;
#[path = "oracle/messages.rs"]
mod messages;
#[path = "oracle/networks.rs"]
mod networks;
#[path = "oracle/path.rs"]
mod path;
#[path = "oracle/places.rs"]
mod places;
#[path = "oracle/polling.rs"]
mod polling;
#[path = "oracle/ranks_per_node.rs"]
mod ranks_per_node;
#[path = "oracle/service.rs"]
mod service;
#[path = "oracle/threads.rs"]
mod threads;
