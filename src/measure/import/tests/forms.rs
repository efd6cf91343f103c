//! Tests of the output formats in job logs and of older versions of benchmark programs, written from the formats'
//! descriptions.

use super::*;

fn read(text: &str) -> BenchmarkOutput {
    BenchmarkOutput::read("log", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns an IMB table with the title `title`.
fn titled(title: &str) -> String {
    format!(
        "#------\n#    {title}, MPI-1 part    \n#------\n# Maximum message length in bytes:   1024\n#\n\n#------\n# \
         Benchmarking PingPong \n# #processes = 2 \n#------\n       #bytes #repetitions      t[usec]   Mbytes/sec\n            \
         0         1000         0.50         0.00\n         1024         1000         1.50       651.00\n\n\n# All \
         processes entering MPI_Finalize\n"
    )
}

#[test]
fn titles_of_all_versions_of_imb_are_read() {
    for (title, version) in [
        ("PALLAS MPI Benchmark Suite V2.2", "2.2"),
        ("Intel (R) MPI Benchmark Suite V3.0", "3.0"),
        ("Intel (R) MPI Benchmark Suite V3.2.3", "3.2.3"),
        ("Intel (R) MPI Benchmarks 4.1 Update 1", "4.1 Update 1"),
        ("Intel (R) MPI Benchmarks 2018", "2018"),
        ("Intel(R) MPI Benchmarks 2021.3", "2021.3"),
    ] {
        let found = read(&titled(title));
        assert_eq!(found.skipped, [""; 0]);
        assert_eq!(found.tables[0].program, format!("IMB {version} PingPong"));
        assert_eq!((found.tables[0].processes, found.tables[0].at(1024)), (2, Some(1.5e-6)));
    }
}

#[test]
fn titles_of_osu_name_devices_versions_and_several_pairs() {
    let rows = "0 1.00\n8 1.50\n";
    for (title, program, together) in [
        ("OSU MPI Latency Test (Version 2.2)", "osu_latency 2.2", false),
        ("OSU MPI-CUDA Latency Test v5.7", "osu_latency 5.7 CUDA, buffers on device and host", false),
        ("OSU MPI-ROCM Latency Test v7.3", "osu_latency 7.3 ROCM, buffers on device and host", false),
        ("OSU MPI Multi Latency Test v7.1", "osu_multi_lat 7.1, buffers on device and host", true),
    ] {
        let buffers = if program.contains("buffers") {
            "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
        } else {
            "# Datatype: MPI_CHAR.\n"
        };
        let found = read(&format!("# {title}\n{buffers}# Size          Latency (us)\n{rows}"));
        let table = &found.tables[0];
        assert_eq!((table.program.as_str(), table.together, table.at(8)), (program, together, Some(1.5e-6)), "{title}");
    }
    let checked = read("# OSU MPI-CUDA Bandwidth Test v7.5\n# Size Bandwidth (MB/s) Validation\n8 16.00 Pass\n");
    assert_eq!((checked.tables[0].benchmark, checked.tables[0].at(8)), (Benchmark::OneWay, Some(2e6)));
}

#[test]
fn a_log_of_a_job_has_tables_among_other_text() {
    let log = "Lmod: loading\n2 nodes are used\n[0] MPI startup(): libfabric provider: verbs\n$ srun ./osu_latency\n\
               # OSU MPI Latency Test v5.6\n# Size          Latency (us)\n0 1.00\n8 1.50\nWARNING: something\n16 2.00\n\
               \n3 warnings\nreal 0m1.0s\n64 bytes of nothing\n\n    # OSU MPI Bandwidth Test v5.6\n    # Size      Bandwidth \
               (MB/s)\n    8 16.00\n    16 32.00\nDone\n# OSU MPI Init Test v5.6\nnprocs: 2, min: 10 ms\n"
        .to_owned()
        + &titled("Intel (R) MPI Benchmarks 2018");
    let found = read(&log);
    let programs: Vec<&str> = found.tables.iter().map(|table| table.program.as_str()).collect();
    assert_eq!(programs, ["osu_latency 5.6", "osu_bw 5.6", "IMB 2018 PingPong"]);
    let sizes = |table: usize| found.tables[table].rows.iter().map(|(size, _)| *size).collect::<Vec<_>>();
    assert_eq!((sizes(0), sizes(1), sizes(2)), (vec![0, 8, 16], vec![8, 16], vec![0, 1024]));
    assert_eq!(
        found.skipped,
        [
            "log:21: OSU MPI Init Test v5.6 is skipped: it measures neither messages of pairs nor a collective that mcpsim \
          compares"
        ]
    );
}

#[test]
fn prefixes_of_launchers_are_no_part_of_a_line() {
    let plain = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n# [ pairs: 4 ] [ window size: 32 ]\n# Size MB/s \
                 Messages/s\n1 4.00 4000000.00\n";
    for prefix in [
        "[1,0]<stdout>:",
        "[1,0]<stdout> ",
        "[0] ",
        "0: ",
        "Sat Nov 28 05:00:00 2026<stdout>:",
        "[prterun-a-1@1,0]<stdout>: ",
    ] {
        let text: String = plain.lines().map(|line| format!("{prefix}{line}\n")).collect();
        assert_eq!(read(&text), read(plain), "{prefix}");
    }
    assert_eq!((read(plain).tables[0].processes, read(plain).tables[0].window), (8, 32));
}

#[test]
fn a_last_line_without_its_end_counts_if_it_is_whole() {
    let text = "# OSU MPI Latency Test v5.6\n# Size Latency (us)\n0 1.00\n8 1.50";
    assert_eq!(read(text).tables[0].at(8), Some(1.5e-6));
    let cut = BenchmarkOutput::read("log", &text[..text.len() - 1]).unwrap_err().to_string();
    assert_eq!(cut, "log:4: the last line is incomplete: the file is truncated");
    assert_eq!(read(titled("Intel(R) MPI Benchmarks 2019").trim_end()).skipped, [""; 0]);
}

#[test]
fn ping_pongs_at_the_same_time_are_averaged_and_rows_without_figures_listed() {
    let head = "# Intel (R) MPI Benchmarks 4.1, MPI-1 part\n# Maximum message length in bytes:   1024\n# Benchmarking \
                Multi-PingPong \n# ( 2 groups of 2 processes each running simultaneous ) \n# Group  0:     0    1\n\n";
    let found = read(&format!(
        "{head} Group #bytes #repetitions t[usec] Mbytes/sec\n\n 0 0 1000 1.00 0.00\n 1 0 1000 3.00 0.00\n\n 0 8 1000 2.00 \
         4.00\n 1 8 1000 2.00 4.00\n\n 0 1024 1000 time-out.; Time limit is over\n\n# All processes entering MPI_Finalize\n"
    ));
    let table = &found.tables[0];
    let rows: Vec<(u64, i64)> = table.rows.iter().map(|(size, time)| (*size, (time * 1e9).round() as i64)).collect();
    assert_eq!((table.processes, table.together, rows), (4, true, vec![(0, 2000), (8, 2000)]));
    assert_eq!(found.skipped, ["log:3: IMB 4.1 Multi-PingPong of 4 processes: no results for 1024 B (time-out)"]);
    let slow =
        titled("Intel(R) MPI Benchmarks 2019").replace("1024         1000         1.50       651.00", "1024 time-out.");
    let found = read(&slow);
    assert_eq!(found.tables[0].rows.len(), 1);
    assert_eq!(found.skipped, ["log:8: IMB 2019 PingPong of 2 processes: no results for 1024 B (time-out)"]);
}

#[test]
fn ping_pings_and_ping_pongs_at_the_same_time_stand_in_with_a_note() {
    let ping = imb("PingPong", &[2], "0 1 1.0 0.0\n1024 1 2.0 0.0");
    for (text, what) in [
        (
            ping.replace("Benchmarking PingPong", "Benchmarking PingPing"),
            "ping-ping, whose two messages cross each other",
        ),
        (latency().replace("Latency Test", "Multi Latency Test"), "ping-pongs of several pairs at the same time"),
    ] {
        let made = import(&[("inter_node=a", text.clone())]).platform().unwrap().text;
        let line = format!("# latency, bandwidth: NO DATA (ping-pong of one pair). ASSUMED: {what}");
        assert!(made.contains(&line), "{made}");
        let both = import(&[("inter_node=a", text), ("inter_node=b", ping.clone())]).platform().unwrap().text;
        assert!(!both.contains("NO DATA (ping-pong"), "{both}");
    }
}

#[test]
fn columns_of_imb_p2p_are_found_by_name() {
    let text = "#    Intel(R) MPI Benchmarks 2021.3, P2P  \n# Maximum message length in bytes:   8\n# Benchmarking PingPong\n# \
                #processes = 2\n #bytes #repetitions t[usec] Mbytes/sec Msg/sec\n 0 100 1.00 0.00 1000000\n 8 100 2.00 4.00 \
                500000\n# Benchmarking Unirandom\n# #processes = 4\n #bytes #repetitions Mbytes/sec Msg/sec\n 8 1 2 3\n# All \
                processes entering MPI_Finalize\n";
    let found = read(text);
    assert_eq!((found.tables.len(), found.tables[0].at(8), found.skipped.len()), (1, Some(2e-6), 1));
}

#[test]
fn csv_with_named_columns_is_read() {
    let table = |text: &str| read(text).tables.remove(0);
    for text in [
        "bytes,latency_us\n0,1.0\n8,1.5\n",
        "# made on a cluster\nsize;latency [usec]\n0;1.0\n8;1.5",
        "Message Size (bytes)\tAvg Latency (us)\n0\t1.0\n8\t1.5\n",
        "size latency_ns\n0 1000\n8 1500\n",
        "run,bytes,time_ms,bandwidth_mb_s\n1,8,0.001,1\n2,8,0.0015,1\n3,8,0.009,1\n",
    ] {
        assert_eq!((table(text).benchmark, table(text).at(8)), (Benchmark::PingPong, Some(1.5e-6)), "{text}");
    }
    let rates = table("bytes,bandwidth_gb_s\n8,0.016\n");
    assert_eq!((rates.benchmark, rates.at(8)), (Benchmark::OneWay, Some(2e6)));
    let named = read("benchmark,np,bytes,latency_us\nosu_latency,2,8,1.5\nallreduce,16,8,5\n");
    assert_eq!(
        named.tables.iter().map(|table| (table.benchmark, table.processes)).collect::<Vec<_>>(),
        [(Benchmark::PingPong, 2), (Benchmark::Call("allreduce"), 16)]
    );
    let error = |text: &str| BenchmarkOutput::read("a.csv", text).unwrap_err().to_string();
    assert_eq!(
        error("bytes,latency\n8,1\n"),
        "a.csv:1: expected a unit in the name of column \"latency\", such as latency_us; found none"
    );
    assert_eq!(
        error("bytes,latency_us,nodes\n8,1,near\n8,2,far\n"),
        "a.csv:1: column \"nodes\" has several values for equal sizes: expected a file for each value"
    );
    assert_eq!(
        error("bytes,latency_us\n8,x\n"),
        "a.csv:2: expected a number, not negative, in column \"latency_us\"; found \"x\""
    );
    assert_eq!(error("bytes,latency_us\n8\n"), "a.csv:2: expected 2 columns, as line 1 names; found 1");
}

#[test]
fn times_of_collectives_are_measured_runs() {
    let osu = "# OSU MPI Allreduce Latency Test v5.6\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  \
               Iterations\n4 5.89 5.00 6.00 1000\n# OSU MPI Barrier Latency Test v5.6\n# Avg Latency(us)\n             \
               1.83\n";
    let imb = "# Intel (R) MPI Benchmarks 2018, MPI-1 part\n# Maximum message length in bytes:   8\n# Benchmarking \
               Alltoall\n# #processes = 2\n# ( 2 additional processes waiting in MPI_Barrier)\n #bytes #repetitions \
               t_min[usec] t_max[usec] t_avg[usec]\n 0 1000 0.03 0.03 0.03\n 8 1000 1.00 3.00 2.00\n# Benchmarking \
               Alltoall\n# #processes = 4\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n 0 1000 0.03 0.03 \
               0.04\n# All processes entering MPI_Finalize\n";
    let mut calls = MeasuredCalls::default();
    calls.add("osu.txt", Some(64), osu).unwrap();
    calls.add("imb.txt", None, imb).unwrap();
    assert_eq!(
        calls.csv(),
        "benchmark,ranks,bytes,time_s\nallreduce,64,4,5.89e-6\nbarrier,64,0,1.83e-6\nalltoall,2,0,3e-8\n\
         alltoall,2,8,2e-6\nalltoall,4,0,4e-8\n"
    );
    assert_eq!(calls.ranks(), 64);
    assert_eq!(calls.skipped.len(), 1, "{:?}", calls.skipped);
    let error = |processes, text: &str| MeasuredCalls::default().add("a", processes, text).unwrap_err().to_string();
    assert_eq!(
        error(None, osu),
        "a: osu_allreduce 5.6 prints no number of processes: expected it, as in --import 64=a"
    );
    assert_eq!(error(Some(8), imb), "a: expected runs of 8 processes; found 2, 4");
    assert!(error(None, &latency()).starts_with("a: expected times of collectives; found those of messages"));
}
