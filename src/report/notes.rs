//! Notes on a prediction, and the host resources that the run used.

use std::collections::BTreeMap;

use crate::engine::{HostTime, Outcome};
use crate::platform::UnreadKeys;
use crate::profile::{HostNoise, UnreceivedMessage};
use crate::units::{Bandwidth, Bytes};

use super::headline::{clip, cores, lines, plural};
use super::numbers::{count, percent, rate, share, volume};
use super::table::{Align, Table};

/// Fraction of the traffic above which a difference between shares of traffic causes a note.
const MUCH: f64 = 0.25;

/// Maximum number of notes on statements of the application that create MPI requests without a wait.
const MOST_UNWAITED: usize = 5;

/// Part of the predicted waiting above which a note names noise of the host.
const NOISY: f64 = 0.1;

/// Returns a note on the scatter of the times of equal blocks of code.
fn noise_note(noise: &HostNoise) -> String {
    let of = noise.sites.first().map_or_else(String::new, |site| {
        let call = if site.site.is_empty() { "a call".to_owned() } else { clip(&site.site, 30) };
        format!(
            ": times of equal blocks before {call} vary by {}, and the means of the ranks by {} (standard deviations)",
            percent(site.scatter),
            percent(site.imbalance)
        )
    });
    format!("note: noise of the host may cause {} of the predicted waiting{of}", percent(noise.waiting))
}

/// Returns the notes on a prediction, one line per note; empty without notes.
pub(super) fn notes(outcome: &Outcome) -> String {
    let mut notes = String::new();
    if let Some(processor) = &outcome.host.stands_for_target {
        let words = format!(
            "note: computing was timed on this host ({}), and the machine states no scale_factor in [core]: target \
             cores are taken to be as fast",
            clip(processor, 50)
        );
        notes.push_str(&wrapped(&words));
    }
    if let Some(noise) = outcome.host.noise.as_ref().filter(|noise| noise.waiting > NOISY) {
        notes.push_str(&wrapped(&noise_note(noise)));
    }
    if outcome.unreceived > 0 {
        let were = if outcome.unreceived == 1 { "was" } else { "were" };
        let sent = plural(outcome.unreceived, "message");
        let first: Vec<String> = outcome.first_unreceived.iter().map(unreceived).collect();
        let told = if first.is_empty() { String::new() } else { format!(": {}", first.join("; ")) };
        let more = if outcome.unreceived > first.len() as u64 && !first.is_empty() { "; …" } else { "" };
        notes.push_str(&wrapped(&format!("note: {sent} {were} sent but never received{told}{more}")));
    }
    for requests in outcome.unwaited.iter().take(MOST_UNWAITED) {
        let ended = match requests.ranks {
            1 => "1 rank ended".to_owned(),
            ranks => format!("{} ranks ended", count(ranks)),
        };
        let name = requests.name.as_ref().map_or(String::new(), |name| format!(" \"{}\"", clip(name, 30)));
        let (requests, site) = (plural(requests.count, "request"), &requests.site);
        notes.push_str(&wrapped(&format!("note: {ended} without waiting for {requests}{name} of {site}")));
    }
    if let Some(more) = outcome.unwaited.len().checked_sub(MOST_UNWAITED).filter(|&more| more > 0) {
        notes.push_str(&format!(
            "  note: ranks did not wait for requests of {} either\n",
            plural(
                more as u64,
                "other \
             statement"
            )
        ));
    }
    if let Some(most) = ranks_on_a_core(outcome) {
        let (ranks, cores) = (plural(u64::from(outcome.ranks), "rank"), plural(cores(outcome), "core"));
        let threads = match outcome.threads {
            1 => String::new(),
            threads => format!(" of {threads} threads"),
        };
        let oversubscribed = if most > u64::from(outcome.threads) { "oversubscribed, " } else { "" };
        notes.push_str(&format!(
            "  note: {oversubscribed}{ranks} on {cores}{threads}, up to {} ranks per \
             core\n",
            count(most)
        ));
    }
    for changed in outcome.shares_changed.iter().filter(|changed| changed.part >= MUCH) {
        let (level, part) = (changed.level.name(), percent(changed.part));
        let words = format!(
            "note: for {part} of the bytes at level {level}, the share of the bandwidth changed during the \
             transfer, but the contention model of [{level}] sets shares only at the start; contention = \"fair\" \
             follows the changes"
        );
        notes.push_str(&wrapped(&words));
    }
    for narrow in &outcome.narrow_uplinks {
        let [uplink, message] = [narrow.uplink_bytes_per_s, narrow.message_bytes_per_s]
            .map(|rate| Bandwidth::new(rate).map_or(String::new(), |rate| rate.to_string()));
        let words = format!(
            "note: an uplink of places.{} has {uplink}, less than the {message} of one message between nodes",
            narrow.place
        );
        notes.push_str(&wrapped(&words));
    }
    if let Some(traffic) = outcome.links.as_ref().map(|links| links.traffic)
        && traffic.short_messages as f64 >= MUCH * traffic.messages as f64
        && traffic.short_messages > 0
    {
        let part = percent(share(traffic.short_bytes as f64, traffic.bytes as f64));
        let words = format!(
            "note: {} of {} between switches are short (at most {}, {part} of the bytes): they queue at adapters and \
             occupy no link, so links seem less used than they are, and do not delay them",
            count(traffic.short_messages),
            plural(traffic.messages, "message"),
            Bytes::new(traffic.longest_short_bytes)
        );
        notes.push_str(&wrapped(&words));
    }
    for UnreadKeys { table, keys } in &outcome.unread_keys {
        let place = if matches!(table.as_str(), "cmp" | "node") { " within a node" } else { "" };
        let model = if keys.iter().all(|key| key == "loads") { "measured" } else { "fair" };
        let words = format!(
            "note: the platform states {} in [{table}], which has an effect only with contention = \
                     \"{model}\"{place}",
            keys.join(", ")
        );
        notes.push_str(&wrapped(&words));
    }
    notes
}

/// Describes a message that no rank received, such as "rank 0 to 1, tag 7, 8 B, by isend at ring.toml:7".
fn unreceived(message: &UnreceivedMessage) -> String {
    let UnreceivedMessage { from, to, tag, bytes, site, .. } = message;
    let by = site.as_ref().map_or(String::new(), |site| format!(", by {site}"));
    format!("from rank {from} to rank {to}, tag {tag}, {}{by}", Bytes::new(*bytes))
}

/// Wraps a note to lines of at most 80 columns.
fn wrapped(words: &str) -> String {
    format!("  {}\n", lines(words, 78, 76).join("\n    "))
}

/// Returns the greatest number of ranks that share a core; `None` if no ranks share a core.
fn ranks_on_a_core(outcome: &Outcome) -> Option<u64> {
    let mut on_core: BTreeMap<_, u64> = BTreeMap::new();
    for rank in &outcome.per_rank {
        *on_core.entry((rank.node, rank.cmp, rank.core)).or_default() += 1;
    }
    let listed = on_core.into_values().max();
    let most = listed.unwrap_or_else(|| u64::from(outcome.ranks).div_ceil(cores(outcome).max(1)));
    (most > 1).then_some(most)
}

/// Returns the text line about the host: duration of the simulation, its speed, and the number of worker threads.
pub(super) fn host(outcome: &Outcome) -> String {
    let host = &outcome.host;
    let mut parts = Vec::new();
    if host.wall_s.is_finite() && host.wall_s >= 0.0 {
        parts.push(format!("{} s", seconds(host.wall_s)));
    }
    if outcome.messages.count > 0 && host.messages_per_s.is_finite() {
        parts.push(rate(host.messages_per_s, "messages"));
    }
    parts.push(plural(u64::from(host.workers.max(1)), "worker"));
    if host.processes > 1 {
        parts.push(format!("{} processes", count(u64::from(host.processes))));
    }
    if let Some(ranks_as) = &host.ranks_as {
        let library = host.mpi_library.as_ref().map_or(String::new(), |name| format!(" of {name}"));
        parts.push(format!("ranks as {ranks_as}{library}"));
    }
    if host.peak_rss_bytes > 0 {
        parts.push(format!("{} memory", volume(host.peak_rss_bytes)));
    }
    format!("  host: {}\n", parts.join(", "))
}

/// Returns a table that shows how the worker threads used host time; empty without `--host-profile`.
pub(super) fn host_profile(outcome: &Outcome) -> String {
    let profile = &outcome.host.profile;
    if profile.is_empty() {
        return String::new();
    }
    let headings = ["worker", "process", "windows", "code", "exchange", "idle"].map(|name| (name, Align::Right));
    let mut table = Table::new(&headings);
    let parts = |time: &HostTime| [time.windows, time.code, time.exchange, time.idle];
    let shares = |parts: [u64; 4]| {
        let all: u64 = parts.iter().sum();
        parts.map(|part| percent(share(part as f64, all as f64)))
    };
    for time in profile {
        table.row([count(time.worker.into()), count(time.process.into())].into_iter().chain(shares(parts(time))));
    }
    let mut sum = [0; 4];
    profile.iter().for_each(|time| sum.iter_mut().zip(parts(time)).for_each(|(sum, part)| *sum += part));
    table.row(["all".to_owned(), String::new()].into_iter().chain(shares(sum)));
    table.render()
}

fn seconds(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.2}") } else { format!("{seconds:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Level;
    use crate::platform::NarrowUplink;
    use crate::profile::{LinkTraffic, NetworkUse, SharesChanged, SiteScatter, UnwaitedRequests};
    use crate::report::samples::{busy, huge};
    use crate::units::SimTime;

    #[test]
    fn unreceived_messages_and_shared_cores_are_noted() {
        let mut outcome = busy();
        assert_eq!(notes(&outcome), "");
        outcome.unreceived = 1;
        outcome.per_rank[1].core = outcome.per_rank[0].core;
        assert_eq!(
            notes(&outcome),
            "  note: 1 message was sent but never received\n  note: oversubscribed, 16 ranks on 16 cores, up to 2 \
             ranks per core\n"
        );
        let message = UnreceivedMessage {
            left: SimTime::ZERO,
            from: 0,
            to: 1,
            tag: 7,
            bytes: 2048,
            site: Some("isend at ring.toml:7".to_owned()),
        };
        let outcome = Outcome { unreceived: 3, first_unreceived: vec![message; 2], ..busy() };
        assert_eq!(
            notes(&outcome),
            "  note: 3 messages were sent but never received: from rank 0 to rank 1, tag 7, 2\n    \
             KiB, by isend at ring.toml:7; from rank 0 to rank 1, tag 7, 2 KiB, by isend\n    at ring.toml:7; …\n"
        );
        let mut outcome = huge();
        outcome.ranks *= 2;
        assert!(
            notes(&outcome).contains("2,097,152 ranks on 1,048,576 cores, up to 2 ranks per core"),
            "{}",
            notes(&outcome)
        );
    }

    #[test]
    fn a_host_core_that_stands_for_a_target_core_is_named() {
        let mut outcome = busy();
        outcome.host.stands_for_target = Some("AMD EPYC 7763 64-Core Processor".to_owned());
        assert_eq!(
            notes(&outcome),
            "  note: computing was timed on this host (AMD EPYC 7763 64-Core Processor), and\n    the machine states no \
             scale_factor in [core]: target cores are taken to be\n    as fast\n"
        );
    }

    #[test]
    fn requests_that_nobody_waited_for_are_told_by_statement() {
        let requests = |name: Option<&str>, ranks| UnwaitedRequests {
            site: "irecv at ring.toml:6".to_owned(),
            name: name.map(str::to_owned),
            count: 16,
            ranks,
        };
        let of = |unwaited| notes(&Outcome { unwaited, ..busy() });
        assert_eq!(
            of(vec![requests(Some("in"), 1), requests(None, 8)]),
            "  note: 1 rank ended without waiting for 16 requests \"in\" of irecv at\n    ring.toml:6\n  \
             note: 8 ranks ended without waiting for 16 requests of irecv at ring.toml:6\n"
        );
        let many = of(vec![requests(None, 1); 7]);
        assert!(many.ends_with("  note: ranks did not wait for requests of 2 other statements either\n"), "{many}");
    }

    #[test]
    fn shares_that_changed_for_much_of_the_traffic_are_noted() {
        let changed = |part| SharesChanged { level: Level::InterNode, part };
        let of = |part| notes(&Outcome { shares_changed: vec![changed(part)], ..busy() });
        assert_eq!(of(0.24), "");
        assert_eq!(
            of(0.5),
            "  note: for 50.0% of the bytes at level inter_node, the share of the bandwidth\n    \
             changed during the transfer, but the contention model of [inter_node] sets\n    \
             shares only at the start; contention = \"fair\" follows the changes\n"
        );
    }

    #[test]
    fn keys_that_nothing_reads_are_named_with_their_table() {
        let mut outcome = busy();
        let of = |table: &str, keys: &[&str]| UnreadKeys {
            table: table.to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        };
        outcome.unread_keys = vec![of("intra_cmp", &["loads"])];
        assert_eq!(
            notes(&outcome),
            "  note: the platform states loads in [intra_cmp], which has an effect only with\n    \
             contention = \"measured\"\n"
        );
        outcome.unread_keys =
            vec![of("inter_node", &["capacity", "duplex"]), of("cmp", &["cache", "copy_bandwidth", "copy_traffic"])];
        assert_eq!(
            notes(&outcome),
            "  note: the platform states capacity, duplex in [inter_node], which has an\n    effect only with contention = \"fair\"\n  \
             note: the platform states cache, copy_bandwidth, copy_traffic in [cmp], which\n    has an effect only with contention = \"fair\" within a node\n"
        );
    }

    #[test]
    fn short_messages_that_occupy_no_link_are_noted() {
        let mut outcome = busy();
        let traffic = LinkTraffic {
            messages: 4000,
            bytes: 1_000_000,
            short_messages: 999,
            short_bytes: 250_000,
            longest_short_bytes: 256,
        };
        let mut links = NetworkUse { traffic, layers: Vec::new(), busiest: Vec::new() };
        outcome.links = Some(links.clone());
        assert_eq!(notes(&outcome), "");
        links.traffic.short_messages = 1000;
        outcome.links = Some(links);
        assert_eq!(
            notes(&outcome),
            "  note: 1,000 of 4,000 messages between switches are short (at most 256 B, 25.0%\n    \
             of the bytes): they queue at adapters and occupy no link, so links seem less\n    \
             used than they are, and do not delay them\n"
        );
    }

    #[test]
    fn an_uplink_slower_than_a_message_is_noted() {
        let mut outcome = busy();
        outcome.narrow_uplinks = vec![NarrowUplink {
            place: "leaf".to_owned(),
            uplink_bytes_per_s: 5_000_000_000,
            message_bytes_per_s: 12_500_000_000,
        }];
        assert_eq!(
            notes(&outcome),
            "  note: an uplink of places.leaf has 5.000 GB/s, less than the 12.50 GB/s of one\n    \
             message between nodes\n"
        );
    }

    #[test]
    fn the_host_line_leaves_out_what_is_not_known() {
        let mut outcome = busy();
        outcome.host = Default::default();
        outcome.host.messages_per_s = f64::NAN;
        assert_eq!(host(&outcome), "  host: 0.00 s, 1 worker\n");
        outcome.host.processes = 8;
        assert_eq!(host(&outcome), "  host: 0.00 s, 1 worker, 8 processes\n");
        outcome.host.ranks_as = Some("processes".to_owned());
        outcome.host.mpi_library = Some("MPICH".to_owned());
        assert_eq!(host(&outcome), "  host: 0.00 s, 1 worker, 8 processes, ranks as processes of MPICH\n");
    }

    #[test]
    fn waiting_that_may_be_noise_is_noted() {
        let mut outcome = busy();
        let site = SiteScatter {
            site: "MPI_Allreduce".to_owned(),
            blocks: 20.0,
            mean_s: 1e-3,
            scatter: 0.31,
            imbalance: 0.02,
            waiting_s: 5e-3,
        };
        outcome.host.noise = Some(HostNoise { waiting: 0.1, sites: vec![site] });
        assert!(!notes(&outcome).contains("noise"));
        outcome.host.noise.as_mut().unwrap().waiting = 0.68;
        let words = notes(&outcome).split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "note: noise of the host may cause 68.0% of the predicted waiting: times of equal blocks before \
                        MPI_Allreduce vary by 31.0%, and the means of the ranks by 2.0% (standard deviations)";
        assert!(words.contains(expected), "{words}");
    }
}
