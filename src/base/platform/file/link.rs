//! The table of one level of a platform file, and its conversion to a [`Link`].

use serde::Deserialize;

use crate::config::{ConfigError, Document};
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::super::{Contention, Copies, InNodeTransport, Level, Link, LoadColumn, Protocol, Row, UnreadKeys};
use super::occupancy::{RailsFile, StatedOccupancy};
use super::values::{Factor, PerLoad};

/// Keys that a size interval may state, or a level for all its size intervals.
pub(super) const COSTS: [&str; 10] = [
    "latency",
    "bandwidth",
    "send_overhead",
    "recv_overhead",
    "send_bandwidth",
    "recv_bandwidth",
    "gap",
    "copy_bandwidth",
    "copy_count",
    "loads",
];

/// Greatest number of size intervals of a level, which [`Link`] limits.
const MOST_INTERVALS: usize = u16::MAX as usize;
/// Greatest number of entries of `ranks_per_node`.
const MOST_RANKS: usize = 64;

/// Table `[intra_cmp]`, `[inter_cmp]` or `[inter_node]` of a platform file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFile {
    contention: Option<Contention>,
    eager_threshold: Option<Bytes>,
    pub handshake: Option<SimSpan>,
    pub latency: Option<PerLoad<SimSpan>>,
    pub bandwidth: Option<PerLoad<Bandwidth>>,
    pub send_overhead: Option<PerLoad<SimSpan>>,
    pub recv_overhead: Option<PerLoad<SimSpan>>,
    pub send_bandwidth: Option<Bandwidth>,
    pub recv_bandwidth: Option<Bandwidth>,
    pub gap: Option<PerLoad<SimSpan>>,
    pub copy_bandwidth: Option<Bandwidth>,
    pub copy_count: Option<u32>,
    pub loads: Option<Vec<u32>>,
    ranks_per_node: Option<Vec<u32>>,
    copies: Option<Copies>,
    transport: Option<InNodeTransport>,
    capacity: Option<Bandwidth>,
    duplex: Option<Bandwidth>,
    duplex_gap: Option<SimSpan>,
    pair_duplex: Option<Bandwidth>,
    rails: Option<RailsFile>,
    slot: Option<SimSpan>,
    tolerance: Option<f64>,
    connection_time: Option<SimSpan>,
    credits: Option<u32>,
    unexpected_copy_bandwidth: Option<Bandwidth>,
    latency_factor: Option<Factor>,
    bandwidth_factor: Option<Factor>,
    pub interval: Option<Vec<IntervalFile>>,
}

/// Entry of `[[inter_node.interval]]` (a size interval); missing values are the values of the level.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IntervalFile {
    above: Option<Bytes>,
    up_to: Option<Bytes>,
    pub latency: Option<PerLoad<SimSpan>>,
    pub bandwidth: Option<PerLoad<Bandwidth>>,
    pub send_overhead: Option<PerLoad<SimSpan>>,
    pub recv_overhead: Option<PerLoad<SimSpan>>,
    pub send_bandwidth: Option<Bandwidth>,
    pub recv_bandwidth: Option<Bandwidth>,
    pub gap: Option<PerLoad<SimSpan>>,
    pub copy_bandwidth: Option<Bandwidth>,
    pub copy_count: Option<u32>,
    pub loads: Option<Vec<u32>>,
}

impl LinkFile {
    /// Returns the factor on all latencies of the level.
    pub fn latency_factor(&self) -> Factor {
        self.latency_factor.unwrap_or(Factor(1.0))
    }

    /// Returns the number of network adapters of a node.
    pub fn adapters(&self) -> u32 {
        self.rails.as_ref().map_or(1, |rails| rails.count)
    }

    /// Returns the factor on all bandwidths of the level.
    pub fn bandwidth_factor(&self) -> Factor {
        self.bandwidth_factor.unwrap_or(Factor(1.0))
    }

    /// Checks the values of the level beyond the checks of serde, adds defaults, and creates the link. `cmps` is the
    /// number of CMPs per node.
    pub fn link(&self, document: &Document, level: Level, cmps: u32) -> Result<Link, ConfigError> {
        self.link_at(document, level, cmps, level.name())
    }

    /// Creates the link as [`LinkFile::link`]; error messages name `table` as the position of the costs.
    pub fn link_at(&self, document: &Document, level: Level, cmps: u32, table: &str) -> Result<Link, ConfigError> {
        let contention = self.contention.unwrap_or(match level {
            Level::IntraCmp | Level::InterCmp => Contention::Ideal,
            Level::InterNode => Contention::Share,
        });
        let ranks = self.ranks_per_node.as_deref().unwrap_or_default();
        self.check_ranks(document, ranks, table)?;
        let rows_with = |column| {
            let reader = Reader { document, level: table, file: self, contention, ranks: ranks.len(), column };
            match &self.interval {
                None => Ok(vec![reader.row(&IntervalFile::default(), table, Bytes::ZERO, Bytes::MAX)?]),
                Some(intervals) => reader.rows(intervals),
            }
        };
        let rows = rows_with(0)?;
        let more = ranks.iter().enumerate().map(|(column, ranks)| Ok((*ranks, rows_with(column)?)));
        let by_ranks = more.collect::<Result<Vec<_>, ConfigError>>()?;
        let handshake = match self.handshake {
            Some(stated) => self.latency_factor.map_or(stated, |factor| factor.of_span(stated)),
            None => rows[0].latency,
        };
        let stated = StatedOccupancy {
            copies: self.copies,
            transport: self.transport,
            capacity: self.capacity,
            duplex: self.duplex,
            duplex_gap: self.duplex_gap,
            pair_duplex: self.pair_duplex,
            rails: self.rails.as_ref(),
            slot: self.slot,
            tolerance: self.tolerance,
            bandwidth_factor: self.bandwidth_factor,
        };
        // `duplex_gap` belongs to the greatest number of ranks.
        let most = by_ranks.last().map_or(&rows, |(_, rows)| rows);
        let occupancy = stated.occupancy(document, level, contention, most, cmps)?;
        let limit = occupancy.capacity.filter(|_| contention == Contention::Fair && level == Level::InterNode);
        let mut link = Link::new(contention, self.eager_threshold.unwrap_or(Bytes::MAX), handshake, rows)
            .occupying(occupancy)
            .with_protocol(self.protocol(document, level)?)
            .with_rows_by_ranks(by_ranks);
        // No message passes an adapter faster than the adapter's capacity, not even a message alone.
        limit.into_iter().for_each(|capacity| link.limit_bandwidth(capacity));
        let most = SimSpan::from_ps(link.least_latency().as_ps() / 2);
        if let Some(slot) = self.slot.filter(|slot| *slot > most) {
            let expected = format!("at most {most}, half the least latency between nodes,");
            return Err(document.expected(&format!("{}.slot", level.name()), expected, slot));
        }
        Ok(link)
    }
}

impl LinkFile {
    /// Returns whether the file states the capacity of an adapter. Otherwise the capacity is the greatest bandwidth of
    /// a message.
    pub fn states_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// Returns the stated keys that have no effect under this contention model, which is not [`Contention::Fair`].
    pub fn unread(&self, level: Level, contention: Contention) -> Option<UnreadKeys> {
        let in_intervals = |stated: fn(&IntervalFile) -> bool| self.interval.iter().flatten().any(stated);
        let gap = self.gap.is_some() || in_intervals(|interval| interval.gap.is_some());
        let copy = self.copy_bandwidth.is_some() || in_intervals(|interval| interval.copy_bandwidth.is_some());
        let keys = [
            ("copies", self.copies.is_some()),
            ("transport", self.transport.is_some()),
            ("copy_bandwidth", copy),
            ("copy_count", self.copy_count.is_some() || in_intervals(|interval| interval.copy_count.is_some())),
            ("gap", gap && contention != Contention::Queue),
            ("capacity", self.capacity.is_some()),
            ("duplex", self.duplex.is_some()),
            ("duplex_gap", self.duplex_gap.is_some()),
            ("pair_duplex", self.pair_duplex.is_some()),
            ("rails", self.rails.is_some()),
            ("slot", self.slot.is_some()),
            ("tolerance", self.tolerance.is_some()),
        ];
        UnreadKeys::stated(level.name(), &keys)
    }

    /// Returns whether the file states the key `transport`, which only a machine with the contention model
    /// [`Contention::Fair`] between nodes reads.
    pub fn states_transport(&self) -> bool {
        self.transport.is_some()
    }

    /// Returns whether the file states the key `loads`, which only [`Contention::Measured`] reads.
    pub fn states_loads(&self) -> bool {
        self.loads.is_some() || self.interval.iter().flatten().any(|interval| interval.loads.is_some())
    }

    /// Checks the numbers of ranks per node for which lists of costs have values.
    fn check_ranks(&self, document: &Document, ranks: &[u32], table: &str) -> Result<(), ConfigError> {
        if self.ranks_per_node.is_none() {
            return Ok(());
        }
        let path = format!("{table}.ranks_per_node");
        if self.states_loads() {
            return Err(document.expected(&path, "either \"ranks_per_node\" or \"loads\"", "both"));
        }
        let is_increasing = ranks.first().is_some_and(|first| *first > 0) && ranks.is_sorted_by(|a, b| a < b);
        if !is_increasing || ranks.len() > MOST_RANKS {
            let expected = format!("1 to {MOST_RANKS} increasing numbers of ranks, such as [2, 16, 32],");
            return Err(document.expected(&path, expected, format!("{ranks:?}")));
        }
        Ok(())
    }

    fn protocol(&self, document: &Document, level: Level) -> Result<Protocol, ConfigError> {
        if self.credits == Some(0) {
            let expected = "at least 1 message (no limit where the key is left out)";
            return Err(document.expected(&format!("{}.credits", level.name()), expected, 0));
        }
        let connection_time = self.connection_time.unwrap_or(SimSpan::ZERO);
        Ok(Protocol {
            connection_time,
            credits: self.credits,
            unexpected_copy_bandwidth: self.unexpected_copy_bandwidth,
        })
    }
}

/// Returns the rows of a list of size intervals at the position `place` of the file, without values of a level.
pub(super) fn rows(document: &Document, place: &str, intervals: &[IntervalFile]) -> Result<Vec<Row>, ConfigError> {
    let file = &LinkFile::default();
    Reader { document, level: place, file, contention: Contention::Ideal, ranks: 0, column: 0 }.rows(intervals)
}

struct Reader<'a> {
    document: &'a Document,
    level: &'a str,
    file: &'a LinkFile,
    contention: Contention,
    /// Number of entries of `ranks_per_node`, zero if the level does not state the key.
    ranks: usize,
    /// Entry of `ranks_per_node` whose costs are read.
    column: usize,
}

impl Reader<'_> {
    fn rows(&self, intervals: &[IntervalFile]) -> Result<Vec<Row>, ConfigError> {
        let path = format!("{}.interval", self.level);
        if intervals.is_empty() || intervals.len() > MOST_INTERVALS {
            let expected = format!("1 to {MOST_INTERVALS} intervals");
            return Err(self.document.expected(&path, expected, intervals.len()));
        }
        let mut above = Bytes::ZERO;
        let mut rows = Vec::with_capacity(intervals.len());
        for (index, interval) in intervals.iter().enumerate() {
            let here = format!("{path}[{index}]");
            let before = index.checked_sub(1).map(|before| format!("{path}[{before}]"));
            self.check_start(interval, &here, before.as_deref(), above)?;
            let up_to = match (interval.up_to, index + 1 == intervals.len()) {
                (None, true) => Bytes::MAX,
                (None, false) => {
                    let expected = "a size such as \"64 KiB\" (only the last interval has none)";
                    return Err(self.document.missing(&here, "up_to", expected));
                }
                (Some(up_to), true) => {
                    let expected = "no \"up_to\" in the last interval, which holds all greater sizes,";
                    return Err(self.document.expected(&format!("{here}.up_to"), expected, up_to));
                }
                (Some(up_to), false) => up_to,
            };
            // The first size interval may end at 0 bytes, because messages without data can have costs of their own.
            if let Some(before) = before
                && up_to <= above
            {
                let expected = format!("a size above {above}, where {before} ends,");
                return Err(self.document.expected(&format!("{here}.up_to"), expected, up_to));
            }
            rows.push(self.row(interval, &here, above, up_to)?);
            above = up_to;
        }
        Ok(rows)
    }

    /// Checks the optional start of a size interval, which must be the end of the previous size interval.
    fn check_start(
        &self,
        interval: &IntervalFile,
        here: &str,
        before: Option<&str>,
        end: Bytes,
    ) -> Result<(), ConfigError> {
        let Some(start) = interval.above.filter(|start| *start != end) else { return Ok(()) };
        let path = format!("{here}.above");
        let Some(before) = before else {
            return Err(self.document.expected(&path, "0 B, where the first interval starts,", start));
        };
        let what = if start > end { "a gap" } else { "an overlap" };
        let expected = format!("{end}, where {before} ends,");
        Err(self.document.expected(&path, expected, format!("{start}, which leaves {what}")))
    }

    fn row(&self, interval: &IntervalFile, here: &str, above: Bytes, up_to: Bytes) -> Result<Row, ConfigError> {
        let file = self.file;
        let loads = interval.loads.as_ref().or(file.loads.as_ref());
        if let Some(loads) = loads {
            self.check_loads(loads, &self.place(here, interval.loads.is_some(), "loads"))?;
        } else if self.contention == Contention::Measured {
            return Err(self.document.missing(here, "loads", "the loads measured, such as [1, 2, 4]"));
        }
        let loads = loads.map_or(&[1][..], Vec::as_slice);
        let latencies = interval.latency.as_ref().or(file.latency.as_ref());
        let latencies = latencies.ok_or_else(|| self.document.missing(here, "latency", "a time such as \"1.2 us\""))?;
        let place = self.place(here, interval.latency.is_some(), "latency");
        let latencies = match self.ranks {
            0 => self.each(latencies, loads.len(), &place, "times")?,
            _ => vec![self.by_ranks(latencies, &place)?],
        };
        let bandwidths = interval.bandwidth.as_ref().or(file.bandwidth.as_ref()).ok_or_else(|| {
            self.document.missing(here, "bandwidth", "a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\"")
        })?;
        let place = self.place(here, interval.bandwidth.is_some(), "bandwidth");
        let bandwidths = self.each(bandwidths, loads.len(), &place, "bandwidths")?;

        let longer = file.latency_factor.unwrap_or(Factor(1.0));
        let wider = file.bandwidth_factor.unwrap_or(Factor(1.0));
        let columns: Vec<LoadColumn> = loads
            .iter()
            .zip(latencies.into_iter().zip(bandwidths))
            .map(|(load, (latency, bandwidth))| {
                let scaled = wider.of_bandwidth(bandwidth).ok_or_else(|| {
                    let expected = format!("a factor that leaves at least 1 B/s of {bandwidth}");
                    self.document.expected(
                        &format!("{}.bandwidth_factor", self.level),
                        expected,
                        format!("{:e}", wider.0),
                    )
                })?;
                Ok(LoadColumn { load: *load, latency: longer.of_span(latency), bandwidth: scaled })
            })
            .collect::<Result<_, ConfigError>>()?;
        Ok(Row {
            above,
            up_to,
            latency: columns[0].latency,
            bandwidth: columns[0].bandwidth,
            send_overhead: self.time(here, "send_overhead", [&interval.send_overhead, &file.send_overhead])?,
            recv_overhead: self.time(here, "recv_overhead", [&interval.recv_overhead, &file.recv_overhead])?,
            send_bandwidth: interval.send_bandwidth.or(file.send_bandwidth),
            recv_bandwidth: interval.recv_bandwidth.or(file.recv_bandwidth),
            gap: self.time(here, "gap", [&interval.gap, &file.gap])?,
            copy_bandwidth: interval.copy_bandwidth.or(file.copy_bandwidth).map(|stated| wider.of_capacity(stated)),
            copy_count: self.copy_count(interval, here)?,
            columns: if self.contention == Contention::Measured { columns } else { Vec::new() },
        })
    }

    /// Returns the time of the key `key`, as the size interval or the level states it; zero if neither does.
    fn time(&self, here: &str, key: &str, stated: [&Option<PerLoad<SimSpan>>; 2]) -> Result<SimSpan, ConfigError> {
        let [own, of_level] = stated;
        let Some(values) = own.as_ref().or(of_level.as_ref()) else { return Ok(SimSpan::ZERO) };
        self.by_ranks(values, &self.place(here, own.is_some(), key))
    }

    /// Returns the value for the entry of `ranks_per_node` whose costs are read.
    fn by_ranks(&self, values: &PerLoad<SimSpan>, path: &str) -> Result<SimSpan, ConfigError> {
        match values {
            PerLoad::All(value) => Ok(*value),
            PerLoad::Each(values) if values.len() == self.ranks && self.ranks > 0 => Ok(values[self.column]),
            PerLoad::Each(values) => {
                let expected = match self.ranks {
                    0 => "one time, or a list beside \"ranks_per_node\",".to_owned(),
                    ranks => format!("as many times as \"ranks_per_node\" has entries, which is {ranks},"),
                };
                Err(self.document.expected(path, expected, format!("{} times", values.len())))
            }
        }
    }

    fn copy_count(&self, interval: &IntervalFile, here: &str) -> Result<u32, ConfigError> {
        let Some(count) = interval.copy_count.or(self.file.copy_count) else { return Ok(1) };
        let place = self.place(here, interval.copy_count.is_some(), "copy_count");
        if self.level == Level::InterNode.name() {
            let expected = "no \"copy_count\", which only levels within a node have,";
            return Err(self.document.expected(&place, expected, count));
        }
        if !(1..=2).contains(&count) {
            let expected = "1 copy of each byte, or 2 through a segment that both ranks share,";
            return Err(self.document.expected(&place, expected, count));
        }
        Ok(count)
    }

    /// Returns the path of the key that states a cost: in the size interval if stated there, otherwise in the level.
    fn place(&self, here: &str, stated_here: bool, key: &str) -> String {
        format!("{}.{key}", if stated_here { here } else { self.level })
    }

    fn check_loads(&self, loads: &[u32], path: &str) -> Result<(), ConfigError> {
        if loads.first() == Some(&1) && loads.is_sorted_by(|a, b| a < b) {
            return Ok(());
        }
        Err(self.document.expected(
            path,
            "increasing loads that begin with 1, such as [1, 2, 4],",
            format!("{loads:?}"),
        ))
    }

    fn each<T: Copy>(&self, values: &PerLoad<T>, loads: usize, path: &str, what: &str) -> Result<Vec<T>, ConfigError> {
        match values {
            PerLoad::All(value) => Ok(vec![*value; loads]),
            PerLoad::Each(values) if values.len() == loads => Ok(values.clone()),
            PerLoad::Each(values) => {
                let expected = format!("as many {what} as \"loads\" has entries, which is {loads},");
                Err(self.document.expected(path, expected, values.len()))
            }
        }
    }
}
