//! Profiles of a run: statistics of messages and of the time of ranks. The profile of a run is the sum of the profiles
//! of its workers (host threads that simulate some of the nodes).

mod basis;
mod blocks;
mod changed_machine;
mod code_scatter;
mod collectives;
mod contention;
mod copies;
mod critical;
mod efficiency;
mod functions;
mod kinds;
mod leftovers;
mod link_uses;
mod load;
mod messages;
mod path;
mod tasks;
mod threads;
mod timeline;
mod timers;
mod typical;
mod uses;
mod what_if;

pub use basis::{Basis, BasisShares, CaseRatios, DominantPart, LeftOutCoverage, LikelyTimes};
pub use blocks::BlockUse;
pub use code_scatter::{CodeTimes, HostNoise, MOST_RANKS, SiteScatter};
pub use collectives::{CollectiveCounter, CollectiveProfile, CollectiveUse, OtherAlgorithm};
pub use contention::{ContentionLevels, ContentionParts, Resource, UplinkContention, UplinkKind};
pub use copies::CopyUse;
pub use critical::{CriticalPath, PathShare, RankShare, SiteShare, StepSource};
pub use efficiency::{Efficiencies, LatencyTolerance};
pub use functions::{
    FunctionCalls, FunctionProfile, RankCalls, RankFunction, RankProfile, SiteProfile, function_profiles, site_profiles,
};
pub use kinds::{KindMessages, MessageSort, POINT_TO_POINT, message_kinds, message_sizes, message_sorts};
pub use leftovers::{Unreceived, UnreceivedMessage, Unwaited, UnwaitedRequests};
pub use link_uses::{BusyLink, LayerUse, LinkTraffic, LinkUse, NetworkUse};
pub use load::{KindLoad, LinkLoad, LoadOverTime, RecordedLoad, SwitchPlace, UseSeries};
pub use messages::{Intervals, MessageCell, MessageProfile, Pairs};
pub use path::{LevelParts, PathParts, TransferParts};
pub use tasks::{
    ArrivalBin, Bounds, LOG_FORMAT, Left, ProcessTasks, Sample, Series, Stage, StageSeries, StageTimes, TaskAnalysis,
    TaskLog, Visit, WaitingTimes, is_luna_log, read_task_logs,
};
pub use threads::{HybridEfficiencies, LISTED_THREADS, ThreadSum, ThreadTime};
pub use timeline::{Activity, Arrow, Interval, NO_PLACE, StrandSpan, Thinned, ThreadTimeline, Timeline};
pub use timers::{AppFigure, AppResult, TimerSums};
pub use typical::typical_times;
pub use uses::{ResourceUse, SharedKind, SharesChanged, Uses};
pub use what_if::{Change, WhatIf};

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// Division of a rank's time into parts. The sum of the parts, without `memory`, is the rank's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimeParts {
    /// Time in local blocks of computing.
    #[serde(rename = "compute_ps", deserialize_with = "picoseconds")]
    pub compute: SimSpan,
    /// Time that local blocks of computing waited for memory that other ranks used; a part of `compute`.
    #[serde(default, rename = "memory_ps", deserialize_with = "picoseconds")]
    pub memory: SimSpan,
    /// Time in send overheads outside collectives.
    #[serde(rename = "send_ps", deserialize_with = "picoseconds")]
    pub send: SimSpan,
    /// Time in receive overheads outside collectives.
    #[serde(rename = "recv_ps", deserialize_with = "picoseconds")]
    pub recv: SimSpan,
    /// Time blocked in point-to-point calls, waiting for a message or for the partner rank.
    #[serde(rename = "wait_ps", deserialize_with = "picoseconds")]
    pub wait: SimSpan,
    /// Time in collectives, including overheads and waiting for other ranks.
    #[serde(rename = "collective_ps", deserialize_with = "picoseconds")]
    pub collective: SimSpan,
}

impl TimeParts {
    /// Sum of all parts of the rank's time.
    pub fn total(&self) -> SimSpan {
        self.compute + self.send + self.recv + self.wait + self.collective
    }
}

impl std::ops::AddAssign for TimeParts {
    fn add_assign(&mut self, other: TimeParts) {
        self.compute += other.compute;
        self.memory += other.memory;
        self.send += other.send;
        self.recv += other.recv;
        self.wait += other.wait;
        self.collective += other.collective;
    }
}
