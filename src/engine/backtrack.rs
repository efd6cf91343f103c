//! The way back along the path that determined the predicted time, by the marks that ranks left.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::profile::{CriticalPath, PathShare, RankShare, SiteShare, Timeline};
use crate::rank::{CallSite, Program, Rank};
use crate::units::{SimSpan, SimTime};

use super::activity::{ClockLog, ClockPoint};
use super::lp::LogicalProcess;
use super::state::RankState;

/// The logs of a worker's ranks, and the names of the places in them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ClockLogs {
    pub names: Vec<String>,
    pub logs: Vec<(Rank, ClockLog)>,
}

/// What was recorded of a worker's ranks.
pub(super) fn trails<P: Program>(
    ranks: &mut [RankState<P>],
    lp: &LogicalProcess<'_>,
) -> (Vec<(Rank, Timeline)>, Vec<ClockLogs>) {
    let (mut timelines, mut logs) = (Vec::new(), Vec::new());
    for RankState { target, .. } in ranks.iter_mut() {
        if let Some(trail) = target.trail.take() {
            timelines.extend(trail.timeline.map(|timeline| (target.rank, timeline)));
            logs.extend(trail.log.map(|log| (target.rank, log)));
        }
    }
    let name = |site: &CallSite| match *site {
        CallSite::Unknown => "unknown".to_owned(),
        CallSite::Step(step) => ranks.first().map_or_else(String::new, |state| state.program.step_name(step)),
        CallSite::Function(name) => name.to_owned(),
        CallSite::Place(function, place) => {
            let of = |state: &RankState<P>| format!("{function} in {}", state.program.site_name(place));
            ranks.first().map_or_else(String::new, of)
        }
    };
    let names = lp.sites.sites.iter().map(name).collect();
    (timelines, if logs.is_empty() { Vec::new() } else { vec![ClockLogs { names, logs }] })
}

/// Walks back from the end of `last`, whose clock was the greatest.
pub(super) fn walk_back(workers: &[ClockLogs], last: Rank, predicted: SimTime) -> CriticalPath {
    let of_rank: HashMap<Rank, (&ClockLog, &[String])> = workers
        .iter()
        .flat_map(|ClockLogs { names, logs }| logs.iter().map(|(rank, log)| (*rank, (log, &names[..]))))
        .collect();
    let mut ranks: BTreeMap<Rank, PathShare> = BTreeMap::new();
    let mut sites: BTreeMap<&str, PathShare> = BTreeMap::new();
    let mut at = ClockPoint { rank: last, serial: 0, time: predicted };
    let mut hops = 0;
    'hops: while at.time > SimTime::ZERO {
        let Some(&(log, names)) = of_rank.get(&at.rank) else { break };
        for (start, mark) in log.back_from(at.serial, at.time) {
            let site = names.get(mark.site as usize).map_or("", String::as_str);
            let mut share = |part: fn(&mut PathShare) -> &mut SimSpan, span: SimSpan| {
                *part(ranks.entry(at.rank).or_default()) += span;
                *part(sites.entry(site).or_default()) += span;
            };
            match mark.came {
                None => {
                    share(|share| &mut share.own, at.time.since(start));
                    at.time = start;
                }
                Some(from) => {
                    share(|share| &mut share.messages, at.time.since(from.time));
                    hops += u64::from(from.rank != at.rank);
                    // A step that leads nowhere earlier would be walked for ever.
                    let stays = (from.rank, from.serial) == (at.rank, at.serial) && from.time >= at.time;
                    at = from;
                    if stays {
                        break 'hops;
                    }
                    continue 'hops;
                }
            }
        }
        // What was before is not kept, or there was nothing.
        break;
    }
    let mut ranks: Vec<RankShare> = ranks.into_iter().map(|(rank, share)| RankShare { rank, share }).collect();
    ranks.sort_by_key(|rank| Reverse(rank.share.total()));
    let named = sites.into_iter().filter(|(_, share)| share.total() > SimSpan::ZERO);
    let mut sites: Vec<SiteShare> = named.map(|(site, share)| SiteShare { site: site.to_owned(), share }).collect();
    sites.sort_by_key(|site| Reverse(site.share.total()));
    CriticalPath { known: predicted.since(at.time), hops, ranks, sites }
}
