//! `mcpsim measure --layer`: TCP sockets, shared memory and a C library, and a comparison of their samples. Also tests
//! a machine with classes of pairs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::real::limited;
use crate::support::{Ran, mcpsim, run, skipped};

/// Runs the shortest possible `mcpsim measure`. The result is written even if the host is busy (`--force`).
fn measure(directory: &Path, line: &str) -> Ran {
    let mut command = mcpsim(directory);
    command.args(["measure", "--time", "100 ms", "--max-size", "4 KiB", "--force"]).args(line.split_whitespace());
    limited(&command)
}

#[test]
fn sockets_and_shared_memory_are_measured_and_stand_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for layer in ["tcp", "memory"] {
        let ran = measure(here, &format!("--layer {layer} --samples {layer}.csv -o {layer}.toml --window 8"));
        assert_eq!(ran.code, Some(0), "{layer}: {}", ran.stderr);
        assert!(ran.stdout.contains("the same tests, simulated on the written platform"), "{}", ran.stdout);
        let text = fs::read_to_string(here.join(format!("{layer}.toml"))).unwrap();
        assert!(text.starts_with("# Measured by mcpsim measure ") && text.contains(&format!("--layer {layer} on ")));
        let csv = fs::read_to_string(here.join(format!("{layer}.csv"))).unwrap();
        // Windows have at most the number of messages that the option states.
        let windows = csv.lines().filter(|row| row.split(',').nth(1) == Some("window"));
        assert!(windows.clone().count() > 0 && windows.clone().all(|row| row.split(',').nth(4) == Some("8")), "{csv}");
        assert!(csv.contains(",posted_receive,"), "{csv}");
        // The resulting platform file can be used for predictions.
        let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(run(here, &format!("--quiet --platform {layer}.toml --ranks 2 {app}")).code, Some(0));
    }
    let ran = run(here, "report tcp.csv memory.csv --figures drawn --format svg");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let head: Vec<&str> = ran.stdout.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(&head[1..], ["tcp", "memory"], "{}", ran.stdout);
    assert!(ran.stdout.contains("  ping pong") && ran.stdout.contains("x 1.00"), "{}", ran.stdout);
    let drawn = fs::read_dir(here.join("drawn")).unwrap().count();
    assert_eq!(drawn, 3);
    for (line, said) in [
        ("report tcp.csv none.csv", "none.csv: no such file"),
        ("report tcp.csv tcp.toml", "tcp.toml: expected only tables of samples"),
        ("report tcp.csv tcp.csv tcp.csv tcp.csv tcp.csv", "expected at most 4 tables side by side; found 5"),
        ("report a.json b.json", "expected one RUN.json, one study, or several tables of samples; found 2 arguments"),
        (
            "measure --layer udp",
            "--layer: expected tcp, memory, or the path of a library such as ./layer.so; found \"udp\"",
        ),
        ("measure --layer ./none.so", "--layer ./none.so: "),
        ("measure --layer memory --connect a:1", "--layer memory: expected neither --listen nor --connect"),
        ("measure --layer tcp --connect 127.0.0.1:1", "--connect 127.0.0.1:1: no process listens there; start"),
        ("measure --layer tcp --listen nowhere", "--listen nowhere: expected HOST:PORT such as"),
        ("measure --layer tcp --pairs", "the argument '--layer <tcp|memory|FILE.so|header>' cannot be used with"),
        ("measure --listen a:1", "the following required arguments were not provided:"),
    ] {
        let ran = run(here, line);
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stdout);
        assert!(ran.stderr.starts_with(&format!("error: {said}")), "{line}: {}", ran.stderr);
    }
}

/// C source of a layer library that uses a Unix socket, whose name is the address.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include "mcpsim_layer.h"
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
struct piece { char *data; size_t bytes; };
static struct piece out[1024], into[1024];
static int outs, ins, line = -1;
int mcpsim_layer_start(int rank, const char *address) {
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    strncpy(name.sun_path + 1, address, sizeof name.sun_path - 2);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (rank == 1) {
        if (bind(made, (void *)&name, sizeof name) || listen(made, 1)) return 1;
        struct pollfd one = { made, POLLIN, 0 };
        if (poll(&one, 1, 10000) <= 0) return 2;
        line = accept(made, NULL, NULL);
    } else {
        int tries = 0;
        while (connect(made, (void *)&name, sizeof name)) { if (++tries > 1000) return 3; usleep(10000); }
        line = made;
    }
    return line < 0;
}
int mcpsim_layer_send(const void *data, size_t bytes) { out[outs++] = (struct piece){ (char *)data, bytes }; return 0; }
int mcpsim_layer_recv(void *data, size_t bytes) { into[ins++] = (struct piece){ data, bytes }; return 0; }
/* A byte before each message, so that empty ones wait too. */
static int move(struct piece *of, int *headed, int sends) {
    char byte = 0;
    ssize_t done = !*headed ? (sends ? send(line, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(line, &byte, 1, MSG_DONTWAIT))
        : sends ? send(line, of->data, of->bytes, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(line, of->data, of->bytes, MSG_DONTWAIT);
    if (done <= 0) return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    if (!*headed) *headed = 1; else { of->data += done; of->bytes -= done; }
    return 1;
}
int mcpsim_layer_wait(void) {
    int sent = 0, received = 0, head_out = 0, head_in = 0;
    while (sent < outs || received < ins) {
        int moved = 0, did;
        if (sent < outs) {
            if ((did = move(&out[sent], &head_out, 1)) < 0) return 1;
            moved |= did;
            if (head_out && out[sent].bytes == 0) sent++, head_out = 0;
        }
        if (received < ins) {
            if ((did = move(&into[received], &head_in, 0)) < 0) return 2;
            moved |= did;
            if (head_in && into[received].bytes == 0) received++, head_in = 0;
        }
        if (!moved) {
            struct pollfd one = { line, (sent < outs ? POLLOUT : 0) | (received < ins ? POLLIN : 0), 0 };
            if (poll(&one, 1, 20000) <= 0) return 3;
        }
    }
    outs = ins = 0;
    return 0;
}
void mcpsim_layer_end(void) { if (line >= 0) close(line); }
"#;

#[test]
fn a_library_of_five_functions_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let header = run(here, "measure --layer header");
    assert_eq!(header.code, Some(0), "{}", header.stderr);
    fs::write(here.join("mcpsim_layer.h"), header.stdout).unwrap();
    fs::write(here.join("layer.c"), LIBRARY).unwrap();
    fs::write(here.join("empty.c"), "int nothing;\n").unwrap();
    for name in ["layer", "empty"] {
        let mut compiler = Command::new("cc");
        compiler.current_dir(here).args(["-shared", "-fPIC", "-w", "-o", &format!("{name}.so"), &format!("{name}.c")]);
        if !compiler.status().is_ok_and(|status| status.success()) {
            return skipped("a C library as a layer: there is no C compiler");
        }
    }
    let ran = measure(here, "--layer ./layer.so --samples layer.csv -o layer.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(fs::read_to_string(here.join("layer.csv")).unwrap().contains(",ping_pong,0,"));
    let ran = measure(here, "--layer ./empty.so");
    let said = "error: --layer ./empty.so: the library has no function mcpsim_layer_start, which mcpsim measure \
                --layer header declares";
    assert!(ran.code == Some(2) && ran.stderr.contains(said), "{}", ran.stderr);
}

/// Platform of four nodes in a ring: 2 us and 2 GB/s to a neighbour, 9 us and 1 GB/s to the opposite node.
const PLATFORM: &str = r#"
name = "ring"
nct = [4, 1, 1]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "10 GB/s"
[intra_cmp]
latency = "1 us"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "1 us"
bandwidth = "1 GB/s"
[inter_node]
contention = "LAW"
latency = "5 us"
bandwidth = "1 GB/s"
send_overhead = "100 ns"
recv_overhead = "200 ns"
[pairs]
file = "pairs.toml"
"#;

const PAIRS: &str = r#"
class = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
[[cost]]
interval = [{ latency = "2 us", bandwidth = "2 GB/s" }]
[[cost]]
interval = [{ latency = "9 us", bandwidth = "1 GB/s" }]
"#;

#[test]
fn messages_cost_what_the_class_of_their_pair_says() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("pairs.toml"), PAIRS).unwrap();
    for law in ["ideal", "share", "queue", "fair"] {
        fs::write(here.join("ring.toml"), PLATFORM.replace("LAW", law)).unwrap();
        // A message of 8000 B takes 2 us and 4 us, or 9 us and 8 us; there are a thousand round trips.
        for (a, b, each) in [(0, 1, 6e-6), (3, 0, 6e-6), (0, 2, 17e-6), (3, 1, 17e-6)] {
            let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
            let of = |workers: u32| {
                let set = format!("--set app.bytes=8000 --set app.a={a} --set app.b={b} --workers {workers}");
                let ran = run(here, &format!("--quiet --json - --platform ring.toml --ranks 4 {set} {app}"));
                let mut value: serde_json::Value =
                    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
                value.as_object_mut().unwrap().remove("host");
                value
            };
            let one = of(1);
            let predicted = one["predicted_s"].as_f64().unwrap();
            // The `fair` contention model changes rates only at slots, so its times are less exact.
            let near = if law == "fair" { 0.05 } else { 1e-6 };
            assert!((predicted / (2000.0 * each) - 1.0).abs() < near, "{law}, {a} and {b}: {predicted}");
            // The parts of the critical path follow from the class of the pair, and do not depend on the number of
            // workers.
            let contention = &one["path"]["levels"]["inter_node"]["contention_ps"];
            assert!(law == "fair" || *contention == 0, "{one}");
            let mut three = of(3);
            three["config"] = one["config"].clone();
            assert_eq!(three, one, "{law}");
        }
    }
    // Cores of another machine shape do not match the file of pairs.
    let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
    let ran = run(here, &format!("--quiet --json - --platform ring.toml --nct 2,1,1 {app}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn classes_of_measured_pairs_predict_like_the_machine_they_are_of() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("pairs.toml"), PAIRS).unwrap();
    fs::write(here.join("ring.toml"), PLATFORM.replace("LAW", "ideal")).unwrap();
    let options = "--test send_recv_and_recv_send --begin 0 --end 8001 --step 1000 --repeats 3";
    let ran = run(here, &format!("measure --quiet --pairs --simulate ring.toml {options} -o p"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = run(here, "cluster p_median.nc --platform guessed.toml --pairs");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("costs of 3 classes of pairs are in guessed.pairs.toml"), "{}", ran.stdout);
    let time = |platform: &str, b: u32| {
        let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
        let line =
            format!("--quiet --json - --platform {platform} --ranks 4 --set app.bytes=4000 --set app.b={b} {app}");
        let ran = run(here, &line);
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        value["predicted_s"].as_f64().unwrap()
    };
    for b in [1, 2, 3] {
        let ratio = time("guessed.toml", b) / time("ring.toml", b);
        assert!((ratio - 1.0).abs() < 0.01, "rank {b}: {ratio}");
    }
    fs::write(here.join("p_hosts.txt"), "a\nb\nc\n").unwrap();
    let ran = run(here, "cluster p_median.nc --platform guessed.toml");
    let said = "error: p_median.nc: the file of host names beside it has 3 names: expected one name for each of 4 \
                ranks\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), said));
}

#[test]
fn no_memory_for_a_message_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let line = "ulimit -v 2000000; exec \"$0\" measure --layer memory --max-size 1GiB --time '100 ms' -o x.toml";
    command.current_dir(directory.path()).args(["-c", line]).arg(mcpsim(directory.path()).get_program());
    let ran = limited(&command);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: out of memory: mcpsim needs 1.0 GiB more"), "{}", ran.stderr);
}
