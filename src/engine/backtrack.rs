//! Backtracking along the path that determined the predicted time, by the marks in the ranks' activity logs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use mcpsim_base::profile::{Activity, CriticalPath, NO_PLACE, PathShare, RankShare, SiteShare, StepSource, Timeline};
use mcpsim_base::rank::{CallSite, Program, Rank};
use mcpsim_base::units::{SimSpan, SimTime};

use super::activity::{ClockLog, ClockMark, ClockPoint};
use super::lp::LogicalProcess;
use super::rank_times::ThreadRecord;
use super::state::RankState;

/// Name of a call site, and the operation at this call site.
pub(super) type NamedSource = (String, StepSource);

/// Activity logs of a worker's ranks, and the names of the ranks' call sites.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ClockLogs {
    #[serde(with = "whole_sources")]
    pub names: Vec<NamedSource>,
    pub logs: Vec<(Rank, ClockLog)>,
}

/// Serializes every field of each call site's source, because the format between host processes has no field names.
/// Reports omit fields whose value is unknown.
mod whole_sources {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{NamedSource, StepSource};

    pub fn serialize<S: Serializer>(names: &[NamedSource], to: S) -> Result<S::Ok, S::Error> {
        let whole = |(name, source): &NamedSource| (name.clone(), source.operation.clone(), source.line.clone());
        names.iter().map(whole).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NamedSource>, D::Error> {
        let whole = Vec::<(String, Option<String>, Option<String>)>::deserialize(from)?;
        Ok(whole.into_iter().map(|(name, operation, line)| (name, StepSource { operation, line })).collect())
    }
}

/// Timelines of a worker's ranks, and the names of the ranks' call sites.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NamedTimelines {
    names: Vec<PlaceName>,
    timelines: Vec<(Rank, Timeline)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlaceName {
    name: String,
    kind: PlaceKind,
}

/// Kind of a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PlaceKind {
    /// The program does not name its call site.
    Unknown,
    /// An MPI function of a real program. Between two MPI calls of a real program there is no call site.
    Function,
    /// A statement of a described application. A statement may also compute.
    Statement,
}

/// Returns all timelines in the order of ranks, and the names of the numbered call sites in alphabetical order.
pub(super) fn all_timelines(workers: Vec<NamedTimelines>) -> (Vec<Timeline>, Vec<String>) {
    let known = workers.iter().flat_map(|of| &of.names).filter(|place| place.kind != PlaceKind::Unknown);
    let mut names: Vec<String> = known.map(|place| place.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let mut timelines: Vec<(Rank, Timeline)> = Vec::new();
    for NamedTimelines { names: own, timelines: of_worker } in workers {
        let number = |place: &PlaceName| names.binary_search(&place.name).map_or(NO_PLACE, |number| number as u32);
        let numbers: Vec<u32> = own.iter().map(number).collect();
        let renumbered = |place: u32, state: Option<Activity>| {
            let computes = state == Some(Activity::Compute);
            match own.get(place as usize).map(|place| place.kind) {
                Some(PlaceKind::Function) if !computes => numbers[place as usize],
                Some(PlaceKind::Statement) => numbers[place as usize],
                _ => NO_PLACE,
            }
        };
        timelines.extend(of_worker.into_iter().map(|(rank, mut timeline)| {
            timeline.renumber(&renumbered);
            (rank, timeline)
        }));
    }
    timelines.sort_unstable_by_key(|&(rank, _)| rank);
    (timelines.into_iter().map(|(_, timeline)| timeline).collect(), names)
}

/// Takes the recorded timelines and activity logs of a worker's ranks and of their `threads`, which are in the order of
/// ranks.
pub(super) fn trails<P: Program>(
    ranks: &mut [RankState<P>],
    threads: &mut [ThreadRecord],
    lp: &LogicalProcess<'_>,
) -> (Vec<NamedTimelines>, Vec<ClockLogs>) {
    let (mut timelines, mut logs) = (Vec::new(), Vec::new());
    for RankState { target, .. } in ranks.iter_mut() {
        if let Some(trail) = target.trail.take() {
            timelines.extend(trail.timeline.map(|mut timeline| {
                let first = threads.partition_point(|record| record.time.rank < target.rank);
                let of_rank = threads[first..].iter_mut().take_while(|record| record.time.rank == target.rank);
                timeline.threads.extend(of_rank.filter_map(ThreadRecord::take_timeline));
                (target.rank, timeline)
            }));
            logs.extend(trail.log.map(|log| (target.rank, log)));
        }
    }
    let knowing = |step: u32| ranks.iter().find(|state| state.program.knows_step(step));
    let name = |site: &CallSite| match *site {
        CallSite::Unknown => "unknown".to_owned(),
        CallSite::Step(step) => knowing(step).map_or_else(String::new, |state| state.program.step_name(step)),
        CallSite::Function(name) => name.to_owned(),
        CallSite::Place(function, place) => {
            let of = |state: &RankState<P>| format!("{function} in {}", state.program.site_name(place));
            knowing(place).map_or_else(String::new, of)
        }
    };
    let names: Vec<String> = lp.recording.sites.sites.iter().map(name).collect();
    let operation = |site: &CallSite| match *site {
        CallSite::Step(step) => knowing(step).and_then(|state| state.program.step_source(step).operation),
        _ => None,
    };
    let place = |(site, name): (&CallSite, &String)| PlaceName {
        name: operation(site).map_or_else(|| name.clone(), |operation| format!("{operation} at {name}")),
        kind: match site {
            CallSite::Unknown => PlaceKind::Unknown,
            CallSite::Step(_) => PlaceKind::Statement,
            CallSite::Function(_) | CallSite::Place(..) => PlaceKind::Function,
        },
    };
    let places = lp.recording.sites.sites.iter().zip(&names).map(place).collect();
    let timelines = NamedTimelines { names: places, timelines };
    let timelines = if timelines.timelines.is_empty() { Vec::new() } else { vec![timelines] };
    if logs.is_empty() {
        return (timelines, Vec::new());
    }
    let source = |site: &CallSite| {
        let of = |state: &RankState<P>, step| state.program.step_source(step);
        match *site {
            CallSite::Unknown => StepSource::default(),
            CallSite::Step(step) => knowing(step).map_or_else(StepSource::default, |state| of(state, step)),
            CallSite::Function(name) => StepSource { operation: Some(name.to_owned()), line: None },
            CallSite::Place(name, place) => {
                let line = knowing(place).and_then(|state| of(state, place).line);
                StepSource { operation: Some(name.to_owned()), line }
            }
        }
    };
    let names = lp.recording.sites.sites.iter().map(source).zip(names).map(|(source, name)| (name, source)).collect();
    (timelines, vec![ClockLogs { names, logs }])
}

/// Follows the critical path back from the end of rank `last`, which has the greatest clock.
pub(super) fn walk_back(workers: &[ClockLogs], last: Rank, predicted: SimTime) -> CriticalPath {
    let of_rank: HashMap<Rank, (&ClockLog, &[NamedSource])> = workers
        .iter()
        .flat_map(|ClockLogs { names, logs }| logs.iter().map(|(rank, log)| (*rank, (log, &names[..]))))
        .collect();
    let mut ranks: BTreeMap<(Rank, Option<u32>), PathShare> = BTreeMap::new();
    let mut sites: BTreeMap<(&str, bool), (PathShare, StepSource)> = BTreeMap::new();
    let mut at = ClockPoint { rank: last, serial: 0, time: predicted };
    let mut hops = 0;
    // Each step of the walk depends only on the current point, so a walk that returns to a point never ends. A cycle is
    // detected by comparison with the points remembered after 1, 2, 4, … further steps (Brent 1980).
    let (mut remembered, mut steps, mut most) = (at, 0u64, 1u64);
    'hops: while at.time > SimTime::ZERO {
        let Some(&(log, names)) = of_rank.get(&at.rank) else { break };
        let thread = log.threads.get(&at.serial).copied();
        for (start, mark) in log.back_from(at.serial, at.time) {
            let computing = mark.site & ClockMark::COMPUTING != 0;
            let place = names.get((mark.site & !ClockMark::COMPUTING) as usize);
            let (of_rank, (of_site, _)) = (
                ranks.entry((at.rank, thread)).or_default(),
                sites.entry((place.map_or("", |(name, _)| name), computing)).or_insert_with(|| {
                    (PathShare::default(), place.map(|(_, source)| source.clone()).unwrap_or_default())
                }),
            );
            let mut share = |part: fn(&mut PathShare) -> &mut SimSpan, span: SimSpan| {
                *part(of_rank) += span;
                *part(of_site) += span;
            };
            match mark.came {
                None => {
                    share(|share| &mut share.own, at.time.since(start));
                    at.time = start;
                }
                Some(from) => {
                    share(|share| &mut share.messages, at.time.since(from.time));
                    hops += u64::from(from.rank != at.rank);
                    // A step that does not lead to an earlier time would repeat forever.
                    let stays = (from.rank, from.serial) == (at.rank, at.serial) && from.time >= at.time;
                    at = from;
                    if stays || at == remembered {
                        break 'hops;
                    }
                    steps += 1;
                    if steps == most {
                        (remembered, steps, most) = (at, 0, 2 * most);
                    }
                    continue 'hops;
                }
            }
        }
        // The earlier marks of the task's clock do not exist or were dropped from the activity log.
        break;
    }
    let mut ranks: Vec<RankShare> =
        ranks.into_iter().map(|((rank, thread), share)| RankShare { rank, thread, share }).collect();
    ranks.sort_by_key(|rank| Reverse(rank.share.total()));
    let named = sites.into_iter().filter(|(_, (share, _))| share.total() > SimSpan::ZERO);
    let mut sites: Vec<SiteShare> = named
        .map(|((site, computing), (share, source))| {
            let of = SiteShare { site: site.to_owned(), source, share };
            if computing { of.computing_before() } else { of }
        })
        .collect();
    sites.sort_by_key(|site| Reverse(site.share.total()));
    CriticalPath { known: predicted.since(at.time), hops, ranks, sites }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_operation_or_line_reach_other_processes() {
        let source = |operation: Option<&str>, line: Option<&str>| {
            let [operation, line] = [operation, line].map(|text| text.map(str::to_owned));
            ("main".to_owned(), StepSource { operation, line })
        };
        let names = vec![source(None, None), source(Some("send"), None), source(Some("recv"), Some("app.toml:3"))];
        let sent = postcard::to_stdvec(&ClockLogs { names: names.clone(), logs: Vec::new() }).unwrap();
        assert_eq!(postcard::from_bytes::<ClockLogs>(&sent).unwrap().names, names);
    }

    #[test]
    fn a_walk_that_comes_round_ends() {
        let time = SimTime::from_ps(10);
        // The walk from rank 3 reaches rank 0, which is in a cycle.
        let logs = (0..4).map(|rank| {
            let mut log = ClockLog::new(100);
            let from = ClockPoint { rank: if rank == 3 { 0 } else { (rank + 1) % 3 }, serial: 0, time };
            log.add(0, ClockMark { until: time, site: 0, came: Some(from) });
            (rank, log)
        });
        let workers = [ClockLogs { names: Vec::new(), logs: logs.collect() }];
        let path = walk_back(&workers, 3, time);
        assert_eq!((path.known, path.ranks.len()), (SimSpan::ZERO, 4));
    }
}
