//! Load of shared resources over virtual time, in a bounded number of spans of equal length.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::platform::{LinkIndex, LinkNetwork};
use crate::units::{SimSpan, SimTime, picoseconds};

use super::{Activity, SharedKind, Timeline, Uses};

/// Greatest number of spans of a series.
const MOST_SPANS: u64 = 64;
/// Shortest span in picoseconds. All spans are this span times a power of two.
const SHORTEST: u64 = 1 << 14;
/// Greatest number of links in the results.
const MOST_LINKS: usize = 4096;

/// Work of a resource in consecutive spans of equal length. If the time exceeds the series, the spans double.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseSeries {
    span: u64,
    sums: Vec<u128>,
}

impl Default for UseSeries {
    fn default() -> Self {
        UseSeries { span: SHORTEST, sums: Vec::new() }
    }
}

impl UseSeries {
    /// Adds work at the rate `rate` between two times in picoseconds.
    pub fn add(&mut self, from: u64, until: u64, rate: u64) {
        if rate == 0 || from >= until {
            return;
        }
        while until.div_ceil(self.span) > MOST_SPANS {
            self.double();
        }
        let mut at = from;
        while at < until {
            let number = (at / self.span) as usize;
            let end = self.span.saturating_mul(number as u64 + 1).min(until);
            if number >= self.sums.len() {
                self.sums.resize(number + 1, 0);
            }
            self.sums[number] += u128::from(rate) * u128::from(end - at);
            at = end;
        }
    }

    /// Returns the series with the work divided by the rate of full use, which gives picoseconds.
    pub fn at_full_use(&self, rate: u64) -> UseSeries {
        let sums = self.sums.iter().map(|sum| sum / u128::from(rate.max(1))).collect();
        UseSeries { span: self.span, sums }
    }

    fn double(&mut self) {
        self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.span *= 2;
    }

    /// Adds the series to `sums`, which has spans of length `span`.
    fn add_to(&self, sums: &mut [u128], span: u64) {
        for (number, sum) in self.sums.iter().enumerate() {
            let at = (number as u64 * self.span / span) as usize;
            if let Some(to) = sums.get_mut(at) {
                *to += sum;
            }
        }
    }
}

/// Series of one resource that a worker recorded. The work is the time at full use in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLoad {
    /// Kind of the resource.
    pub kind: SharedKind,
    /// Number of the resource among those of its kind. Several series with the same number are added.
    pub number: u64,
    /// Work of the resource.
    pub series: UseSeries,
}

/// Load of resources over virtual time. A load is a part of the capacity, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoadOverTime {
    /// Length of each span. The last span ends with the run.
    #[serde(rename = "span_ps", deserialize_with = "picoseconds")]
    pub span: SimSpan,
    /// Load by kind of resource; only kinds with load.
    pub kinds: Vec<KindLoad>,
    /// Load of the links of a network, the busiest link first; only links with load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkLoad>,
    /// Number of links with load that `links` leaves out.
    #[serde(default)]
    pub links_left_out: u64,
    /// Switches at the ends of the links.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub switches: BTreeMap<u32, SwitchPlace>,
}

/// Load of all resources of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KindLoad {
    /// Name of the kind of resource; for a link, the name of the kind of link.
    pub kind: String,
    /// Number of resources. Links and uplinks count only if they have load.
    pub count: u64,
    /// Mean over all resources, per span.
    pub mean: Vec<f64>,
    /// Greatest load of a resource, per span.
    pub busiest: Vec<f64>,
}

/// Load of a link, in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkLoad {
    /// Names of the two switches.
    pub link: String,
    /// Name of the kind of link.
    pub layer: String,
    /// Numbers of the two switches.
    pub ends: [u32; 2],
    /// Mean load of the whole run.
    pub mean: f64,
    /// Load per span.
    pub load: Vec<f64>,
}

/// Switch of a network, with its place in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SwitchPlace {
    /// Name of the switch.
    pub name: String,
    /// Distance from the nodes: 0 for a switch with nodes.
    pub row: u32,
}

/// Spans of a run.
struct Spans {
    span: u64,
    end: u64,
}

impl Spans {
    fn new(end: SimTime) -> Spans {
        let (end, mut span) = (end.as_ps().max(1), SHORTEST);
        while end.div_ceil(span) > MOST_SPANS {
            span *= 2;
        }
        Spans { span, end }
    }

    fn count(&self) -> usize {
        self.end.div_ceil(self.span) as usize
    }

    /// Returns the loads of work in picoseconds at full use, with four decimals.
    fn loads(&self, sums: &[u128], resources: u64) -> Vec<f64> {
        let load = |(number, sum): (usize, &u128)| {
            let start = number as u64 * self.span;
            let length = self.span.min(self.end - start).max(1);
            rounded(*sum as f64 / length as f64 / resources.max(1) as f64)
        };
        sums.iter().enumerate().map(load).collect()
    }
}

fn rounded(load: f64) -> f64 {
    (load.min(1.0) * 1e4).round() / 1e4
}

impl LoadOverTime {
    /// Returns the recorded loads of a run that ends at `end`. The ranks have the activities `timelines`.
    pub fn new(
        uses: &Uses,
        timelines: &[Timeline],
        network: Option<&LinkNetwork>,
        end: SimTime,
    ) -> Option<LoadOverTime> {
        let spans = Spans::new(end);
        let mut resources: BTreeMap<(SharedKind, u64), Vec<u128>> = BTreeMap::new();
        for of in uses.series() {
            let sums = resources.entry((of.kind, of.number)).or_insert_with(|| vec![0; spans.count()]);
            of.series.add_to(sums, spans.span);
        }
        resources.retain(|_, sums| sums.iter().any(|sum| *sum > 0));
        let mut kinds: BTreeMap<(SharedKind, usize), Vec<&Vec<u128>>> = BTreeMap::new();
        for ((kind, number), sums) in &resources {
            let layer = network.filter(|_| *kind == SharedKind::Link);
            let layer = layer.map_or(0, |network| network.layer(LinkIndex(*number as u32)));
            kinds.entry((*kind, layer)).or_default().push(sums);
        }
        let of_kind = |((kind, layer), all): ((SharedKind, usize), Vec<&Vec<u128>>)| {
            let name = match (kind, network) {
                (SharedKind::Link, Some(network)) => network.layers()[layer].name.clone(),
                _ => kind.name().to_owned(),
            };
            let is_listed = matches!(kind, SharedKind::Link | SharedKind::UplinkOut | SharedKind::UplinkIn);
            let count = if is_listed { all.len() as u64 } else { uses.count(kind).max(all.len() as u64) };
            let column = |at: usize| all.iter().map(move |sums| sums[at]);
            let sum: Vec<u128> = (0..spans.count()).map(|at| column(at).sum()).collect();
            let most: Vec<u128> = (0..spans.count()).map(|at| column(at).max().unwrap_or(0)).collect();
            KindLoad { kind: name, count, mean: spans.loads(&sum, count), busiest: spans.loads(&most, 1) }
        };
        let mut loads: Vec<KindLoad> = kinds.into_iter().map(of_kind).collect();
        loads.extend(computing(timelines, &spans));
        let mut used: Vec<(u128, u32, &Vec<u128>)> = resources
            .iter()
            .filter(|((kind, _), _)| *kind == SharedKind::Link)
            .map(|((_, number), sums)| (sums.iter().sum(), *number as u32, sums))
            .collect();
        used.sort_by_key(|(sum, number, _)| (std::cmp::Reverse(*sum), *number));
        let left_out = used.len().saturating_sub(MOST_LINKS) as u64;
        used.truncate(MOST_LINKS);
        let (mut links, mut switches) = (Vec::new(), BTreeMap::new());
        for (sum, number, sums) in used {
            let (Some(network), link) = (network, LinkIndex(number)) else { continue };
            let Some(ends) = network.ends(link) else { continue };
            for switch in ends {
                let place = || SwitchPlace { name: network.switch_name(switch), row: network.row(switch) };
                switches.entry(switch).or_insert_with(place);
            }
            links.push(LinkLoad {
                link: network.link_name(link),
                layer: network.layers()[network.layer(link)].name.clone(),
                ends,
                mean: rounded(sum as f64 / spans.end as f64),
                load: spans.loads(sums, 1),
            });
        }
        let span = SimSpan::from_ps(spans.span);
        let loads = LoadOverTime { span, kinds: loads, links, links_left_out: left_out, switches };
        (!loads.kinds.is_empty()).then_some(loads)
    }
}

/// Returns the part of the ranks that compute.
fn computing(timelines: &[Timeline], spans: &Spans) -> Option<KindLoad> {
    let (mut sum, mut most) = (vec![0; spans.count()], vec![0; spans.count()]);
    for timeline in timelines {
        let mut series = UseSeries::default();
        for (start, interval) in timeline.intervals().filter(|(_, of)| of.state == Activity::Compute) {
            series.add(start.as_ps(), interval.until.as_ps(), 1);
        }
        let mut own = vec![0; spans.count()];
        series.add_to(&mut own, spans.span);
        for (at, own) in own.into_iter().enumerate() {
            sum[at] += own;
            most[at] = own.max(most[at]);
        }
    }
    let count = timelines.len() as u64;
    let load = KindLoad {
        kind: "ranks computing".to_owned(),
        count,
        mean: spans.loads(&sum, count),
        busiest: spans.loads(&most, 1),
    };
    sum.iter().any(|sum| *sum > 0).then_some(load)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_divided_among_the_spans_that_it_covers() {
        let mut series = UseSeries::default();
        series.add(SHORTEST / 2, SHORTEST * 2, 4);
        assert_eq!(series.sums, [u128::from(SHORTEST) * 2, u128::from(SHORTEST) * 4]);
        assert_eq!(series.at_full_use(4).sums, [u128::from(SHORTEST) / 2, SHORTEST.into()]);
        // A later time doubles the spans.
        series.add(SHORTEST * 64, SHORTEST * 65, 1);
        assert_eq!(series.span, SHORTEST * 2);
        assert_eq!((series.sums.len(), series.sums[0]), (33, u128::from(SHORTEST) * 6));
        assert_eq!(series.sums[32], SHORTEST.into());
    }

    #[test]
    fn kinds_have_means_over_all_their_resources() {
        let mut uses = Uses::default();
        let mut series = UseSeries::default();
        series.add(0, SHORTEST, 1);
        for node in 0..4 {
            uses.add(SharedKind::AdapterOut, 0);
            if node < 2 {
                let series = series.clone();
                uses.add_series(RecordedLoad { kind: SharedKind::AdapterOut, number: node, series });
            }
        }
        // The last span has half of the length.
        let end = SimTime::from_ps(SHORTEST + SHORTEST / 2);
        let load = LoadOverTime::new(&uses, &[], None, end).unwrap();
        let expected =
            KindLoad { kind: "adapters, out".to_owned(), count: 4, mean: vec![0.5, 0.0], busiest: vec![1.0, 0.0] };
        assert_eq!(load.kinds, [expected]);
        assert_eq!(LoadOverTime::new(&Uses::default(), &[], None, end), None);
    }
}
