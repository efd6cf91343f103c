//! Costs of messages at one level: latency, bandwidth and overheads for each size interval, and the effect of load.

use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{Occupancy, Protocol};

/// Contention model: effect of the number of concurrent transfers on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contention {
    /// Load has no effect on a transfer.
    Ideal,
    /// Each of `k` concurrent transfers gets 1/k of the bandwidth.
    Share,
    /// Transfers follow one another: a transfer occupies the resource for its gap, or for its bytes divided by the
    /// bandwidth, whichever is longer (LogGP's g and G).
    Queue,
    /// Latency and bandwidth were measured for each load, see [`Row::columns`].
    Measured,
    /// A transfer gets max-min fair shares of the resources that it occupies, see [`Occupancy`].
    Fair,
}

impl Contention {
    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Contention::Ideal => "ideal",
            Contention::Share => "share",
            Contention::Queue => "queue",
            Contention::Measured => "measured",
            Contention::Fair => "fair",
        }
    }

    /// Returns whether load does not affect the latency, so that the arrival time of a message's head is known when the
    /// message is sent.
    pub fn head_is_known(self) -> bool {
        matches!(self, Contention::Ideal | Contention::Share | Contention::Fair)
    }
}

/// Costs of messages whose size is in `(above, up_to]`; the first row also contains size 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Greatest message size below the sizes of this row.
    pub above: Bytes,
    /// Greatest message size of this row; [`Bytes::MAX`] in the last row.
    pub up_to: Bytes,
    /// Time from the departure of a message at the sender to the arrival of its head, without other transfers.
    pub latency: SimSpan,
    /// Bandwidth in bytes per second, without other transfers.
    pub bandwidth: Bandwidth,
    /// Core time of the sender per message.
    pub send_overhead: SimSpan,
    /// Core time of the receiver per message.
    pub recv_overhead: SimSpan,
    /// Bytes per second at which the sender's core processes the data, in addition to `send_overhead` (LogGOPS's 1 /
    /// O). `None`: the data take no core time.
    pub send_bandwidth: Option<Bandwidth>,
    /// Bytes per second at which the receiver's core processes the data, in addition to `recv_overhead`. `None`: the
    /// data take no core time.
    pub recv_bandwidth: Option<Bandwidth>,
    /// Least time between two messages that use the same resource. [`Contention::Queue`] uses the gap, and
    /// [`Contention::Fair`] uses it for adapters.
    pub gap: SimSpan,
    /// Bytes per second at which a core copies messages, under [`Contention::Fair`]; `None`: the copy bandwidth is
    /// `bandwidth`.
    pub copy_bandwidth: Option<Bandwidth>,
    /// Number of times that each byte of a message is copied; all these copies together proceed at `copy_bandwidth`.
    /// The number is two for a copy through a memory segment that both ranks share.
    pub copy_count: u32,
    /// Measured latencies and bandwidths in increasing order of load, under [`Contention::Measured`]; the first column
    /// is for load 1.
    pub columns: Vec<LoadColumn>,
}

/// Latency and bandwidth measured with `load` concurrent transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadColumn {
    /// Number of concurrent transfers that share the resource.
    pub load: u32,
    /// Latency of each of the concurrent transfers.
    pub latency: SimSpan,
    /// Bandwidth of each of the concurrent transfers.
    pub bandwidth: Bandwidth,
}

/// Costs of the messages of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    contention: Contention,
    eager_threshold: Bytes,
    handshake: SimSpan,
    rows: Vec<Row>,
    occupancy: Occupancy,
    protocol: Protocol,
    /// Rows for increasing numbers of ranks per node; empty if costs do not depend on the number of ranks.
    by_ranks: Vec<(u32, Vec<Row>)>,
    /// Rows of messages that a rank sends to itself; empty if they are those of other messages.
    to_self: Vec<Row>,
    /// For each bit length of a size, the first row that can contain such a size. With this table, the row of a size is
    /// found in one or two steps.
    first_row: [u16; 65],
}

impl Link {
    /// Creates a link with the rows `rows`, which must be contiguous from 0 to [`Bytes::MAX`].
    ///
    /// `handshake` is the time of each control message of a rendezvous (request, grant, end).
    ///
    /// # Panics
    /// The rows do not cover all sizes, overlap, are empty or are more than 65,535.
    pub fn new(contention: Contention, eager_threshold: Bytes, handshake: SimSpan, rows: Vec<Row>) -> Self {
        assert!(!rows.is_empty() && rows.len() <= usize::from(u16::MAX), "a link needs 1 to 65535 rows");
        assert_eq!(rows[0].above, Bytes::ZERO, "the first row starts at 0");
        assert_eq!(rows[rows.len() - 1].up_to, Bytes::MAX, "the last row has no end");
        assert!(rows.windows(2).all(|pair| pair[0].up_to == pair[1].above), "rows are contiguous");
        let mut first_row = [0; 65];
        for (bits, first) in first_row.iter_mut().enumerate().skip(1) {
            let least = Bytes::new(1 << (bits - 1));
            *first = rows.iter().position(|row| least <= row.up_to).expect("the last row has no end") as u16;
        }
        // The default capacity of an adapter is the bandwidth of the fastest message.
        let capacity = rows.iter().map(|row| row.bandwidth).max();
        let occupancy = Occupancy { capacity, ..Occupancy::default() };
        let (protocol, by_ranks) = (Protocol::default(), Vec::new());
        let to_self = rows_to_self(&rows);
        Link { contention, eager_threshold, handshake, rows, occupancy, protocol, by_ranks, to_self, first_row }
    }

    /// Returns the link with other rows for numbers of ranks per node, which increase. All these rows have the size
    /// intervals of the link.
    pub fn with_rows_by_ranks(self, by_ranks: Vec<(u32, Vec<Row>)>) -> Self {
        Link { by_ranks, ..self }
    }

    /// Returns the rows for increasing numbers of ranks per node.
    pub fn rows_by_ranks(&self) -> &[(u32, Vec<Row>)] {
        &self.by_ranks
    }

    /// Returns the link for nodes with `ranks` ranks.
    ///
    /// Latencies, overheads and gaps are interpolated linearly between the stated numbers of ranks, and constant below
    /// the first number and beyond the last number. The gap of both directions of an adapter changes with the gap.
    pub fn at_ranks(mut self, ranks: u32) -> Self {
        let by_ranks = std::mem::take(&mut self.by_ranks);
        let Some((last, _)) = by_ranks.last() else { return self };
        let ranks = ranks.clamp(by_ranks[0].0, *last);
        let after = by_ranks.partition_point(|(stated, _)| *stated < ranks);
        let (high, above) = &by_ranks[after];
        let (low, below) = &by_ranks[after.saturating_sub(1)];
        let part = if high > low { f64::from(ranks - low) / f64::from(high - low) } else { 0.0 };
        self.rows = below.iter().zip(above).map(|(below, above)| below.between(above, part)).collect();
        self.to_self = rows_to_self(&self.rows);
        // The gap of both directions together is stated for the greatest number of ranks.
        let [own, stated] = [self.rows[0].gap, by_ranks[by_ranks.len() - 1].1[0].gap].map(|gap| gap.as_ps() as f64);
        if let Some(both) = self.occupancy.duplex_gap.filter(|_| stated > 0.0) {
            let scaled = (both.as_ps() as f64 * own / stated).round() as u64;
            self.occupancy.duplex_gap = Some(SimSpan::from_ps(scaled));
        }
        self
    }

    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.to_self).chain(self.by_ranks.iter().flat_map(|(_, rows)| rows))
    }

    fn all_rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut().chain(&mut self.to_self).chain(self.by_ranks.iter_mut().flat_map(|(_, rows)| rows))
    }

    /// Returns the link with other resources that its messages occupy.
    pub fn occupying(self, occupancy: Occupancy) -> Self {
        Link { occupancy, ..self }
    }

    /// Returns the link with other costs of its protocol: connection set-up, eager buffers and copies.
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Link { protocol, ..self }
    }

    /// Returns the link with another contention model.
    pub fn with_law(self, contention: Contention) -> Self {
        Link { contention, ..self }
    }

    /// Reduces the bandwidth of messages to at most `most`.
    pub fn limit_bandwidth(&mut self, most: Bandwidth) {
        self.all_rows_mut().for_each(|row| row.bandwidth = row.bandwidth.min(most));
    }

    /// Returns the link without gaps between messages.
    pub fn without_gaps(self) -> Self {
        self.with_rows(|row| row.gap = SimSpan::ZERO)
    }

    /// Returns the link with changed rows, also those for other numbers of ranks per node.
    pub fn with_rows(mut self, change: impl Fn(&mut Row)) -> Self {
        self.all_rows_mut().for_each(change);
        self
    }

    /// Returns the link with another time of a control message.
    pub fn with_handshake(self, handshake: SimSpan) -> Self {
        Link { handshake, ..self }
    }

    /// Returns the link with `span` added to the latency of every message, including control messages.
    pub fn with_added_latency(self, span: SimSpan) -> Self {
        self.with_latencies(|latency| latency + span)
    }

    /// Returns the link with changed latencies of all messages, including control messages.
    pub fn with_latencies(mut self, change: impl Fn(SimSpan) -> SimSpan) -> Self {
        for row in self.all_rows_mut() {
            row.latency = change(row.latency);
            row.columns.iter_mut().for_each(|column| column.latency = change(column.latency));
        }
        self.handshake = change(self.handshake);
        self
    }

    /// Returns the costs of a message in addition to its transfer.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the resources that messages occupy, under [`Contention::Fair`].
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// Returns the contention model.
    pub fn contention(&self) -> Contention {
        self.contention
    }

    /// Returns the greatest message size that is sent eagerly.
    pub fn eager_threshold(&self) -> Bytes {
        self.eager_threshold
    }

    /// Returns the time of a control message of a rendezvous.
    pub fn handshake(&self) -> SimSpan {
        self.handshake
    }

    /// Returns all rows, smallest sizes first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the row of messages of `size`.
    #[inline]
    pub fn row(&self, size: Bytes) -> &Row {
        &self.rows[self.index(size)]
    }

    /// Returns the row of messages of `size` that a rank sends to itself; `None` if it is that of other messages.
    #[inline]
    pub fn row_to_self(&self, size: Bytes) -> Option<&Row> {
        self.to_self.get(self.index(size))
    }

    #[inline(always)]
    fn index(&self, size: Bytes) -> usize {
        let bits = (64 - size.get().leading_zeros()) as usize;
        let mut index = usize::from(self.first_row[bits]);
        while size > self.rows[index].up_to {
            index += 1;
        }
        index
    }

    /// Returns the least latency of any row and load, and of a control message, because a synchronous send of any size
    /// needs a control message.
    pub fn least_latency(&self) -> SimSpan {
        let rows = self.all_rows().flat_map(|row| row.columns.iter().map(|column| column.latency).chain([row.latency]));
        rows.min().expect("a link has rows").min(self.handshake)
    }
}

/// Returns the rows of messages that a rank sends to itself, which are copied once; empty if all messages are.
fn rows_to_self(rows: &[Row]) -> Vec<Row> {
    match rows.iter().any(|row| row.copy_count > 1) {
        true => rows.iter().map(Row::copied_once).collect(),
        false => Vec::new(),
    }
}

impl Default for Row {
    /// Creates a row for all sizes whose messages take no time.
    fn default() -> Self {
        Row {
            above: Bytes::ZERO,
            up_to: Bytes::MAX,
            latency: SimSpan::ZERO,
            bandwidth: Bandwidth::MAX,
            send_overhead: SimSpan::ZERO,
            recv_overhead: SimSpan::ZERO,
            send_bandwidth: None,
            recv_bandwidth: None,
            gap: SimSpan::ZERO,
            copy_bandwidth: None,
            copy_count: 1,
            columns: Vec::new(),
        }
    }
}

impl Row {
    /// Returns the core time of the sender for a message of `size`.
    #[inline]
    pub fn sending(&self, size: Bytes) -> SimSpan {
        handled(self.send_overhead, self.send_bandwidth, size)
    }

    /// Returns the core time of the receiver for a message of `size`.
    #[inline]
    pub fn receiving(&self, size: Bytes) -> SimSpan {
        handled(self.recv_overhead, self.recv_bandwidth, size)
    }

    /// Returns the time in which a core copies a message of `size`, under [`Contention::Fair`].
    #[inline]
    pub fn copy(&self, size: Bytes) -> SimSpan {
        self.copy_bandwidth.unwrap_or(self.bandwidth).span(size, 1)
    }

    /// Returns the latency under `load` ≥ 1.
    ///
    /// The latency is interpolated linearly between measured loads, and constant beyond the last load.
    #[inline]
    pub fn latency_under(&self, contention: Contention, load: u32) -> SimSpan {
        match contention {
            Contention::Measured => self.interpolate(load, |column| column.latency.as_ps() as f64, |last, _| last),
            Contention::Ideal | Contention::Share | Contention::Queue | Contention::Fair => self.latency,
        }
    }

    /// Returns the transfer time of the bytes under `load` ≥ 1, without latency: the second term of eq. 3 in the paper.
    ///
    /// The time is interpolated linearly between measured loads. Beyond the last measured load, the total bandwidth of
    /// the last load is divided among all transfers.
    #[inline]
    pub fn bytes_under(&self, contention: Contention, load: u32, size: Bytes) -> SimSpan {
        match contention {
            Contention::Ideal | Contention::Queue | Contention::Fair => self.bandwidth.span(size, 1),
            Contention::Share => self.bandwidth.span(size, load),
            Contention::Measured => self.interpolate(
                load,
                |column| column.bandwidth.span(size, 1).as_ps() as f64,
                |last, ratio| last * ratio,
            ),
        }
    }

    /// Returns the costs of the same messages with a single copy, by which a rank sends a message to itself.
    fn copied_once(&self) -> Row {
        let count = u64::from(self.copy_count);
        let faster = |rate: Bandwidth| Bandwidth::new(rate.get().saturating_mul(count)).unwrap_or(rate);
        let copy_bandwidth = self.copy_bandwidth.map(faster);
        Row { bandwidth: faster(self.bandwidth), copy_bandwidth, copy_count: 1, ..self.clone() }
    }

    /// Returns the row between this row, at `part` 0, and `other`, at `part` 1.
    fn between(&self, other: &Row, part: f64) -> Row {
        let span = |from: SimSpan, to: SimSpan| {
            let [from, to] = [from, to].map(|span| span.as_ps() as f64);
            SimSpan::from_ps((from + part * (to - from)).round() as u64)
        };
        Row {
            latency: span(self.latency, other.latency),
            send_overhead: span(self.send_overhead, other.send_overhead),
            recv_overhead: span(self.recv_overhead, other.recv_overhead),
            gap: span(self.gap, other.gap),
            ..self.clone()
        }
    }

    fn interpolate(&self, load: u32, value: impl Fn(&LoadColumn) -> f64, beyond: impl Fn(f64, f64) -> f64) -> SimSpan {
        let after = self.columns.partition_point(|column| column.load < load);
        let ps = match (after.checked_sub(1).map(|i| &self.columns[i]), self.columns.get(after)) {
            (_, Some(exact)) if exact.load == load => value(exact),
            (Some(low), Some(high)) => {
                let part = f64::from(load - low.load) / f64::from(high.load - low.load);
                value(low) + part * (value(high) - value(low))
            }
            (Some(last), None) => beyond(value(last), f64::from(load) / f64::from(last.load)),
            (None, Some(first)) => value(first),
            (None, None) => unreachable!("a measured link has columns in every row"),
        };
        SimSpan::from_ps(ps.round() as u64)
    }
}

#[inline]
fn handled(overhead: SimSpan, bandwidth: Option<Bandwidth>, size: Bytes) -> SimSpan {
    bandwidth.map_or(overhead, |bandwidth| overhead + bandwidth.span(size, 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support;

    fn row(above: u64, up_to: u64) -> Row {
        Row { above: Bytes::new(above), up_to: Bytes::new(up_to), ..test_support::row(100) }
    }

    fn link(ends: &[u64]) -> Link {
        let starts = [0].into_iter().chain(ends.iter().copied());
        let rows = starts.zip(ends.iter().copied().chain([u64::MAX])).map(|(above, up_to)| row(above, up_to)).collect();
        Link::new(Contention::Ideal, Bytes::MAX, SimSpan::ZERO, rows)
    }

    fn column(load: u32, latency_ns: u64, megabytes_per_second: u64) -> LoadColumn {
        LoadColumn {
            load,
            latency: SimSpan::from_ns(latency_ns),
            bandwidth: Bandwidth::new(megabytes_per_second * 1_000_000).unwrap(),
        }
    }

    #[test]
    fn the_upper_border_belongs_to_a_row_and_size_0_to_the_first() {
        let link = link(&[10, 1024]);
        let ends = |size| link.row(Bytes::new(size)).up_to.get();
        assert_eq!([0, 1, 10].map(ends), [10; 3]);
        assert_eq!([11, 1023, 1024].map(ends), [1024; 3]);
        assert_eq!([1025, 1 << 40, u64::MAX].map(ends), [u64::MAX; 3]);
    }

    #[test]
    fn size_0_may_have_a_row_of_its_own() {
        let link = link(&[0, 8]);
        assert_eq!([0, 1, 8, 9].map(|size| link.row(Bytes::new(size)).up_to.get()), [0, 8, 8, u64::MAX]);
    }

    #[test]
    fn bytes_take_longer_under_load_as_the_law_says() {
        // 1000 bytes at 1 GB/s take 1 us.
        let row = row(0, u64::MAX);
        let ns = |contention, load| row.bytes_under(contention, load, Bytes::new(1000)).as_ps() / 1000;
        assert_eq!([1, 2, 7].map(|load| ns(Contention::Ideal, load)), [1000; 3]);
        assert_eq!([1, 2, 7].map(|load| ns(Contention::Queue, load)), [1000; 3]);
        assert_eq!([1, 2, 7].map(|load| ns(Contention::Share, load)), [1000, 2000, 7000]);
        for contention in [Contention::Ideal, Contention::Share, Contention::Queue, Contention::Fair] {
            assert_eq!(row.latency_under(contention, 7), SimSpan::from_ns(100));
        }
    }

    #[test]
    fn measured_costs_are_interpolated_between_loads_and_shared_beyond_them() {
        // 1000 bytes take 1 us alone, 2 us at load 2, 8 us at load 4.
        let row =
            Row { columns: vec![column(1, 100, 1000), column(2, 150, 500), column(4, 300, 125)], ..row(0, u64::MAX) };
        let bytes = |load| row.bytes_under(Contention::Measured, load, Bytes::new(1000)).as_ps() / 1000;
        assert_eq!([1, 2, 3, 4].map(bytes), [1000, 2000, 5000, 8000]);
        // Six transfers share the bandwidth of four transfers: 8 us × 6 / 4.
        assert_eq!([6, 8].map(bytes), [12_000, 16_000]);
        let latency = |load| row.latency_under(Contention::Measured, load).as_ps() / 1000;
        assert_eq!([1, 2, 3, 4, 6, 100].map(latency), [100, 150, 225, 300, 300, 300]);
    }

    #[test]
    fn the_least_latency_is_that_of_any_row_load_or_control_message() {
        let rows = |latency| {
            let measured = Row { columns: vec![column(1, 90, 1), column(2, latency, 1)], ..row(8, u64::MAX) };
            vec![row(0, 8), measured]
        };
        let least = |handshake, latency| {
            Link::new(Contention::Measured, Bytes::MAX, SimSpan::from_ns(handshake), rows(latency)).least_latency()
        };
        assert_eq!(least(100, 95), SimSpan::from_ns(90));
        assert_eq!(least(100, 70), SimSpan::from_ns(70));
        assert_eq!(least(60, 70), SimSpan::from_ns(60));
    }

    proptest! {
        #[test]
        fn a_row_is_the_one_a_linear_scan_finds(
            ends in prop::collection::btree_set(prop_oneof![0u64..100, any::<u64>()], 0..20), any_size: u64, shift in 0u32..64,
        ) {
            let ends: Vec<u64> = ends.into_iter().filter(|end| *end < u64::MAX).collect();
            let link = link(&ends);
            let borders = ends.iter().flat_map(|end| [end.saturating_sub(1), *end, end + 1]);
            for size in borders.chain([0, 1, any_size >> shift, u64::MAX]) {
                let first_that_holds_it = ends.iter().copied().find(|end| size <= *end).unwrap_or(u64::MAX);
                prop_assert_eq!(link.row(Bytes::new(size)).up_to.get(), first_that_holds_it);
            }
        }
    }
}
