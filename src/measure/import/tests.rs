//! Tests of imports: benchmark output in the formats of both suites from machines of known costs, and invalid files.

use mcpsim_core::config::Override;
use mcpsim_core::platform::{Contention, Level, Platform, Shape};
use mcpsim_core::units::{Bandwidth, SimSpan};

use super::table::Benchmark;

mod forms;
use super::*;

/// Column names of IMB's barrier.
const BARRIER: &str = "#repetitions t_min[usec] t_max[usec] t_avg[usec]";

const SIZES: [u64; 9] = [1, 8, 64, 128, 1024, 8192, 65536, 262_144, 4_194_304];

/// Returns the output of osu_latency on a link of 1 us and 10 GB/s.
fn latency() -> String {
    let mut text = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0 1.00\n".to_owned();
    SIZES.iter().for_each(|size| text += &format!("{size} {:.5}\n", 1.0 + *size as f64 * 1e-4));
    text
}

/// Returns the rate in MB/s of a window of 64 messages with 100 ns of core time per message, on a wire of `wire` MB/s.
/// The start and the answer of a window take 1 us each.
fn rate(size: u64, wire: f64) -> f64 {
    let alone = 1.0 + size as f64 * 1e-4;
    let each = (0.1f64).max(size as f64 / wire);
    64.0 * size as f64 / (63.0 * each + alone + 1.0)
}

fn bandwidth(title: &str, wire: f64) -> String {
    let mut text = format!("# OSU MPI {title} v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n");
    SIZES.iter().for_each(|size| text += &format!("{size} {:.4}\n", rate(*size, wire)));
    text
}

/// Returns the benchmark output for 16 pairs with 20 ns per message, or 50 ns for messages above 64 B.
fn pairs() -> String {
    let head = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n# [ pairs: 16 ] [ window size: 64 ]\n# Size MB/s Messages/s\n";
    let mut text = head.to_owned();
    for size in SIZES {
        let each = if size <= 64 { 20e-9 } else { 50e-9 } + size as f64 / 12e9;
        text += &format!("{size} {:.2} {:.2}\n", size as f64 / each * 1e-6, 1.0 / each);
    }
    text
}

/// Returns a section of IMB output for each number of processes.
fn imb(test: &str, processes: &[u32], rows: &str) -> String {
    let mut text =
        "#    Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part    \n# Maximum message length in bytes:   1024\n"
            .to_owned();
    let columns = if test == "PingPong" {
        "#bytes #repetitions t[usec] Mbytes/sec"
    } else {
        "#bytes #repetitions Mbytes/sec Msg/sec"
    };
    for count in processes {
        text += &format!("#-----\n# Benchmarking {test} \n# #processes = {count} \n#-----\n {columns}\n{rows}\n");
    }
    text + "\n# All processes entering MPI_Finalize\n"
}

fn import(files: &[(&str, String)]) -> Import {
    let files = files.iter().map(|(part, text)| (ImportPart::parse(part).unwrap(), text.clone())).collect();
    let shape = Some(Shape { nodes: 2, cmps: 1, cores: 1 });
    Import {
        name: "m".into(),
        made: "Made by a test.".into(),
        shape,
        eager: Vec::new(),
        windows: WindowSizes::All,
        files,
        base: None,
    }
}

fn tables(name: &str, text: &str) -> Vec<table::BenchmarkTable> {
    BenchmarkOutput::read(name, text).unwrap().tables
}

fn error(import: &Import) -> String {
    import.platform().unwrap_err().to_string()
}

#[test]
fn what_was_put_in_comes_out() {
    let files = [
        ("inter_node=lat", latency()),
        ("inter_node=bw", bandwidth("Bandwidth Test", 12_000.0)),
        ("inter_node=bibw", bandwidth("Bi-Directional Bandwidth Test", 18_000.0)),
        ("inter_node=mr", pairs()),
    ];
    let import = Import { eager: vec![(Level::InterNode, 8192)], ..import(&files) };
    let text = import.platform().unwrap().text;
    let platform = test_support::load(&text, &[]);
    let link = platform.link(Level::InterNode);
    assert_eq!(link.eager_threshold(), Bytes::new(8192));
    for (size, gap) in [(8, 20_000u64), (128, 50_000), (8192, 50_000)] {
        let row = link.row(Bytes::new(size));
        assert!((row.gap.as_ps() as f64 / gap as f64 - 1.0).abs() < 0.001, "{text}");
        assert_eq!((row.send_overhead, row.recv_overhead), (row.recv_overhead, row.send_overhead));
        assert!((row.send_overhead.as_ps() as f64 / 100_000.0 - 1.0).abs() < 0.01, "{text}");
        // A message takes 1 us in total, including 200 ns of overheads, plus two control messages above the eager
        // threshold.
        let control = if size > 8192 { 2 * link.handshake().as_ps() } else { 0 };
        let start = row.latency.as_ps() + 2 * row.send_overhead.as_ps() + control;
        assert!((start as f64 / 1e6 - 1.0).abs() < 0.01, "{text}");
        assert!((row.bandwidth.get() as f64 / 10e9 - 1.0).abs() < 0.01, "{text}");
    }
    assert_eq!(link.contention(), Contention::Fair);
    let rate = |found: Option<Bandwidth>| found.unwrap().get() as f64 / 1e9;
    let found = link.occupancy();
    assert!(
        (rate(found.capacity) / 12.0 - 1.0).abs() < 1e-3 && (rate(found.duplex) / 18.0 - 1.0).abs() < 0.03,
        "{text}"
    );
    let said = "# bibw: osu_bibw 7.4, 2 processes, 9 sizes up to 4194304 B\n";
    assert!(text.contains(said) && text.starts_with("# Made by a test.\n"), "{text}");
}

/// Returns the rates in MB/s of windows of 64 messages that take `each` seconds, on the machine of [`latency`].
fn windows(each: impl Fn(f64) -> f64) -> String {
    let mut text = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n".to_owned();
    for size in SIZES {
        let bytes = size as f64;
        let all = 63.0 * each(bytes) + 2e-6 + bytes * 1e-10;
        text += &format!("{size} {:.4}\n", 64e-6 * bytes / all);
    }
    text
}

#[test]
fn windows_of_all_sizes_say_what_a_message_costs_its_cores() {
    // A message takes 100 ns and 0.1 ns per byte up to 1 KiB; above 1 KiB the wire of 12 GB/s is the limit.
    let each = |bytes: f64| if bytes <= 1024.0 { 100e-9 + bytes * 1e-10 } else { bytes / 12e9 };
    let files = [("inter_node=lat", latency()), ("inter_node=bw", windows(each))];
    let overheads = |windows| {
        let text = Import { windows, ..import(&files) }.platform().unwrap().text;
        let platform = test_support::load(&text, &[]);
        [8, 64, 128, 1024, 8192].map(|size| {
            let row = platform.link(Level::InterNode).row(Bytes::new(size));
            let start = row.latency.as_ps() + 2 * row.send_overhead.as_ps();
            assert!(
                (start as f64 / 1e6 - 1.0).abs() < 0.01 || size > 1024,
                "a message alone takes what it took: {text}"
            );
            (row.send_overhead.as_ps() as f64 / 1000.0).round() as u64
        })
    };
    // The times of 8 B and of 1 B differ by less than 5 %, so both sizes form one step of the cost function.
    assert_eq!(overheads(WindowSizes::All), [100, 106, 113, 202, 113]);
    assert_eq!(overheads(WindowSizes::Few), [101, 101, 113, 113, 113]);
}

#[test]
fn within_a_node_windows_of_all_sizes_say_what_copies_cost() {
    // A core takes 120 ns per message, and the core copies data at 4 GB/s up to 8 KiB and at 8 GB/s above.
    let each = |bytes: f64| (120e-9f64).max(bytes / if bytes <= 8192.0 { 4e9 } else { 8e9 });
    let alone = |size: u64| 0.6 + size as f64 * if size <= 8192 { 3e-4 } else { 1.5e-4 };
    let mut latency = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0 0.60\n".to_owned();
    SIZES.iter().for_each(|size| latency += &format!("{size} {:.5}\n", alone(*size)));
    let mut rates = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n".to_owned();
    for size in SIZES {
        let all = 63.0 * each(size as f64) * 1e6 + alone(size) + 0.6;
        rates += &format!("{size} {:.4}\n", 64.0 * size as f64 / all);
    }
    let files = [("intra_cmp=lat", latency), ("intra_cmp=bw", rates)];
    let shape = Some(Shape { nodes: 1, cmps: 1, cores: 2 });
    let eager = vec![(Level::IntraCmp, 8192)];
    let text = Import { shape, eager, ..import(&files) }.platform().unwrap().text;
    let platform = test_support::load(&text, &[]);
    let link = platform.link(Level::IntraCmp);
    for size in [8, 128, 1024, 8192, 65536, 262_144, 4_194_304] {
        let row = link.row(Bytes::new(size));
        let copy = size as f64 / row.copy_bandwidth.unwrap_or(row.bandwidth).get() as f64;
        let seconds = |span: mcpsim_core::units::SimSpan| span.as_ps() as f64 * 1e-12;
        let slowest = seconds(row.send_overhead).max(seconds(row.recv_overhead)).max(copy);
        let off = slowest / each(size as f64) - 1.0;
        assert!(off.abs() < 0.06, "{size} B: {off:+.3}\n{text}");
    }
}

#[test]
fn what_both_ways_take_beyond_sends_and_receives_is_posting() {
    // A core takes 100 ns per send and 100 ns per receive, and `each` seconds for a message in each direction.
    let platform = |each: f64| {
        let mut both = "# OSU MPI Bi-Directional Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n".to_owned();
        SIZES.iter().for_each(|size| both += &format!("{size} {:.6}\n", 2.0 * *size as f64 / each));
        let files = [
            ("inter_node=lat", latency()),
            ("inter_node=bw", bandwidth("Bandwidth Test", 12e3)),
            ("inter_node=b", both),
        ];
        let mut base = Platform::default_document();
        let core = base.table_mut()["core"].as_table_mut().unwrap();
        core.insert("in_cache".into(), toml::from_str::<toml::Value>("memory_bandwidth = \"20 GB/s\"").unwrap());
        let imported = Import { base: Some(base), ..import(&files) }.platform().unwrap();
        let found = test_support::load(&imported.text, &[]);
        assert!(found.core.in_cache.is_some(), "{}", imported.text);
        let told = imported.keys.iter().any(|key| key.table == "core" && key.keys == "post_overhead" && !key.assumed);
        assert_eq!(told, imported.text.contains("# post_overhead: windows both ways of one pair, 8 and 128 B"));
        (found.core.post_overhead.as_ps(), told)
    };
    let (posting, told) = platform(225e-3);
    assert!(told && posting.abs_diff(25_000) < 1000, "{posting}");
    assert_eq!(platform(150e-3), (0, false), "its directions are faster together than each by itself");
}

#[test]
fn small_messages_both_ways_tell_whether_directions_share_a_gap() {
    let with = |nanoseconds: f64| {
        let rate = 1e9 / nanoseconds;
        let many =
            imb("Biband", &[32], &format!("0 1000 0.00 {rate:.0}\n8 1000 1.00 {rate:.0}\n1024 1000 1.00 1000000"));
        let files = [
            ("inter_node=lat", latency()),
            ("inter_node=bw", bandwidth("Bandwidth Test", 12_000.0)),
            ("inter_node=bibw", bandwidth("Bi-Directional Bandwidth Test", 18_000.0)),
            ("inter_node=mr", pairs()),
            ("inter_node=both", many),
        ];
        let text = import(&files).platform().unwrap().text;
        let platform = test_support::load(&text, &[]);
        let found = platform.link(Level::InterNode).occupancy().clone();
        (found.duplex_gap.map(|gap| (gap.as_ps() as f64 / 100.0).round() / 10.0), text)
    };
    // The gap of a message in one direction is 20 ns, and the bytes take 8 B / 18 GB/s.
    let bytes = 8.0 / 18.0;
    let (found, text) = with(15.0 + bytes);
    assert_eq!(found, Some(15.0), "{text}");
    assert_eq!(with(25.0 + bytes).0, Some(20.0), "no more than one way");
    let (found, text) = with(10.0 + bytes);
    assert_eq!(found, None);
    assert!(text.contains("# duplex_gap: 16 pairs both ways send twice as many as one way"), "{text}");
}

#[test]
fn tables_are_read_in_both_forms() {
    let full = "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n1 2.5 2.0 3.0 1000\n";
    let found = tables("f", full);
    assert_eq!((found[0].program.as_str(), found[0].at(1)), ("osu_latency 7.4", Some(2.5e-6)));
    let found = tables("f", &pairs());
    assert_eq!((found[0].processes, found[0].window, found[0].at(8)), (32, 64, Some(48_387_096.77)));
    let uniband = imb("Uniband", &[2, 4], "0 1000 0.00 8144567\n1024 1000 10.24 10000");
    let found = tables("f", &uniband);
    assert_eq!(found.iter().map(|table| table.processes).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((found[1].benchmark, found[1].at(1024)), (Benchmark::OneWay, Some(1e4)));
    // The output of a complete IMB run also contains tests that mcpsim does not read.
    let all =
        imb("Window", &[2], "0 1 2 3 4").replace("# All", "#") + &imb("PingPong", &[2], "0 1 1.5 0\n1024 1 2.5 0");
    let found = tables("f", &all);
    assert_eq!((found.len(), found[0].benchmark, found[0].at(1024)), (1, Benchmark::PingPong, Some(2.5e-6)));
    // Benchmark tables of equal runs are merged to the medians of their values.
    let twice = import(&[("inter_node=a", latency()), ("inter_node=b", latency())]);
    assert!(twice.platform().is_ok());
}

#[test]
fn a_step_of_the_latencies_is_the_eager_threshold() {
    let sizes = (0..23).map(|power| 1_u64 << power);
    let late = |size: u64| if size > 16384 { 1.2 } else { 0.0 };
    let rows = sizes.map(|size| format!("{size} {:.5}\n", 1.0 + size as f64 * 1e-4 + late(size)));
    let text = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0 1.00\n".to_owned();
    let files = [("inter_node=lat", rows.fold(text, |text, row| text + &row))];
    let text = import(&files).platform().unwrap().text;
    let said = "# eager_threshold: the greatest step of the latencies, of 1.200 us above 16384 B (state another one by --eager).";
    assert!(text.replace("\n#   ", " ").contains(said), "{text}");
    let link = test_support::load(&text, &[]).link(Level::InterNode).clone();
    assert_eq!(link.eager_threshold(), Bytes::new(16384));
    // The two control messages of a rendezvous take the height of the step.
    assert!((link.handshake().as_ps() as f64 / 600_000.0 - 1.0).abs() < 0.05, "{text}");
}

#[test]
fn what_no_file_tells_is_said() {
    let text = import(&[("inter_node=lat", latency())]).platform().unwrap().text;
    for line in [
        "# lat: osu_latency 5.6.2, 2 processes, 10 sizes up to 4194304 B",
        "# send_overhead, recv_overhead: NO DATA (windows of one pair at 8 and 128 B). ASSUMED: none.",
        "# gap: NO DATA (windows of many pairs at 8 and 128 B). ASSUMED: none.",
        "# capacity: NO DATA (windows one way of 256 KiB and more). ASSUMED: the slope of a ping-pong at the greatest sizes.",
        "# duplex: NO DATA (windows both ways). ASSUMED: both directions are independent.",
        "# eager_threshold: ASSUMED, the value of the machine \"default\": no imported file has this value.",
        "# handshake: half of the extra start-up time of greater messages, at most the latency of small ones.",
        "# ASSUMED, the value of configs/default.toml: no imported file has this value.",
        "# No ranks of this machine use this level. Values are those of inter_node, so that the file is complete.",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let based =
        Import { base: Some(Platform::default_document()), shape: None, ..import(&[("inter_node=lat", latency())]) };
    let text = based.platform().unwrap().text;
    assert!(text.contains("nct = [16, 2, 16]\n") && text.contains("# nct: ASSUMED: configs/default.toml.\n"), "{text}");
    assert!(
        text.contains("# NO DATA for intra_cmp. ASSUMED: the values of configs/default.toml.\n[intra_cmp]\n"),
        "{text}"
    );
    let found = test_support::load(&text, &[]);
    assert_eq!(found.link(Level::IntraCmp), Platform::embedded().link(Level::IntraCmp));
    let mut base = Platform::default_document();
    let larger = Override::parse("platform.inter_node.eager_threshold=9000").unwrap();
    base.set(&larger.key[1..], &larger).unwrap();
    let based = Import { base: Some(base), ..import(&[("inter_node=lat", latency())]) };
    let text = based.platform().unwrap().text;
    let said = "# eager_threshold: ASSUMED, the value of configs/default.toml: no imported file has this value.";
    assert!(text.lines().any(|line| line == said), "{text}");
    assert_eq!(test_support::load(&text, &[]).link(Level::InterNode).eager_threshold(), Bytes::new(9000));
}

#[test]
fn levels_that_no_file_covers_are_told() {
    let wide = Import { shape: None, ..import(&[("inter_node=lat", latency()), ("inter_node=mr", pairs())]) };
    assert_eq!(
        error(&wide),
        "--import: no file for intra_cmp, which messages cross on 2 nodes of 1 x 16 cores: give --import \
         intra_cmp=FILE, or --base FILE.toml for a platform that stands in (--base default: the built-in one), or a \
         shape without it (--nct)"
    );
    let none = import(&[("inter_node=bw", bandwidth("Bandwidth Test", 1e4))]);
    let expected = "--import: no ping-pong for inter_node: expected a file of osu_latency or IMB PingPong";
    assert_eq!(error(&none), expected);
    let within = import(&[("intra_node=lat", latency())]);
    assert!(error(&within).starts_with("--import: no file for inter_node, which messages cross on 2 nodes"));
}

#[test]
fn foreign_cut_and_mixed_files_are_told() {
    let rows = "0 1 2.0 0.0\n1024 1 3.0 0.0";
    let ping = imb("PingPong", &[2], rows);
    let head = "a: expected the output of osu_latency, osu_bw, osu_bibw, osu_mbw_mr, of IMB's PingPong, Uniband, \
                Biband, or CSV with columns such as bytes,latency_us";
    for (text, expected) in [
        (String::new(), format!("{head}; found \"\"")),
        ("NetPIPE 3.7\n1 2 3\n".to_owned(), format!("{head}; found \"NetPIPE 3.7\"")),
        (
            latency().replace("Latency Test", "Multi-threaded Latency Test"),
            "a:1: OSU MPI Multi-threaded Latency Test v5.6.2 is skipped: it measures neither messages of pairs nor a \
             collective that mcpsim compares"
                .to_owned(),
        ),
        (
            latency()[..latency().len() - 3].to_owned(),
            "a:12: the last line is incomplete: the file is \
                                                       truncated"
                .to_owned(),
        ),
        (
            "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n".to_owned(),
            "a:1: osu_latency 5.6.2 has no results: the file is truncated".to_owned(),
        ),
        (
            latency().replace("64 1.00640", "64"),
            "a:6: expected 2 columns (Size, Latency (us)); found \"64\"".to_owned(),
        ),
        (
            latency().replace("64 1.00640", "64 fast"),
            "a:6: expected a number, not negative, in column \"Latency (us)\"; found \"fast\"".to_owned(),
        ),
        (
            latency().replace("64 1.00640", "4 1.00640"),
            "a:6: expected a size above 8 B, of the row before; found 4 B".to_owned(),
        ),
        (latency().replace("64 1.00640", "64.5 1.00640"), "a:6: expected whole bytes; found 64.5".to_owned()),
        (
            imb("Barrier", &[2], "1000 1.0 2.0 1.5").replace("#bytes #repetitions Mbytes/sec Msg/sec", BARRIER),
            "a: times of barrier are not used: a validation case reads them, mcpsim validate --new DIR --import a"
                .to_owned(),
        ),
        (
            ping.replace("1024 1 3.0 0.0\n", ""),
            "a:4: IMB 2019 Update 5 PingPong of 2 processes: expected sizes up to 1024 B, as its header states; \
             found sizes up to 0 B: the file is truncated"
                .to_owned(),
        ),
        (
            ping.replace("t[usec]", "t_max[usec]"),
            "a:7: expected the columns #bytes #repetitions t[usec] Mbytes/sec; found \"#bytes #repetitions \
             t_max[usec] Mbytes/sec\""
                .to_owned(),
        ),
        (
            ping.replace("# #processes = 2 ", "#"),
            "a:4: expected \"# #processes =\" and an even number in IMB 2019 Update 5 PingPong".to_owned(),
        ),
    ] {
        assert_eq!(error(&import(&[("inter_node=a", text)])), expected);
    }
    let uniband = imb("Uniband", &[2, 4, 64], "1024 1 1.0 1000.0");
    assert_eq!(
        error(&import(&[("inter_node=a", uniband.clone())])),
        "a: expected one number of processes; found 2, 4, 64, whose messages may cross other levels: select one \
         number, as in --import inter_node:64=a"
    );
    assert_eq!(error(&import(&[("inter_node:8=a", uniband)])), "a: expected runs of 8 processes; found 2, 4, 64");
    assert_eq!(
        error(&import(&[("inter_node=a", latency()), ("inter_node=b", ping)])),
        "--import: expected one ping-pong for inter_node; found a (osu_latency 5.6.2, 2 processes) and b (IMB 2019 \
         Update 5 PingPong, 2 processes): leave one out"
    );
}

#[test]
fn parts_name_a_level_and_a_file() {
    let part = ImportPart::parse("intra_node:2,4=a=b.txt").unwrap();
    assert_eq!((part.levels, part.processes), (vec![Level::IntraCmp, Level::InterCmp], vec![2, 4]));
    assert_eq!(part.file, "a=b.txt");
    for (text, expected) in [
        ("a.txt", "LEVEL=FILE or LEVEL:PROCESSES=FILE, such as inter_node=osu_latency.txt"),
        ("inter_node=", "LEVEL=FILE or LEVEL:PROCESSES=FILE, such as inter_node=osu_latency.txt"),
        ("node=a", "a level: intra_cmp, inter_cmp, intra_node (both of these), inter_node"),
        ("inter_node:x=a", "numbers of processes behind the colon, such as inter_node:32,64=Uniband.txt"),
    ] {
        let found = ImportPart::parse(text).unwrap_err().to_string();
        assert_eq!(found, format!("--import {text}: expected {expected}"));
    }
}

/// Returns windows of `pairs` pairs in which all pairs together take `each` seconds per message beyond its bytes.
fn pairs_of(pairs: u32, each: [f64; 2]) -> String {
    let title = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2";
    let mut text = format!("{title}\n# [ pairs: {pairs} ] [ window size: 64 ]\n# Size MB/s Messages/s\n");
    for size in SIZES {
        let each = each[usize::from(size > 64)] + size as f64 / 12e9;
        text += &format!("{size} {:.2} {:.2}\n", size as f64 / each * 1e-6, 1.0 / each);
    }
    text
}

#[test]
fn tests_of_several_pairs_give_costs_by_ranks_per_node() {
    // A message takes 100 ns on the cores of one pair and 120 ns with four pairs, which together take 30 ns per message.
    // With 8 and 16 pairs the adapter takes 25 and 40 ns per message in addition to its bytes. Ping-pongs of four pairs
    // take 100 ns longer than those of one pair. A window also contains the start of a message and the answer, about
    // 1.1 us each.
    let of_cores = [8.0, 128.0].map(|size| (63.0 * 120e-9 + 2.2e-6 + size * 1e-10) / 64.0 / 4.0 - size / 12e9);
    let mut together = latency().replace("Latency Test", "Multi Latency Test").replace("0 1.00\n", "0 1.10\n");
    for size in SIZES {
        let alone = 1.0 + size as f64 * 1e-4;
        together = together.replace(&format!("\n{size} {alone:.5}\n"), &format!("\n{size} {:.5}\n", alone + 0.1));
    }
    let files = [
        ("inter_node=lat", latency()),
        ("inter_node=bw", bandwidth("Bandwidth Test", 12_000.0)),
        ("inter_node:8=multi", together),
        ("inter_node=mr4", pairs_of(4, of_cores)),
        ("inter_node=mr8", pairs_of(8, [25e-9; 2])),
        ("inter_node=mr16", pairs_of(16, [40e-9; 2])),
    ];
    let import = Import { windows: WindowSizes::Few, ..import(&files) };
    let text = import.platform().unwrap().text;
    assert!(text.contains("\nranks_per_node = [1, 4, 8, 16]\n"), "{text}");
    let platform = test_support::load(&text, &[]);
    let costs = |ranks| platform.link(Level::InterNode).clone().at_ranks(ranks).row(Bytes::new(8)).clone();
    let near = |found: SimSpan, expected: f64| (found.as_ps() as f64 / 1e3 / expected - 1.0).abs() < 0.02;
    for (ranks, overhead, gap, later) in
        [(1, 100.0, 25.0, 0.0), (4, 120.0, 25.0, 60.0), (8, 120.0, 25.0, 60.0), (16, 120.0, 40.0, 60.0)]
    {
        let row = costs(ranks);
        assert!(near(row.send_overhead, overhead) && near(row.gap, gap), "{ranks}: {row:?}");
        assert!(near(row.latency, 800.0 + later), "{ranks}: {row:?}");
    }
    // The overheads and the gap of a message above 64 B depend on windows of 128 B.
    let row = platform.link(Level::InterNode).clone().at_ranks(12).row(Bytes::new(128)).clone();
    assert!(near(row.gap, 32.5) && near(row.send_overhead, 120.0), "{row:?}");
    // Windows of one number of pairs that the adapter limits state one gap and no list.
    let one = [files[0].clone(), files[1].clone(), files[5].clone()];
    let text = Import { windows: WindowSizes::Few, ..self::import(&one) }.platform().unwrap().text;
    assert!(!text.contains("ranks_per_node"), "{text}");
}

#[test]
fn places_of_the_base_are_copied_without_costs_of_imported_levels() {
    let places = "[places.l3]\ncores = 4\ncache = \"16 MiB\"\nlatency = \"9 ns\"\n[places.other]\ncores = 5\n\
                  [places.leaf]\nnodes = 2\nuplink_latency = \"100 ns\"\n[places.far]\nnodes = \"list.txt\"\n";
    let of = |part: &str| {
        let table = format!("nct = [4, 2, 8]\n{places}");
        let base = Document::parse("base.toml", &table).unwrap();
        let level = ImportPart::parse(part).unwrap().levels[0];
        let places = with_places_of(&base, Shape { nodes: 4, cmps: 2, cores: 8 }, &[level]);
        places.table()["places"].as_table().unwrap().clone()
    };
    let expected = |text: String| toml::from_str::<toml::Table>(&text).unwrap();
    let leaf = "[leaf]\nnodes = 2\nuplink_latency = \"100 ns\"\n";
    assert_eq!(
        of("inter_node=x"),
        expected(format!("[l3]\ncache = \"16 MiB\"\ncores = 4\nlatency = \"9 ns\"\n\n{leaf}"))
    );
    assert_eq!(of("intra_cmp=x"), expected(format!("[l3]\ncache = \"16 MiB\"\ncores = 4\n\n{leaf}")));
    // A machine with an L3 domain as the base.
    let text = include_str!("../../../configs/archer2.toml");
    let base = Document::parse("archer2.toml", text).unwrap();
    let import = Import { shape: None, base: Some(base), ..import(&[("inter_node=lat", latency())]) };
    let platform = test_support::load(&import.platform().unwrap().text, &[]);
    assert_eq!(platform.places.cache().map(|(domain, _)| domain.cores), Some(4));
}
